-- What each kind writes: nothing for a try that fails (P7, S-78, B56, B57), a heap-only update for a renewal (S-76, B55).
\set VERBOSITY sqlstate
SELECT distlock.try_acquire('cost:exclusive', '1 h') AS exclusive, distlock.try_acquire('cost:shared', '1 h', mode => 'shared') AS shared,
       distlock.try_acquire('cost:semaphore', '1 h', capacity => 2) AS permit, distlock.try_acquire('cost:kept', '1 h', min_hold => '1 h') AS kept,
       distlock.try_acquire('cost:delayed', '10 ms', lock_delay => '1 h') AS delayed,
       distlock.begin_run('cost:job', '2026-01-01 00:00+00', '1 h') AS run \gset
SELECT distlock.try_acquire('cost:semaphore', '1 h', capacity => 2) > 0 AS full, distlock.release('cost:kept', :kept);
SELECT pg_sleep(0.02);
CREATE TEMP VIEW written AS
SELECT name, slot, ctid::text AS place, xmin::text AS made_by, xmax::text AS ended_by FROM distlock.lease WHERE name LIKE 'cost:%';
CREATE TEMP TABLE before AS TABLE written;

BEGIN;
SELECT distlock.try_acquire('cost:exclusive') IS NULL AS exclusive, distlock.try_acquire('cost:shared') IS NULL AS beside_shared,
       distlock.try_acquire('cost:exclusive', mode => 'shared') IS NULL AS shared,
       distlock.try_acquire('cost:semaphore', capacity => 2) IS NULL AS permit,
       distlock.try_acquire('cost:kept') IS NULL AS kept, distlock.try_acquire('cost:delayed') IS NULL AS delayed,
       distlock.begin_run('cost:job', '2026-01-01 00:00+00') IS NULL AS run, distlock.begin_run('cost:job', '2026-01-01 01:00+00') IS NULL AS next_run,
       distlock.try_acquire('cost:exclusive', request_id => '00000000-0000-0000-0000-000000000001') IS NULL AS with_id;
SELECT distlock.try_acquire('cost:semaphore', capacity => 2, wait => '20 ms') IS NULL AS permit, distlock.try_acquire('cost:shared', wait => '20 ms') IS NULL AS waited;
-- What the caller does not hold is neither renewed nor released, and that writes nothing either.
SELECT distlock.renew('cost:shared', 7) IS NULL AS renewed, distlock.release('cost:semaphore', 7), distlock.downgrade('cost:exclusive', 7) IS NULL AS downgraded,
       distlock.end_run('cost:job', '2026-01-01 00:00+00', 7) AS ended;
SELECT name, expires_at FROM distlock.renew_many('{cost:shared,cost:exclusive}', '{7,7}');
SELECT pg_current_xact_id_if_assigned() IS NULL AS wrote_nothing;
SELECT count(*) AS locks_left FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory';
SAVEPOINT s;
SELECT * FROM distlock.acquire_all('{cost:free,cost:semaphore}', wait => '20 ms', capacity => 2);
ROLLBACK TO s;
SELECT * FROM distlock.acquire_all('{cost:free,cost:shared}', wait => '0');
ROLLBACK TO s;
SELECT pg_current_xact_id_if_assigned() IS NULL AS wrote_nothing;
COMMIT;
CALL distlock.acquire_long('cost:shared', wait => '20 ms');
SELECT count(*) AS changed FROM ((TABLE before EXCEPT TABLE written) UNION ALL (TABLE written EXCEPT TABLE before)) AS d;

-- Renewals of each kind: heap-only, but for those few for which an old snapshot somewhere leaves no room in the page.
CREATE TEMP VIEW counted AS SELECT n_tup_upd AS updates, n_tup_hot_upd AS hot FROM pg_stat_user_tables WHERE relid = 'distlock.lease'::regclass;
CREATE PROCEDURE pg_temp.repeat(times int, command text) LANGUAGE plpgsql AS $$BEGIN
    FOR i IN 1..times LOOP
        EXECUTE command;
        COMMIT;
    END LOOP;
END$$;
SELECT pg_stat_force_next_flush();
SELECT updates, hot FROM counted \gset
SELECT set_config('cost.tokens', ARRAY[:exclusive, :shared, :permit, :run]::text, false) IS NULL AS unset;
CALL pg_temp.repeat(250, $$SELECT FROM distlock.renew_many('{cost:exclusive,cost:shared,cost:semaphore,cost:job}', current_setting('cost.tokens')::bigint[])$$);
SELECT pg_stat_force_next_flush();
SELECT updates - :updates >= 1000 AS renewed, hot - :hot > 0.8 * (updates - :updates) AS heap_only FROM counted;

-- So too by the session that made the grant and finds its row by its place: that must prune the page as well.
SELECT updates, hot FROM counted \gset
CALL pg_temp.repeat(1000, $$SELECT distlock.renew('cost:exclusive', (current_setting('cost.tokens')::bigint[])[1])$$);
SELECT pg_stat_force_next_flush();
SELECT updates - :updates >= 1000 AS renewed, hot - :hot > 0.98 * (updates - :updates) AS heap_only FROM counted;

DROP TABLE before;
DELETE FROM distlock.lease WHERE name LIKE 'cost:%';
DELETE FROM distlock.run WHERE job LIKE 'cost:%';
