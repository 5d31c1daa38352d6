-- min_hold: a job that finishes early keeps its lock for at least that long (S-105).
\set VERBOSITY sqlstate

SELECT distlock.try_acquire('hold:a', '1 min', min_hold => '40 s') AS t \gset
SELECT distlock.release('hold:a', :t);
SELECT state, expires_at - since BETWEEN '39 s' AND '41 s' AS kept_for, remaining_ms BETWEEN 1 AND 40000 AS remaining FROM distlock.holder('hold:a');
SELECT distlock.try_acquire('hold:a') IS NULL AS busy;
SELECT distlock.try_acquire('hold:a', mode => 'shared') IS NULL AS busy;
SELECT distlock.acquire('hold:a', wait => '50 ms');
-- The one who has released has no right to it any more.
SELECT distlock.release('hold:a', :t), distlock.renew('hold:a', :t) IS NULL AS lost, distlock.is_current('hold:a', :t);
SELECT distlock.fence('hold:a', :t);

-- Counted from the grant, not from the release or a renewal.
SELECT distlock.try_acquire('hold:b', '1 min', min_hold => '100 ms') AS t \gset
SELECT distlock.renew('hold:b', :t) IS NOT NULL AS renewed;
SELECT pg_sleep(0.11);
SELECT distlock.release('hold:b', :t);
SELECT distlock.try_acquire('hold:b') > 0 AS free;

-- A waiter gets it when the time is over.
SELECT distlock.try_acquire('hold:c', '1 min', min_hold => '150 ms') AS t, clock_timestamp() AS began \gset
SELECT distlock.release('hold:c', :t);
SELECT distlock.acquire('hold:c') > :t AS got;
SELECT since - :'began' >= '140 ms' AS not_before FROM distlock.holder('hold:c');

-- A shared holder's and a permit's own.
SELECT distlock.try_acquire('hold:d', mode => 'shared', min_hold => '20 s') AS t \gset
SELECT distlock.release('hold:d', :t);
SELECT distlock.try_acquire('hold:d', mode => 'shared') > 0 AS shared, distlock.try_acquire('hold:d') IS NULL AS exclusive_busy;
SELECT distlock.try_acquire('hold:e', capacity => 2, min_hold => '20 s') AS t \gset
SELECT distlock.release('hold:e', :t);
SELECT count(distlock.try_acquire('hold:e', capacity => 2)) FROM generate_series(1, 3);

-- The lease ends it; longer than the lease is refused.
SELECT distlock.try_acquire('hold:f', '10 s', min_hold => '11 s');
SELECT distlock.try_acquire('hold:f', '10 s', min_hold => '-1 s');
SELECT distlock.try_acquire('hold:f', '10 s', min_hold => '1 month');
SELECT distlock.try_acquire('hold:f', '20 ms', min_hold => '20 ms') AS t \gset
SELECT pg_sleep(0.03);
SELECT distlock.try_acquire('hold:f') > :t AS free;

-- An administrator's release keeps it as well.
SELECT distlock.try_acquire('hold:g', '1 min', min_hold => '40 s') AS t \gset
SELECT distlock.force_release('hold:g', :t);
SELECT state FROM distlock.holder('hold:g');

DELETE FROM distlock.lease WHERE name LIKE 'hold:%';
