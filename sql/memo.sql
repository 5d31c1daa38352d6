-- A session finds the rows of its own grants by their place (memo.cpp). Whatever has become of that place, the answers
-- are those of the rows.
\set VERBOSITY sqlstate

-- A place is known once the session has written over a row that it read, so each name here has been used before.
CREATE FUNCTION pg_temp.used(name text) RETURNS text LANGUAGE sql AS $$
    SELECT distlock.release(name, distlock.try_acquire(name))
$$;

-- Two locks with the same token, made by raise_token: each one's own row is found.
SELECT pg_temp.used('memo:a'), pg_temp.used('memo:b');
SELECT distlock.try_acquire('memo:a') AS a \gset
SELECT distlock.try_acquire('memo:b') AS b \gset
SELECT distlock.raise_token('memo:a', :a, :b) = :b AS raised;
SELECT distlock.fence('memo:b', :b) = :b AS fenced;
SELECT distlock.release('memo:b', :b);
SELECT distlock.is_current('memo:a', :b) AS a_held, distlock.is_current('memo:b', :b) AS b_held;
SELECT distlock.release('memo:a', :b);

-- The version that a savepoint took back: the one before it stands.
SELECT distlock.try_acquire('memo:a') AS a \gset
BEGIN;
SAVEPOINT s;
SELECT distlock.renew('memo:a', :a) IS NOT NULL AS renewed;
ROLLBACK TO s;
SELECT distlock.release('memo:a', :a);
COMMIT;
SELECT distlock.release('memo:a', :a);

-- A grant that was rolled back.
BEGIN;
SELECT distlock.try_acquire('memo:a') AS a \gset
ROLLBACK;
SELECT distlock.release('memo:a', :a);
SELECT distlock.renew('memo:a', :a);
SELECT distlock.fence('memo:a', :a);

-- A lease that is over.
SELECT distlock.try_acquire('memo:a', '20 ms') AS a \gset
SELECT pg_sleep(0.05);
SELECT distlock.renew('memo:a', :a), distlock.downgrade('memo:a', :a), distlock.fence('memo:a', :a) = :a AS fenced;
SELECT distlock.release('memo:a', :a);
-- Over, and others share the lock since: the row in slot 0 does not tell.
SELECT distlock.try_acquire('memo:a', '20 ms') AS a \gset
SELECT pg_sleep(0.05);
SELECT distlock.try_acquire('memo:a', mode => 'shared') AS shared \gset
SELECT distlock.fence('memo:a', :a);
SELECT distlock.renew('memo:a', :a), distlock.release('memo:a', :a);
SELECT distlock.release('memo:a', :shared);
-- A call that changes nothing keeps no lock.
SELECT distlock.try_acquire('memo:a') AS a \gset
SELECT distlock.release('memo:a', :a);
BEGIN;
SELECT distlock.release('memo:a', :a), distlock.renew('memo:a', :a);
SELECT count(*) AS locks FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory';
COMMIT;

-- A later grant of the same lock, renewed: as a rule its row now lies where that of the first one was.
TRUNCATE distlock.lease;
SELECT pg_temp.used('memo:a');
SELECT distlock.try_acquire('memo:a') AS first \gset
SELECT distlock.release('memo:a', :first);
VACUUM distlock.lease;
SELECT distlock.try_acquire('memo:a') AS second \gset
SELECT distlock.renew('memo:a', :second) IS NOT NULL AS renewed;
SELECT distlock.release('memo:a', :first), distlock.renew('memo:a', :first);
SELECT distlock.fence('memo:a', :first);
SELECT distlock.is_current('memo:a', :second), distlock.release('memo:a', :second);

-- Made shared and renewed: as a rule the row of slot 1, with the same token, now lies where that of slot 0 was. Its
-- writer pins slot 1 (RowShare), so that others can share the lock meanwhile; on slot 0 it would be RowExclusive.
TRUNCATE distlock.lease;
SELECT pg_temp.used('memo:a');
SELECT distlock.try_acquire('memo:a') AS a \gset
SELECT distlock.downgrade('memo:a', :a) IS NOT NULL AS shared;
VACUUM distlock.lease;
SELECT distlock.renew('memo:a', :a) IS NOT NULL AS renewed;
SELECT distlock.renew('memo:a', :a) IS NOT NULL AS renewed_again;
BEGIN;
SELECT distlock.fence('memo:a', :a) = :a AS fenced;
SELECT mode FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory';
COMMIT;
SELECT distlock.release('memo:a', :a);

-- The table written anew, its rows elsewhere.
SELECT distlock.try_acquire('memo:a') AS a \gset
SELECT distlock.try_acquire('memo:b') AS b \gset
VACUUM FULL distlock.lease;
SELECT distlock.fence('memo:a', :a) = :a AS fenced, distlock.renew('memo:b', :b) IS NOT NULL AS renewed;
SELECT distlock.release('memo:a', :a), distlock.release('memo:b', :b);

-- The row deleted, and the table cut short behind its back.
SELECT distlock.try_acquire('memo:a') AS a \gset
DELETE FROM distlock.lease;
SELECT distlock.release('memo:a', :a);
VACUUM distlock.lease;
SELECT distlock.renew('memo:a', :a), distlock.release('memo:a', :a);

-- Another lock's row in its place.
SELECT pg_temp.used('memo:a');
SELECT distlock.try_acquire('memo:a') AS a \gset
TRUNCATE distlock.lease;
SELECT count(distlock.try_acquire('memo:' || i)) AS others FROM generate_series(1, 10) AS i;
SELECT distlock.release('memo:a', :a), distlock.renew('memo:a', :a);
SELECT distlock.fence('memo:a', :a);

-- Another role of the session, not a member of the holder's.
CREATE ROLE distlock_test_stranger;
GRANT USAGE ON SCHEMA distlock TO distlock_test_stranger;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA distlock TO distlock_test_stranger;
SELECT pg_temp.used('memo:a');
SELECT distlock.try_acquire('memo:a') AS a \gset
SET ROLE distlock_test_stranger;
SELECT distlock.release('memo:a', :a);
SELECT distlock.renew('memo:a', :a);
SELECT distlock.fence('memo:a', :a);
RESET ROLE;
SELECT distlock.is_current('memo:a', :a);
DROP OWNED BY distlock_test_stranger;
DROP ROLE distlock_test_stranger;
TRUNCATE distlock.lease;
