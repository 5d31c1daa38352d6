-- fence and is_current: the token is checked, and stays current to the end of the transaction.
\set VERBOSITY sqlstate
CREATE VIEW pg_temp.my_locks AS
SELECT mode, count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory' GROUP BY mode ORDER BY mode;

SELECT distlock.try_acquire('fence:a', '1 h') AS token \gset
SELECT distlock.try_acquire('fence:b', '1 h') AS other \gset
SELECT distlock.fence('fence:a', :token) = :token AS passes, distlock.is_current('fence:a', :token);

-- Whatever is not the current grant is refused with LK001 (B05, S-25).
SELECT distlock.fence('fence:a', :other);
SELECT distlock.fence('fence:a', :token - 1);
SELECT distlock.fence('fence:a', :token + 1);
SELECT distlock.fence('fence:a', 9223372036854775807);
SELECT distlock.fence('fence:a', 0);
SELECT distlock.fence('fence:a', -:token);
SELECT distlock.fence('fence:never', :token);
SELECT distlock.is_current('fence:a', :other) AS other, distlock.is_current('fence:a', :token - 1) AS lower,
       distlock.is_current('fence:a', :token + 1) AS higher, distlock.is_current('fence:a', 0) AS zero,
       distlock.is_current('fence:a', -:token) AS negative, distlock.is_current('fence:never', :token) AS never;

-- It pins the lock to the end of the transaction, and writes nothing; is_current takes no lock.
BEGIN;
SELECT distlock.is_current('fence:a', :token);
TABLE pg_temp.my_locks;
SELECT distlock.fence('fence:a', :token) = :token AS passes;
SELECT distlock.fence('fence:a', :token) = :token AS passes;
SELECT distlock.fence('fence:b', :other) = :other AS passes;
TABLE pg_temp.my_locks;
SELECT pg_current_xact_id_if_assigned() IS NULL AS wrote_nothing;
COMMIT;
TABLE pg_temp.my_locks;
-- A refusal pins nothing.
BEGIN;
SAVEPOINT s;
SELECT distlock.fence('fence:a', :token - 1);
ROLLBACK TO s;
TABLE pg_temp.my_locks;
COMMIT;
-- A savepoint takes its pin with it.
BEGIN;
SAVEPOINT s;
SELECT distlock.fence('fence:a', :token) = :token AS passes;
ROLLBACK TO s;
TABLE pg_temp.my_locks;
SAVEPOINT s;
SELECT distlock.fence('fence:a', :token) = :token AS passes;
RELEASE s;
TABLE pg_temp.my_locks;
COMMIT;

-- Expired, but nobody else was granted it: passes, for evict_after; then it is refused.
SELECT distlock.try_acquire('fence:c', '20 ms') AS late \gset
SELECT pg_sleep(0.05);
SELECT distlock.fence('fence:c', :late) = :late AS passes, distlock.is_current('fence:c', :late);
SET distlock.evict_after = '1 ms';
SELECT distlock.fence('fence:c', :late);
SELECT distlock.is_current('fence:c', :late);
-- -1 switches off the termination only: refused after retention then.
SET distlock.evict_after = -1;
SELECT distlock.fence('fence:c', :late) = :late AS passes;
SET distlock.retention = '1 ms';
SELECT distlock.fence('fence:c', :late);
RESET distlock.evict_after;
RESET distlock.retention;
-- A check that passed holds for the transaction, whatever the clock does meanwhile.
SELECT distlock.try_acquire('fence:d', '100 ms') AS brief \gset
BEGIN;
SELECT distlock.fence('fence:d', :brief) = :brief AS passes;
SELECT pg_sleep(0.15);
SELECT distlock.fence('fence:d', :brief) = :brief AS passes;
COMMIT;

-- Superseded: refused, also after the successor has gone.
SELECT distlock.try_acquire('fence:c') AS next \gset
SELECT distlock.fence('fence:c', :late);
SELECT distlock.release('fence:c', :next);
SELECT distlock.fence('fence:c', :late);
SELECT distlock.fence('fence:c', :next);
SELECT distlock.is_current('fence:c', :late) AS late, distlock.is_current('fence:c', :next) AS next;

-- Acquired in this transaction: current before the commit.
BEGIN;
SELECT distlock.try_acquire('fence:e') AS mine \gset
SELECT distlock.fence('fence:e', :mine) = :mine AS passes, distlock.is_current('fence:e', :mine);
SELECT distlock.release('fence:e', :mine);
SELECT distlock.is_current('fence:e', :mine);
SELECT distlock.fence('fence:e', :mine);
ROLLBACK;
SELECT distlock.is_current('fence:e', :mine), count(*) AS rows_made FROM distlock.lease WHERE name = 'fence:e';
-- In the same statement as well.
SELECT distlock.fence('fence:f', distlock.try_acquire('fence:f')) > 0 AS passes;

-- One's own takeover ends what was fenced before.
SELECT distlock.try_acquire('fence:g', '20 ms') AS older \gset
SELECT pg_sleep(0.05);
BEGIN;
SELECT distlock.fence('fence:g', :older) = :older AS passes;
SELECT distlock.try_acquire('fence:g') AS newer \gset
SELECT distlock.fence('fence:g', :newer) = :newer AS passes;
SELECT distlock.fence('fence:g', :older);
ROLLBACK;
SELECT distlock.is_current('fence:g', :older);

-- NULL is a mistake, no answer.
SELECT distlock.fence(NULL, :token);
SELECT distlock.fence('fence:a', NULL);
SELECT distlock.is_current(NULL, :token);
SELECT distlock.is_current('fence:a', NULL);

-- All isolation levels agree (P8); the snapshot of a transaction does not count.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) > 0 AS snapshot_taken FROM pg_class;
SELECT distlock.fence('fence:a', :token) = :token AS passes, distlock.is_current('fence:b', :other);
SELECT distlock.try_acquire('fence:h') AS mine \gset
SELECT distlock.fence('fence:h', :mine) = :mine AS passes;
SELECT count(*) AS predicate_locks FROM pg_locks
WHERE pid = pg_backend_pid() AND mode = 'SIReadLock' AND relation = ANY (ARRAY['distlock.lease', 'distlock.lease_pkey']::regclass[]);
COMMIT;

DELETE FROM distlock.lease WHERE name LIKE 'fence:%';
DROP VIEW pg_temp.my_locks;
