-- prune and the rows of free locks: they go when they have been free for long; nothing else does.
\set VERBOSITY sqlstate
CREATE TEMP VIEW rows_kept AS
SELECT count(*) AS rows, count(*) FILTER (WHERE released_at IS NULL) AS not_released FROM distlock.lease WHERE name LIKE 'prune:%';

-- An old snapshot or a neighbour's rows must not disturb the counts.
SELECT distlock.prune('0') >= 0 AS pruned;
SELECT distlock.try_acquire('prune:held', '1 h') AS held \gset
SELECT distlock.try_acquire('prune:expired', '20 ms') AS expired \gset
SELECT distlock.try_acquire('prune:delayed', '20 ms', lock_delay => '1 h') AS delayed \gset
SELECT distlock.try_acquire('prune:kept', '1 h', min_hold => '1 h') AS kept \gset
SELECT distlock.release('prune:kept', :kept);
SELECT count(distlock.release(name, distlock.try_acquire(name))) AS released FROM (SELECT 'prune:' || i FROM generate_series(1, 100) AS i) AS n (name);
SELECT pg_sleep(0.05);
TABLE rows_kept;

-- Not yet old enough: NULL = distlock.retention.
SELECT distlock.prune('1 h');
SELECT distlock.prune(NULL);
TABLE rows_kept;
-- Free by release or by expiry; not those that are held, delayed or kept for a minimum time.
SELECT distlock.prune('10 ms');
SELECT distlock.prune('10 ms');
SELECT name FROM distlock.lease WHERE name LIKE 'prune:%' ORDER BY name;
SET distlock.retention = 0;
SELECT distlock.release('prune:held', :held);
SELECT pg_sleep(0.01);
SELECT distlock.prune(NULL);
RESET distlock.retention;
SELECT name FROM distlock.lease WHERE name LIKE 'prune:%' ORDER BY name;

-- A forgotten name starts again, under a higher token (S-52, S-109); what was its own stays lost.
SELECT distlock.try_acquire('prune:held') AS again \gset
SELECT :again > :held AS higher, grants FROM distlock.holder('prune:held');
SELECT distlock.renew('prune:expired', :expired) IS NULL AS lost, distlock.release('prune:expired', :expired),
       distlock.is_current('prune:expired', :expired);
SELECT distlock.fence('prune:expired', :expired);

-- A shared grant that ran out before an exclusive one took over stays lost when the row of that one is gone.
SELECT distlock.try_acquire('prune:shared', '20 ms', mode => 'shared') AS shared \gset
SELECT pg_sleep(0.03);
SELECT distlock.release('prune:shared', distlock.try_acquire('prune:shared'));
SELECT pg_sleep(0.01);
SELECT distlock.prune('1 ms') > 0 AS pruned;
SELECT slot FROM distlock.lease WHERE name = 'prune:shared';
SELECT distlock.is_current('prune:shared', :shared), distlock.release('prune:shared', :shared);
SELECT distlock.fence('prune:shared', :shared);

-- Rollback brings the rows back, and a lock held in this transaction is left alone.
SELECT distlock.release('prune:held', :again);
SELECT pg_sleep(0.01);
BEGIN;
SELECT distlock.prune('1 ms');
ROLLBACK;
SELECT count(*) AS rows FROM distlock.lease WHERE name = 'prune:held';
BEGIN;
SELECT distlock.try_acquire('prune:held') AS third \gset
SELECT distlock.prune('0');
SELECT distlock.is_current('prune:held', :third);
COMMIT;
SELECT state, grants FROM distlock.holder('prune:held');

-- No more at once than the server's lock table can bear; the rest another time.
SELECT count(distlock.release(name, distlock.try_acquire(name, durable => false))) AS released
FROM (SELECT 'prune:many' || i FROM generate_series(1, 3000) AS i) AS n (name);
SELECT pg_sleep(0.01);
DO $$
BEGIN
    FOR i IN 1..100 LOOP
        EXIT WHEN distlock.prune('1 ms') = 0;
        COMMIT;
    END LOOP;
END $$;
SELECT count(*) AS rows FROM distlock.lease WHERE name LIKE 'prune:many%';

-- Without anybody's help: transactions that acquire take old rows with them, some at a time (S-53).
VACUUM FULL distlock.lease;
SET distlock.retention = 0;
SELECT count(distlock.release(name, distlock.try_acquire(name, durable => false))) AS released
FROM (SELECT 'prune:churn' || i FROM generate_series(1, 200) AS i) AS n (name);
DO $$
BEGIN
    FOR i IN 1..20000 LOOP
        PERFORM distlock.release('prune:churn', distlock.try_acquire('prune:churn', durable => false));
        COMMIT;
        EXIT WHEN i % 100 = 0 AND (SELECT count(*) < 20 FROM distlock.lease WHERE name LIKE 'prune:churn%');
    END LOOP;
END $$;
SELECT count(*) < 20 AS cleaned FROM distlock.lease WHERE name LIKE 'prune:churn%';
RESET distlock.retention;

DELETE FROM distlock.lease WHERE name LIKE 'prune:%';
