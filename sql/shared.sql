-- mode => 'shared': many shared holders or one exclusive; each holder has a lease and a token of its own (S-11, S-92, S-98).
\set VERBOSITY sqlstate

SELECT distlock.try_acquire('shared:a', '1 min', mode => 'shared', owner => 'one') AS one \gset
SELECT distlock.try_acquire('shared:a', '2 min', mode => 'shared', owner => 'two') AS two \gset
SELECT :two > :one AS higher;
SELECT slot, token = :one AS one, token = :two AS two, state, mode, capacity, owner, expires_at - since AS lease
FROM distlock.holder('shared:a') ORDER BY slot;
SELECT distlock.try_acquire('shared:a') IS NULL AS exclusive_busy;
SELECT distlock.acquire('shared:a', wait => '0');
SELECT distlock.fence('shared:a', :one) = :one AS one, distlock.fence('shared:a', :two) = :two AS two;
SELECT distlock.is_current('shared:a', :one) AS one, distlock.is_current('shared:a', :two) AS two;

-- A renewal or release is that holder's alone.
SELECT distlock.renew('shared:a', :one, '1 h') IS NOT NULL AS renewed;
SELECT owner, expires_at - renewed_at AS lease FROM distlock.holder('shared:a') ORDER BY slot;
SELECT distlock.release('shared:a', :one);
SELECT distlock.release('shared:a', :one);
SELECT distlock.renew('shared:a', :one) IS NULL AS lost;
SELECT distlock.fence('shared:a', :one);
SELECT distlock.try_acquire('shared:a') IS NULL AS exclusive_busy;
SELECT owner FROM distlock.holder('shared:a');
-- The freed slot is used again.
SELECT distlock.try_acquire('shared:a', mode => 'shared', owner => 'three') AS three \gset
SELECT slot, owner, grants, takeovers FROM distlock.holder('shared:a') ORDER BY slot;
SELECT distlock.release('shared:a', :two), distlock.release('shared:a', :three);

-- One exclusive: no shared beside it, whichever came first.
SELECT distlock.try_acquire('shared:a', owner => 'writer') AS writer \gset
SELECT distlock.try_acquire('shared:a', mode => 'shared') IS NULL AS shared_busy;
SELECT slot, mode, owner FROM distlock.holder('shared:a');
SELECT distlock.release('shared:a', :one), distlock.release('shared:a', :three);
SELECT distlock.release('shared:a', :writer);
SELECT distlock.try_acquire('shared:a', mode => 'shared') > 0 AS got;

-- Currency across slots: an exclusive token is stale once a shared one is higher, and the other way round.
SELECT distlock.try_acquire('shared:b', '20 ms') AS old \gset
SELECT pg_sleep(0.03);
SELECT distlock.is_current('shared:b', :old) AS expired_not_superseded;
SELECT distlock.try_acquire('shared:b', '20 ms', mode => 'shared') AS shared1 \gset
SELECT distlock.is_current('shared:b', :old) AS superseded, distlock.is_current('shared:b', :shared1) AS new;
SELECT distlock.fence('shared:b', :old);
SELECT distlock.release('shared:b', :old);
SELECT distlock.renew('shared:b', :old) IS NULL AS lost;
SELECT distlock.try_acquire('shared:b', '20 ms', mode => 'shared') AS shared2 \gset
SELECT pg_sleep(0.03);
SELECT distlock.is_current('shared:b', :shared1) AS shared1, distlock.is_current('shared:b', :shared2) AS shared2;
SELECT distlock.try_acquire('shared:b', '20 ms') AS excl \gset
SELECT :excl > :shared2 AND :shared2 > :shared1 AND :shared1 > :old AS rising;
SELECT distlock.is_current('shared:b', :shared1) AS shared1, distlock.is_current('shared:b', :shared2) AS shared2;
SELECT distlock.fence('shared:b', :shared2);
SELECT distlock.release('shared:b', :shared2);
-- Neither comes back when the one that took over goes.
SELECT distlock.release('shared:b', :excl) IN ('released', 'expired') AS ended;
SELECT distlock.is_current('shared:b', :shared1) AS shared1, distlock.is_current('shared:b', :shared2) AS shared2,
       distlock.is_current('shared:b', :old) AS old;

-- Expired shared holders hinder nobody; a living one among them does.
SELECT distlock.try_acquire('shared:c', '20 ms', mode => 'shared') > 0 AS got;
SELECT distlock.try_acquire('shared:c', '1 min', mode => 'shared') AS living \gset
SELECT pg_sleep(0.03);
SELECT distlock.try_acquire('shared:c') IS NULL AS busy;
SELECT distlock.release('shared:c', :living);
SELECT distlock.try_acquire('shared:c') > 0 AS got;

-- Two shared grants in one transaction and one statement; an exclusive beside one's own shared is busy: no upgrade.
BEGIN;
SELECT count(distlock.try_acquire('shared:d', mode => 'shared')) FROM generate_series(1, 3);
SELECT distlock.try_acquire('shared:d') IS NULL AS no_upgrade;
SELECT distlock.acquire('shared:d', wait => '10 s');
ROLLBACK;
SELECT count(*) FROM distlock.holder('shared:d');

-- A fence in a transaction under a shared token, in all levels.
CREATE TABLE shared_report (id int, body text, fence bigint);
SELECT distlock.protect('shared_report', 'shared:e', token_column => 'fence');
SELECT distlock.try_acquire('shared:e', mode => 'shared') AS s1 \gset
SELECT distlock.try_acquire('shared:e', mode => 'shared') AS s2 \gset
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO shared_report VALUES (1, 'one', :s1);
INSERT INTO shared_report VALUES (2, 'two', :s2);
COMMIT;
SELECT distlock.release('shared:e', :s1);
INSERT INTO shared_report VALUES (3, 'late', :s1);
INSERT INTO shared_report VALUES (3, 'in time', :s2);
SELECT id, body, fence FROM shared_report ORDER BY id;
DROP TABLE shared_report;

-- A shared lock has no capacity; another spelling is no mode.
SELECT distlock.try_acquire('shared:f', mode => 'shared', capacity => 2);
SELECT distlock.try_acquire('shared:f', mode => 'Shared');
SELECT distlock.try_acquire('shared:f', mode => NULL) > 0 AS default_mode;

-- A retry gets its own grant; beside it others share.
SELECT distlock.try_acquire('shared:g', mode => 'shared', request_id => '00000000-0000-0000-0000-000000000001') AS first \gset
SELECT distlock.try_acquire('shared:g', mode => 'shared', request_id => '00000000-0000-0000-0000-000000000001') = :first AS same;
SELECT distlock.try_acquire('shared:g', mode => 'shared', request_id => '00000000-0000-0000-0000-000000000002') > :first AS another;
SELECT distlock.try_acquire('shared:g', request_id => '00000000-0000-0000-0000-000000000001') IS NULL AS not_in_another_mode;

DELETE FROM distlock.lease WHERE name LIKE 'shared:%';
