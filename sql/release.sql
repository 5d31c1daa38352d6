-- release and force_release: giving a lock back, and telling what became of it.
\set VERBOSITY sqlstate

-- released, once; the next call says that there is nothing to release (S-48: may be repeated).
SELECT distlock.try_acquire('release:a') AS first \gset
SELECT distlock.release('release:a', :first);
SELECT count(*) AS held FROM distlock.holder('release:a');
SELECT distlock.release('release:a', :first);

-- A release that is sent again reaches no later grant, not even of the same session, role and label (S-01, S-02).
SELECT distlock.try_acquire('release:a', owner => 'host-1') AS second \gset
SELECT distlock.release('release:a', :first);
SELECT token = :second AS intact, state, owner FROM distlock.holder('release:a');
SELECT distlock.renew('release:a', :second) IS NOT NULL AS renewed;

-- Expired: it says so, and the lock is free (S-35, B23).
SELECT distlock.try_acquire('release:b', '20 ms') AS late \gset
SELECT pg_sleep(0.05);
SELECT distlock.release('release:b', :late);
SELECT count(*) AS held FROM distlock.holder('release:b');
SELECT distlock.release('release:b', :late);
SELECT distlock.try_acquire('release:b') AS next \gset
SELECT takeovers FROM distlock.holder('release:b');

-- Superseded: whoever has it keeps it (B18).
SELECT distlock.release('release:b', :late);
SELECT distlock.is_current('release:b', :next);
-- Also when the successor has gone already.
SELECT distlock.release('release:b', :next);
SELECT distlock.release('release:b', :late);

-- Not held: a token that was never this lock's. Nothing is written, no lock is kept.
SELECT distlock.try_acquire('release:c') AS token \gset
SELECT distlock.try_acquire('release:d') AS other \gset
CREATE TEMP VIEW written AS
SELECT name, ctid::text AS place, xmin::text AS made_by, xmax::text AS ended_by FROM distlock.lease WHERE name LIKE 'release:%';
CREATE TEMP TABLE before AS TABLE written;
SELECT distlock.release('release:c', :other) AS others_token, distlock.release('release:c', 9223372036854775807) AS huge,
       distlock.release('release:c', 0) AS zero, distlock.release('release:c', -:token) AS negative,
       distlock.release('release:never', :token) AS never_acquired;
-- Of a lower one the lock cannot tell whether it ever was its own.
SELECT distlock.release('release:d', :token) IN ('not_held', 'superseded') AS refused;
SELECT count(*) AS changed FROM ((TABLE before EXCEPT TABLE written) UNION ALL (TABLE written EXCEPT TABLE before)) AS d;
SELECT count(*) AS rows_made FROM distlock.lease WHERE name = 'release:never';
BEGIN;
SELECT distlock.release('release:c', :token + 1);
SELECT pg_current_xact_id_if_assigned() IS NULL AS wrote_nothing;
SELECT count(*) AS locks_left FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory';
COMMIT;

-- From any connection (B12).
\c
SELECT distlock.release('release:c', :token);

-- A token never comes back: each grant has a higher one (S-52).
CREATE TEMP TABLE tokens (n serial, token bigint);
DO $$
DECLARE granted bigint;
BEGIN
    FOR i IN 1..200 LOOP
        granted := distlock.try_acquire('release:e');
        INSERT INTO tokens (token) VALUES (granted);
        PERFORM distlock.release('release:e', granted);
    END LOOP;
END $$;
SELECT count(*) AS grants, bool_and(higher) AS each_higher
FROM (SELECT token > lag(token, 1, 0::bigint) OVER (ORDER BY n) AS higher FROM tokens) AS t;

-- force_release: the token says which grant was meant (S-12, S-50); the same answers.
SELECT distlock.try_acquire('release:f', '1 h', owner => 'stuck') AS stuck \gset
SELECT distlock.force_release('release:f', :stuck - 1) IN ('not_held', 'superseded') AS refused;
SELECT distlock.force_release('release:f', :stuck + 1);
SELECT state FROM distlock.holder('release:f');
SELECT distlock.force_release('release:f', :stuck);
SELECT distlock.force_release('release:f', :stuck);
SELECT distlock.renew('release:f', :stuck) IS NULL AS lost, distlock.is_current('release:f', :stuck);
SELECT distlock.try_acquire('release:f') > :stuck AS got;
SELECT distlock.force_release('release:f', :stuck);
SELECT distlock.try_acquire('release:g', '20 ms') AS expired \gset
SELECT pg_sleep(0.05);
SELECT distlock.force_release('release:g', :expired);
SELECT distlock.force_release('release:never', 1);
SELECT distlock.force_release('release:f', NULL);
SELECT distlock.force_release(NULL, 1);

DELETE FROM distlock.lease WHERE name LIKE 'release:%';
