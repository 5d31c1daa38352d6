-- downgrade: exclusive becomes shared in one call, without a gap and under the same token.
\set VERBOSITY sqlstate

SELECT distlock.try_acquire('downgrade:a', '1 min', owner => 'me', metadata => '{"at": "here"}') AS t \gset
SELECT expires_at AS ends FROM distlock.holder('downgrade:a') \gset
SELECT distlock.try_acquire('downgrade:a', mode => 'shared') IS NULL AS busy;
SELECT distlock.downgrade('downgrade:a', :t) = :'ends' AS same_end;
SELECT slot > 0 AS own_slot, token = :t AS same_token, state, mode, owner, metadata FROM distlock.holder('downgrade:a');
SELECT distlock.fence('downgrade:a', :t) = :t AS fenced, distlock.renew('downgrade:a', :t) IS NOT NULL AS renewed;
-- Others share it now; an exclusive one waits for both.
SELECT distlock.try_acquire('downgrade:a', mode => 'shared') AS other \gset
SELECT distlock.try_acquire('downgrade:a') IS NULL AS busy;
SELECT distlock.downgrade('downgrade:a', :t) IS NOT NULL AS again;
SELECT distlock.release('downgrade:a', :t), distlock.release('downgrade:a', :t);
SELECT distlock.is_current('downgrade:a', :t) AS mine, distlock.is_current('downgrade:a', :other) AS others;
SELECT distlock.release('downgrade:a', :other);
SELECT distlock.try_acquire('downgrade:a') > :other AS got;

-- In the slot of a shared holder that went before.
SELECT distlock.try_acquire('downgrade:b', mode => 'shared') AS s \gset
SELECT distlock.release('downgrade:b', :s);
SELECT distlock.try_acquire('downgrade:b') AS t \gset
BEGIN;
SELECT distlock.fence('downgrade:b', :t) = :t AS fenced;
SELECT distlock.downgrade('downgrade:b', :t) IS NOT NULL AS down;
SELECT distlock.fence('downgrade:b', :t) = :t AS fenced;
ROLLBACK;
SELECT slot, mode FROM distlock.holder('downgrade:b');
SELECT distlock.downgrade('downgrade:b', :t) IS NOT NULL AS down;
SELECT slot, mode, token = :t AS same FROM distlock.holder('downgrade:b');
SELECT distlock.is_current('downgrade:b', :s) AS old_shared;

-- A lease that is lost cannot be downgraded, a permit neither.
SELECT distlock.downgrade('downgrade:b', 7) IS NULL AS foreign;
SELECT distlock.try_acquire('downgrade:c', '20 ms') AS t \gset
SELECT pg_sleep(0.03);
SELECT distlock.downgrade('downgrade:c', :t) IS NULL AS expired;
SELECT distlock.try_acquire('downgrade:d', capacity => 2) AS t \gset
SELECT distlock.downgrade('downgrade:d', :t);
SELECT distlock.downgrade('downgrade:a', NULL);
SELECT distlock.downgrade(NULL, 1);

DELETE FROM distlock.lease WHERE name LIKE 'downgrade:%';
