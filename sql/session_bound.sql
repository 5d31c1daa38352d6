-- session_bound => true: the grant ends with its connection (S-30); other sessions see that in the isolation specs and TAP tests.
\set VERBOSITY sqlstate

CREATE TEMP VIEW bound_locks AS
SELECT count(*) AS session_locks FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 211 AND pid = pg_backend_pid();

SELECT distlock.try_acquire('bound:a', '1 min', session_bound => true) AS t \gset
SELECT state, mode, session_pid = pg_backend_pid() AS mine FROM distlock.holder('bound:a');
TABLE bound_locks;
-- One's own session lock does not make it free for oneself.
SELECT distlock.try_acquire('bound:a') IS NULL AS busy;
SELECT distlock.fence('bound:a', :t) = :t AS fenced, distlock.renew('bound:a', :t) IS NOT NULL AS renewed;
SELECT distlock.release('bound:a', :t);
TABLE bound_locks;

-- A grant or release that is rolled back leaves things as they were, savepoints too.
BEGIN;
SELECT distlock.try_acquire('bound:b', session_bound => true) > 0 AS got;
ROLLBACK;
TABLE bound_locks;
BEGIN;
SAVEPOINT s;
SELECT distlock.try_acquire('bound:b', session_bound => true) > 0 AS got;
ROLLBACK TO s;
COMMIT;
TABLE bound_locks;
BEGIN;
SAVEPOINT s;
SELECT distlock.try_acquire('bound:b', session_bound => true) AS t \gset
RELEASE s;
COMMIT;
TABLE bound_locks;
BEGIN;
SAVEPOINT s;
SAVEPOINT t;
SELECT distlock.try_acquire('bound:m', session_bound => true) > 0 AS got;
SELECT distlock.release('bound:b', :t);
RELEASE t;
ROLLBACK TO s;
COMMIT;
TABLE bound_locks;
SELECT count(*) FROM distlock.holder('bound:m');
BEGIN;
SELECT distlock.release('bound:b', :t);
ROLLBACK;
TABLE bound_locks;
SELECT distlock.try_acquire('bound:b') IS NULL AS busy;
BEGIN;
SAVEPOINT s;
SELECT distlock.release('bound:b', :t);
ROLLBACK TO s;
COMMIT;
TABLE bound_locks;
SELECT distlock.release('bound:b', :t);
TABLE bound_locks;
-- Both in one transaction.
BEGIN;
SELECT distlock.try_acquire('bound:b', session_bound => true) AS t \gset
SELECT distlock.release('bound:b', :t);
COMMIT;
TABLE bound_locks;
-- A commit that fails.
CREATE TABLE bound_unique (id int UNIQUE DEFERRABLE INITIALLY DEFERRED);
BEGIN;
SELECT distlock.try_acquire('bound:b', session_bound => true) > 0 AS got;
INSERT INTO bound_unique VALUES (1), (1);
COMMIT;
DROP TABLE bound_unique;
TABLE bound_locks;
SELECT count(*) FROM distlock.holder('bound:b');

-- A lease that is lost by expiry leaves nothing either, once its session takes the lock again or releases late.
SELECT distlock.try_acquire('bound:c', '20 ms', session_bound => true) AS t \gset
SELECT pg_sleep(0.03);
SELECT distlock.try_acquire('bound:c', '1 min', session_bound => true) AS next \gset
SELECT distlock.release('bound:c', :t);
TABLE bound_locks;
SELECT distlock.release('bound:c', :next);
TABLE bound_locks;
SELECT distlock.try_acquire('bound:c', '20 ms', session_bound => true) AS t \gset
SELECT pg_sleep(0.03);
SELECT distlock.release('bound:c', :t);
TABLE bound_locks;
SELECT distlock.try_acquire('bound:c', '1 min', session_bound => true) AS t \gset
SELECT distlock.force_release('bound:c', :t);
TABLE bound_locks;

