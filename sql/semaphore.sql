-- capacity => n: a counting semaphore; each permit its own slot, lease and token (S-93).
\set VERBOSITY sqlstate

SELECT distlock.try_acquire('semaphore:a', '1 min', capacity => 2, owner => 'one') AS one \gset
SELECT distlock.try_acquire('semaphore:a', '2 min', capacity => 2, owner => 'two') AS two \gset
SELECT distlock.try_acquire('semaphore:a', capacity => 2) IS NULL AS full;
SELECT distlock.acquire('semaphore:a', wait => '20 ms', capacity => 2);
SELECT slot, token = :one AS one, token = :two AS two, state, mode, capacity, owner, expires_at - since AS lease
FROM distlock.holder('semaphore:a') ORDER BY slot;
SELECT distlock.fence('semaphore:a', :one) = :one AS one, distlock.fence('semaphore:a', :two) = :two AS two;
SELECT distlock.renew('semaphore:a', :one) IS NOT NULL AS renewed;
SELECT distlock.release('semaphore:a', :one);
SELECT distlock.release('semaphore:a', :one);
SELECT distlock.fence('semaphore:a', :one);
SELECT distlock.try_acquire('semaphore:a', capacity => 2, owner => 'three') AS three \gset
SELECT slot, owner FROM distlock.holder('semaphore:a') ORDER BY slot;
SELECT distlock.release('semaphore:a', :one) IN ('superseded', 'not_held') AS not_his;
SELECT distlock.try_acquire('semaphore:a', capacity => 2) IS NULL AS full;

-- Another capacity or kind for the same lock is an error, not a grant, while it is held and while it is free.
SELECT distlock.try_acquire('semaphore:a', capacity => 3);
SELECT distlock.try_acquire('semaphore:a');
SELECT distlock.try_acquire('semaphore:a', mode => 'shared');
SELECT distlock.acquire_all('{semaphore:a,semaphore:b}', wait => '0');
SELECT count(*) FROM distlock.holder('semaphore:b');
SELECT distlock.release('semaphore:a', :two), distlock.release('semaphore:a', :three);
SELECT distlock.try_acquire('semaphore:a', capacity => 3);
SELECT distlock.try_acquire('semaphore:c') AS excl \gset
SELECT distlock.try_acquire('semaphore:c', capacity => 2);
SELECT distlock.release('semaphore:c', :excl);
SELECT distlock.try_acquire('semaphore:c', capacity => 2);
SELECT distlock.try_acquire('semaphore:d', mode => 'shared') > 0 AS got;
SELECT distlock.try_acquire('semaphore:d', capacity => 2);

SELECT distlock.try_acquire('semaphore:e', capacity => 0);
SELECT distlock.try_acquire('semaphore:e', capacity => -1);
SELECT distlock.try_acquire('semaphore:e', capacity => 10001);
SELECT distlock.try_acquire('semaphore:e', capacity => NULL) > 0 AS default_capacity;

-- A crashed permit comes back alone, after its own ttl; the living one is not disturbed.
SELECT distlock.try_acquire('semaphore:f', '1 min', capacity => 2) AS living \gset
SELECT distlock.try_acquire('semaphore:f', '20 ms', capacity => 2) AS dead \gset
SELECT distlock.try_acquire('semaphore:f', '1 min', '10 s', capacity => 2) AS next \gset
SELECT :next > :dead AS after_expiry;
SELECT slot, token = :living AS living, token = :next AS next, grants, takeovers FROM distlock.holder('semaphore:f') ORDER BY slot;
SELECT distlock.is_current('semaphore:f', :living) AS living, distlock.is_current('semaphore:f', :dead) AS dead;
SELECT distlock.renew('semaphore:f', :dead) IS NULL AS lost;
SELECT distlock.release('semaphore:f', :dead);

-- All permits in one statement, not one more.
SELECT count(distlock.try_acquire('semaphore:g', capacity => 5)) FROM generate_series(1, 9);
-- Rolled back, they are back.
BEGIN;
SELECT count(distlock.try_acquire('semaphore:h', capacity => 5)) FROM generate_series(1, 4);
SAVEPOINT s;
SELECT count(distlock.try_acquire('semaphore:h', capacity => 5)) FROM generate_series(1, 4);
ROLLBACK TO s;
SELECT count(distlock.try_acquire('semaphore:h', capacity => 5)) FROM generate_series(1, 4);
ROLLBACK;
SELECT count(distlock.try_acquire('semaphore:h', capacity => 3)) FROM generate_series(1, 4);

-- No two holders of one lock ever carry the same token (P3): neither by a raise.
SELECT distlock.try_acquire('semaphore:i', capacity => 3) AS a \gset
SELECT distlock.try_acquire('semaphore:i', capacity => 3) AS b \gset
DO $$BEGIN
    PERFORM distlock.raise_token('semaphore:i', min(token), max(token)) FROM distlock.holder('semaphore:i');
EXCEPTION WHEN invalid_parameter_value THEN NULL;
END$$;
SELECT count(*) AS permits, count(DISTINCT token) AS tokens, bool_or(token = :b) AS b_kept FROM distlock.holder('semaphore:i');

-- A retry gets its own permit again.
SELECT distlock.try_acquire('semaphore:j', capacity => 2, request_id => '00000000-0000-0000-0000-000000000001') AS first \gset
SELECT distlock.try_acquire('semaphore:j', capacity => 2, request_id => '00000000-0000-0000-0000-000000000001') = :first AS same;
SELECT count(*) FROM distlock.holder('semaphore:j');
SELECT distlock.try_acquire('semaphore:j', capacity => 2) > 0 AS second;
SELECT distlock.try_acquire('semaphore:j', capacity => 2, request_id => '00000000-0000-0000-0000-000000000001') = :first AS same_when_full;

DELETE FROM distlock.lease WHERE name LIKE 'semaphore:%';
