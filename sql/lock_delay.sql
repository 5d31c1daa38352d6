-- lock_delay: after an expiry, not after a release, nobody may take the lock for that long (S-68).
\set VERBOSITY sqlstate

SELECT distlock.try_acquire('delay:a', '20 ms', lock_delay => '20 s') AS t \gset
SELECT pg_sleep(0.03);
SELECT state, remaining_ms BETWEEN 1 AND 20000 AS remaining FROM distlock.holder('delay:a');
SELECT distlock.try_acquire('delay:a') IS NULL AS busy, distlock.try_acquire('delay:a', mode => 'shared') IS NULL AS shared_busy;
SELECT distlock.renew('delay:a', :t) IS NULL AS not_revived;
-- Late, but in good order: the release ends the delay.
SELECT distlock.release('delay:a', :t);
SELECT distlock.try_acquire('delay:a', lock_delay => '0') AS t \gset
SELECT distlock.release('delay:a', :t);
SELECT distlock.try_acquire('delay:a') > :t AS at_once;

-- A waiter gets it when the delay is over, not before.
SELECT distlock.try_acquire('delay:b', '50 ms', lock_delay => '150 ms') AS t, clock_timestamp() AS began \gset
SELECT distlock.acquire('delay:b') > :t AS got;
SELECT since - :'began' BETWEEN '195 ms' AND '10 s' AS in_time FROM distlock.holder('delay:b');
SELECT takeovers FROM distlock.holder('delay:b');

-- The delay of the one who held it, not of the one who asks.
SELECT distlock.try_acquire('delay:c', '20 ms') AS t \gset
SELECT pg_sleep(0.03);
SELECT distlock.try_acquire('delay:c', lock_delay => '1 h') > :t AS at_once;

-- A dead shared holder delays an exclusive one, a dead permit its own slot only.
SELECT distlock.try_acquire('delay:d', '20 ms', mode => 'shared', lock_delay => '20 s') > 0 AS got;
SELECT distlock.try_acquire('delay:e', '20 ms', capacity => 2, lock_delay => '20 s') > 0 AS got;
SELECT pg_sleep(0.03);
SELECT distlock.try_acquire('delay:d') IS NULL AS exclusive_busy, distlock.try_acquire('delay:d', mode => 'shared') > 0 AS shared;
SELECT count(distlock.try_acquire('delay:e', capacity => 2)) FROM generate_series(1, 3);

SELECT distlock.try_acquire('delay:f', lock_delay => '-1 s');
SELECT distlock.try_acquire('delay:f', lock_delay => '2 days');
SELECT distlock.try_acquire('delay:f', lock_delay => '1 month');

-- watch tells the expiry, which is not yet the next grant.
SELECT distlock.try_acquire('delay:g', '50 ms', lock_delay => '20 s') AS t, clock_timestamp() AS began \gset
CALL distlock.watch('delay:g', :t, '15 s');
SELECT clock_timestamp() - :'began' < '10 s' AS in_time;

DELETE FROM distlock.lease WHERE name LIKE 'delay:%';