-- A raised token is bound in the same way, a downgraded grant stays bound.
SELECT distlock.try_acquire('bound:d', session_bound => true) AS t \gset
SELECT distlock.raise_token('bound:d', :t, :t + 1000000) > 0 AS raised;
TABLE bound_locks;
SELECT distlock.try_acquire('bound:d') IS NULL AS busy;
SELECT distlock.downgrade('bound:d', :t + 1000000) IS NOT NULL AS down;
SELECT mode, session_pid = pg_backend_pid() AS mine FROM distlock.holder('bound:d');
SELECT distlock.try_acquire('bound:d') IS NULL AS busy;
SELECT distlock.release('bound:d', :t + 1000000);
TABLE bound_locks;

-- Shared holders, permits and several locks at once.
SELECT distlock.try_acquire('bound:e', mode => 'shared', session_bound => true) AS s \gset
SELECT distlock.try_acquire('bound:f', capacity => 2, session_bound => true) AS p \gset
SELECT count(*) FROM distlock.acquire_all('{bound:g,bound:h}', session_bound => true);
TABLE bound_locks;
SELECT distlock.release('bound:e', :s), distlock.release('bound:f', :p);
SELECT name, distlock.release(name, token) FROM distlock.locks WHERE name IN ('bound:g', 'bound:h') ORDER BY name;
TABLE bound_locks;

-- DISCARD ALL and pg_advisory_unlock_all end the binding, and with it the grant.
SELECT distlock.try_acquire('bound:i', session_bound => true) AS t \gset
SELECT pg_advisory_unlock_all();
SELECT state, remaining_ms FROM distlock.holder('bound:i');
SELECT distlock.renew('bound:i', :t) IS NULL AS lost;
SELECT distlock.try_acquire('bound:i', session_bound => true) AS t \gset
SELECT takeovers FROM distlock.holder('bound:i');
DISCARD ALL;
\set VERBOSITY sqlstate
SELECT distlock.try_acquire('bound:i') > :t AS free;

-- Shared ones whose session has gone are in nobody's way, neither of the exclusive one that takes over nor after it.
SELECT count(distlock.try_acquire('bound:l', '1 h', mode => 'shared', session_bound => true)) FROM generate_series(1, 2);
SELECT pg_advisory_unlock_all();
SELECT distlock.try_acquire('bound:l', '1 h') AS t \gset
SELECT distlock.release('bound:l', :t);
SELECT slot, state FROM distlock.holder('bound:l');
SELECT distlock.try_acquire('bound:l', '1 h') > :t AS free;

-- Not to be asked for again, nor to be prepared.
SELECT distlock.try_acquire('bound:j', session_bound => true, request_id => '00000000-0000-0000-0000-000000000001');
BEGIN;
SELECT distlock.try_acquire('bound:j', session_bound => true) > 0 AS got;
PREPARE TRANSACTION 'bound';
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 211 AND pid = pg_backend_pid();

-- Nothing is left of many of them.
DO $$BEGIN
    FOR i IN 1..1000 LOOP
        PERFORM distlock.release('bound:k', distlock.try_acquire('bound:k', session_bound => true, durable => false));
        COMMIT;
    END LOOP;
END$$;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid BETWEEN 209 AND 211 AND pid = pg_backend_pid();

-- The end of the session is no expiry: the minimum hold still counts, the lock delay does not.
SELECT distlock.try_acquire('bound:hold', '1 min', min_hold => '1 min', session_bound => true) > 0 AS got;
SELECT distlock.try_acquire('bound:delay', '1 min', lock_delay => '1 min', session_bound => true) > 0 AS got;
DISCARD ALL;
SELECT distlock.try_acquire('bound:hold') IS NULL AS busy;
SELECT distlock.try_acquire('bound:delay') > 0 AS got;

DELETE FROM distlock.lease WHERE name LIKE 'bound:%';
