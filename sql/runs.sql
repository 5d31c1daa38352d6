-- begin_run and end_run: one run for each scheduled slot (S-105 to S-108, B34).
\set VERBOSITY sqlstate
CREATE TEMP VIEW run_history AS
SELECT slot - '2026-01-01 00:00+00' AS slot, state, attempt, owner, finished_at IS NOT NULL AS ended, result
FROM distlock.runs WHERE job = 'runs:a' ORDER BY distlock.runs.slot;

SELECT distlock.begin_run('runs:a', '2026-01-01 00:00+00', '1 min', owner => 'one') AS t \gset
SELECT distlock.begin_run('runs:a', '2026-01-01 00:00+00') IS NULL AS taken;
SELECT distlock.begin_run('runs:a', '2026-01-01 01:00+00') IS NULL AS no_overlap;
TABLE run_history;
-- It holds the lock named like the job.
SELECT distlock.try_acquire('runs:a') IS NULL AS busy;
SELECT token = :t AS same, state, owner, expires_at - since AS lease FROM distlock.holder('runs:a');
SELECT distlock.renew('runs:a', :t) IS NOT NULL AS renewed, distlock.fence('runs:a', :t) = :t AS fenced;
-- Nobody else ends it, or another slot with its token.
SELECT distlock.end_run('runs:a', '2026-01-01 00:00+00', :t + 1);
SELECT distlock.end_run('runs:a', '2026-01-01 01:00+00', :t);
SELECT distlock.end_run('runs:a', '2026-01-01 00:00+00', :t, result => '{"rows": 3}');
SELECT distlock.end_run('runs:a', '2026-01-01 00:00+00', :t);
SELECT count(*) FROM distlock.holder('runs:a');
TABLE run_history;

-- Finished: never again, though the lock is free and the caller comes late (S-105).
SELECT distlock.begin_run('runs:a', '2026-01-01 00:00+00') IS NULL AS finished;
SELECT distlock.begin_run('runs:a', '2026-01-01 00:00+00', request_id => '00000000-0000-0000-0000-000000000001') IS NULL AS finished;
-- The same instant in another zone is the same slot.
SELECT distlock.begin_run('runs:a', '2026-01-01 02:00+02') IS NULL AS finished;
-- Older than the last finished one: refused, aloud.
SELECT distlock.begin_run('runs:a', '2025-12-31 23:00+00');
SELECT distlock.begin_run('runs:a', '2025-12-31 23:59:59.999999+00');

-- A run that failed may be begun again: attempt 2, higher token.
SELECT distlock.begin_run('runs:a', '2026-01-01 01:00+00') AS t1 \gset
SELECT distlock.end_run('runs:a', '2026-01-01 01:00+00', :t1, ok => false, result => '"no disk"');
TABLE run_history;
SELECT distlock.begin_run('runs:a', '2026-01-01 01:00+00', owner => 'two') AS t2 \gset
SELECT :t2 > :t1 AS higher;
TABLE run_history;
SELECT distlock.end_run('runs:a', '2026-01-01 01:00+00', :t1);
SELECT distlock.end_run('runs:a', '2026-01-01 01:00+00', :t2);

-- The token of another slot ends nothing, though its run is the one that holds the lock.
SELECT distlock.begin_run('runs:h', '2026-01-01 00:00+00') AS t1 \gset
SELECT distlock.end_run('runs:h', '2026-01-01 00:00+00', :t1, ok => false);
SELECT distlock.begin_run('runs:h', '2026-01-01 01:00+00') AS t2 \gset
SELECT distlock.end_run('runs:h', '2026-01-01 00:00+00', :t2);
SELECT slot - '2026-01-01 00:00+00' AS slot, state FROM distlock.runs WHERE job = 'runs:h' ORDER BY distlock.runs.slot;
SELECT distlock.end_run('runs:h', '2026-01-01 01:00+00', :t2);
-- The failed one is too old now.
SELECT distlock.begin_run('runs:h', '2026-01-01 00:00+00');

