-- set_capacity: the only way to change a semaphore's number of permits (S-95).
\set VERBOSITY sqlstate

-- A name nobody knew yet, then up, then down.
SELECT distlock.set_capacity('capacity:a', 2) IS NULL AS was_unknown;
SELECT count(distlock.try_acquire('capacity:a', capacity => 2)) FROM generate_series(1, 3);
SELECT distlock.set_capacity('capacity:a', 4);
SELECT distlock.try_acquire('capacity:a', capacity => 2);
SELECT count(distlock.try_acquire('capacity:a', capacity => 4)) FROM generate_series(1, 3);
SELECT distlock.set_capacity('capacity:a', 2);
-- Four live: nobody is admitted until fewer than two do, wherever they sit.
CREATE TEMP TABLE permit AS SELECT slot, token FROM distlock.holder('capacity:a');
SELECT distlock.try_acquire('capacity:a', capacity => 2) IS NULL AS busy;
SELECT distlock.release('capacity:a', token) FROM permit WHERE slot IN (1, 2);
SELECT distlock.try_acquire('capacity:a', capacity => 2) IS NULL AS busy;
SELECT distlock.renew('capacity:a', token) IS NOT NULL AS renewed, distlock.fence('capacity:a', token) = token AS fenced
FROM permit WHERE slot IN (3, 4);
SELECT distlock.release('capacity:a', token) FROM permit WHERE slot = 3;
SELECT count(distlock.try_acquire('capacity:a', capacity => 2)) FROM generate_series(1, 3);
SELECT distlock.release('capacity:a', token) FROM permit WHERE slot = 4;
SELECT count(distlock.try_acquire('capacity:a', capacity => 2)) FROM generate_series(1, 3);
SELECT count(*) FROM distlock.holder('capacity:a');

-- The same capacity again, and in a transaction that is rolled back.
SELECT distlock.set_capacity('capacity:a', 2);
BEGIN;
SELECT distlock.set_capacity('capacity:a', 9);
SELECT distlock.try_acquire('capacity:a', capacity => 9) > 0 AS got;
ROLLBACK;
SELECT distlock.try_acquire('capacity:a', capacity => 2) IS NULL AS busy;

-- Not while it is held as an exclusive or shared lock; afterwards it becomes a semaphore.
SELECT distlock.try_acquire('capacity:b') AS excl \gset
SELECT distlock.set_capacity('capacity:b', 2);
SELECT distlock.release('capacity:b', :excl);
SELECT distlock.set_capacity('capacity:b', 2);
SELECT distlock.try_acquire('capacity:b');
SELECT count(distlock.try_acquire('capacity:b', capacity => 2)) FROM generate_series(1, 3);
SELECT distlock.is_current('capacity:b', :excl) AS old_token;
SELECT distlock.try_acquire('capacity:c', mode => 'shared') AS shared \gset
SELECT distlock.set_capacity('capacity:c', 2);
SELECT distlock.release('capacity:c', :shared);
SELECT distlock.set_capacity('capacity:c', 2);
SELECT count(distlock.try_acquire('capacity:c', capacity => 2)) FROM generate_series(1, 3);

-- A shared grant that ran out before does not stand beside the permits, in whatever slot; nor does one whose session is gone.
SELECT distlock.try_acquire('capacity:h', '20 ms', mode => 'shared') AS s1, distlock.try_acquire('capacity:h', '20 ms', mode => 'shared') AS s2,
       distlock.try_acquire('capacity:h', '1 h', mode => 'shared', session_bound => true) AS s3 \gset
SELECT pg_advisory_unlock_all();
SELECT pg_sleep(0.03);
SELECT distlock.set_capacity('capacity:h', 2);
SELECT distlock.is_current('capacity:h', :s1) AS s1, distlock.is_current('capacity:h', :s2) AS s2, distlock.is_current('capacity:h', :s3) AS s3;
SELECT distlock.try_acquire('capacity:h', capacity => 2) > :s3 AS got;
SELECT distlock.fence('capacity:h', :s2);
SELECT distlock.release('capacity:h', :s3);
SELECT slot, mode, state FROM distlock.holder('capacity:h');

-- Capacity 1 is a mutex.
SELECT distlock.set_capacity('capacity:b', 1);
SELECT distlock.release('capacity:b', token) FROM distlock.holder('capacity:b') ORDER BY slot;
SELECT count(distlock.try_acquire('capacity:b')) FROM generate_series(1, 3);

SELECT distlock.set_capacity('capacity:d', 0);
SELECT distlock.set_capacity('capacity:d', 10001);
SELECT distlock.set_capacity(NULL, 2);
SELECT distlock.set_capacity('', 2);
BEGIN READ ONLY;
SELECT distlock.set_capacity('capacity:d', 2);
ROLLBACK;

-- It is a decision about others: only for members of the role whose semaphore it is, and not to be prepared.
CREATE ROLE distlock_capacity;
GRANT USAGE ON SCHEMA distlock TO distlock_capacity;
SELECT distlock.try_acquire('capacity:f', capacity => 2) > 0 AS got;
SET ROLE distlock_capacity;
SELECT distlock.set_capacity('capacity:f', 3);
SELECT distlock.try_acquire('capacity:f', capacity => 2) > 0 AS its_permits_are_for_all;
SELECT distlock.set_capacity('capacity:g', 3) IS NULL AS was_unknown;
RESET ROLE;
SELECT distlock.set_capacity('capacity:f', 3), distlock.set_capacity('capacity:g', 2);
REVOKE USAGE ON SCHEMA distlock FROM distlock_capacity;
BEGIN;
SELECT distlock.set_capacity('capacity:f', 2);
PREPARE TRANSACTION 'capacity';
SELECT distlock.set_capacity('capacity:f', 3);

-- Cleaning keeps the capacity for as long as there are permits.
SELECT distlock.set_capacity('capacity:e', 3);
SELECT distlock.try_acquire('capacity:e', '20 ms', capacity => 3) > 0 AS got;
SELECT distlock.try_acquire('capacity:e', '1 min', capacity => 3) > 0 AS got;
SELECT distlock.prune('0') >= 0 AS pruned;
SELECT distlock.try_acquire('capacity:e', capacity => 2);

DROP TABLE permit;
DELETE FROM distlock.lease WHERE name LIKE 'capacity:%';
DROP ROLE distlock_capacity;