-- A crashed run: free after its lease, attempt 2, and its late end is refused; a late end that nobody preceded counts.
SELECT distlock.begin_run('runs:a', '2026-01-01 02:00+00', '20 ms', owner => 'crashed') AS t1 \gset
SELECT pg_sleep(0.03);
TABLE run_history;
SELECT distlock.begin_run('runs:a', '2026-01-01 02:00+00', '20 ms', owner => 'second') AS t2 \gset
SELECT :t2 > :t1 AS higher;
SELECT distlock.end_run('runs:a', '2026-01-01 02:00+00', :t1);
SELECT pg_sleep(0.03);
SELECT distlock.end_run('runs:a', '2026-01-01 02:00+00', :t2);
TABLE run_history;
SELECT distlock.begin_run('runs:a', '2026-01-01 02:00+00') IS NULL AS finished;
-- Rolled back, nothing has begun or ended.
BEGIN;
SELECT distlock.begin_run('runs:a', '2026-01-01 03:00+00') > 0 AS begun;
ROLLBACK;
SELECT distlock.begin_run('runs:a', '2026-01-01 03:00+00') AS t \gset
BEGIN;
SELECT distlock.end_run('runs:a', '2026-01-01 03:00+00', :t);
ROLLBACK;
SELECT distlock.begin_run('runs:a', '2026-01-01 03:00+00') IS NULL AS still_running;
SELECT distlock.end_run('runs:a', '2026-01-01 03:00+00', :t);
-- A begin that gets nothing writes nothing.
BEGIN;
SELECT distlock.begin_run('runs:a', '2026-01-01 03:00+00') IS NULL AS finished;
SELECT pg_current_xact_id_if_assigned() IS NULL AS wrote_nothing;
COMMIT;

-- A retry of the same request gets the same run, not another slot's.
SELECT distlock.begin_run('runs:b', '2026-01-01 00:00+00', request_id => '00000000-0000-0000-0000-000000000001') AS t \gset
SELECT distlock.begin_run('runs:b', '2026-01-01 00:00+00', request_id => '00000000-0000-0000-0000-000000000001') = :t AS same;
SELECT distlock.begin_run('runs:b', '2026-01-01 01:00+00', request_id => '00000000-0000-0000-0000-000000000001') IS NULL AS another_slot;
SELECT attempt FROM distlock.runs WHERE job = 'runs:b';
SELECT distlock.begin_run('runs:b', '2026-01-01 00:00+00', request_id => '00000000-0000-0000-0000-000000000002') IS NULL AS stranger;

-- More than a day ahead is refused, since it would shut out all before it; so are senseless slots.
SELECT distlock.begin_run('runs:c', clock_timestamp() + '25 h');
SELECT distlock.begin_run('runs:c', 'infinity');
SELECT distlock.begin_run('runs:c', '-infinity');
SELECT distlock.begin_run('runs:c', clock_timestamp() + '23 h') > 0 AS begun;
SELECT distlock.begin_run('runs:c', NULL);
SELECT distlock.begin_run(NULL, now());
SELECT distlock.begin_run('', now());
SELECT distlock.begin_run('runs:c', now(), '1 ms');
SELECT distlock.end_run('runs:c', NULL, 1);
SELECT distlock.end_run('runs:c', now(), NULL);
SELECT distlock.end_run(NULL, now(), 1);
BEGIN READ ONLY;
SELECT distlock.begin_run('runs:d', now());
ROLLBACK;
BEGIN READ ONLY;
SELECT distlock.end_run('runs:d', now(), 1);
ROLLBACK;
-- A lock that is a semaphore is no job.
SELECT distlock.try_acquire('runs:e', capacity => 2) > 0 AS got;
SELECT distlock.begin_run('runs:e', now());

-- Across the change to summer time in a zone that has one: two instants, two slots (B33).
SET timezone = 'Europe/Berlin';
SELECT distlock.end_run('runs:f', s, distlock.begin_run('runs:f', s)) AS ran
FROM unnest('{2026-03-29 00:30+00,2026-03-29 01:30+00}'::timestamptz[]) AS s ORDER BY s;
RESET timezone;

-- The history ends after 100 runs; the last slot does not.
SELECT count(distlock.end_run('runs:g', s, distlock.begin_run('runs:g', s)))
FROM (SELECT s FROM generate_series('2026-02-01 00:00+00'::timestamptz, '2026-02-05 23:00+00', '1 h') AS s OFFSET 0) AS slots;
SELECT count(*), min(slot) = '2026-02-01 20:00+00' AS newest_kept FROM distlock.runs WHERE job = 'runs:g';
DELETE FROM distlock.run WHERE job = 'runs:g';
SELECT distlock.begin_run('runs:g', '2026-02-05 23:00+00') IS NULL AS finished;
SELECT distlock.begin_run('runs:g', '2026-02-05 22:00+00');

DELETE FROM distlock.run WHERE job LIKE 'runs:%';
DELETE FROM distlock.job WHERE job LIKE 'runs:%';
DELETE FROM distlock.lease WHERE name LIKE 'runs:%';
