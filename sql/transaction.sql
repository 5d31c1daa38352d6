-- Locks and the transaction around them: savepoints, rollback, two calls in one statement, PREPARE, waiting while holding.
\set VERBOSITY sqlstate
CREATE TEMP VIEW mine AS
SELECT name, state, grants, takeovers FROM distlock.locks WHERE name LIKE 'transaction:%' ORDER BY name COLLATE "C";
CREATE TEMP VIEW locks_kept AS
SELECT mode, count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory' GROUP BY mode ORDER BY mode;

-- ROLLBACK undoes a grant; its token is burnt, not handed out again (B45).
BEGIN;
SELECT distlock.try_acquire('transaction:a') AS undone \gset
TABLE mine;
TABLE locks_kept;
ROLLBACK;
TABLE mine;
TABLE locks_kept;
SELECT distlock.try_acquire('transaction:a') AS token \gset
SELECT :token > :undone AS higher, distlock.is_current('transaction:a', :undone) AS undone_current;
-- So does an error.
BEGIN;
SELECT distlock.try_acquire('transaction:b') > 0 AS got;
SELECT 1 / 0;
COMMIT;
TABLE mine;

-- ROLLBACK undoes a release and a renewal.
BEGIN;
SELECT distlock.release('transaction:a', :token);
TABLE mine;
ROLLBACK;
TABLE mine;
SELECT expires_at AS "end" FROM distlock.holder('transaction:a') \gset
BEGIN;
SELECT distlock.renew('transaction:a', :token, '1 h') > :'end' AS later;
ROLLBACK;
SELECT expires_at = :'end' AS as_before FROM distlock.holder('transaction:a');
BEGIN;
SELECT distlock.force_release('transaction:a', :token);
ROLLBACK;
SELECT distlock.is_current('transaction:a', :token);

-- A savepoint does the same, and lets go of what it took: row and lock together.
BEGIN;
SAVEPOINT s;
SELECT distlock.try_acquire('transaction:c') AS in_savepoint \gset
TABLE locks_kept;
ROLLBACK TO s;
TABLE locks_kept;
SELECT distlock.try_acquire('transaction:c') AS again \gset
SELECT :again > :in_savepoint AS higher;
SAVEPOINT t;
SELECT distlock.release('transaction:c', :again);
ROLLBACK TO t;
SELECT distlock.is_current('transaction:c', :again);
SAVEPOINT u;
SELECT distlock.renew('transaction:c', :again, '2 h') > now() + interval '1 h' AS later;
ROLLBACK TO u;
SELECT expires_at < now() + interval '1 h' AS as_before FROM distlock.holder('transaction:c');
SAVEPOINT v;
SELECT distlock.release('transaction:c', :again);
RELEASE v;
COMMIT;
SELECT distlock.is_current('transaction:c', :again);
-- An error in a PL/pgSQL block with an exception handler is a savepoint too.
DO $$
BEGIN
    BEGIN
        PERFORM distlock.try_acquire('transaction:d');
        RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN
        NULL;
    END;
    PERFORM distlock.try_acquire('transaction:e');
END $$;
TABLE mine;
-- Many of them in one transaction.
DO $$
DECLARE token bigint;
BEGIN
    FOR i IN 1..500 LOOP
        BEGIN
            token := distlock.try_acquire('transaction:f');
            PERFORM distlock.fence('transaction:f', token);
            IF i % 2 = 0 THEN RAISE division_by_zero; END IF;
            PERFORM distlock.release('transaction:f', token);
        EXCEPTION WHEN division_by_zero THEN
            NULL;
        END;
    END LOOP;
END $$;
SELECT count(*) AS held FROM distlock.holder('transaction:f');
TABLE locks_kept;

-- A refused call in a savepoint leaves the transaction usable.
BEGIN;
SAVEPOINT s;
SELECT distlock.acquire('transaction:a', wait => '0');
ROLLBACK TO s;
SELECT distlock.acquire('transaction:a', wait => '50 ms');
ROLLBACK TO s;
SELECT distlock.fence('transaction:a', :token) = :token AS fenced;
COMMIT;

-- Two calls in one statement: the second sees what the first did.
SELECT distlock.try_acquire('transaction:g') > 0 AS first, distlock.try_acquire('transaction:g') IS NULL AS second;
SELECT token AS g FROM distlock.holder('transaction:g') \gset
SELECT distlock.renew('transaction:g', :g) <= distlock.renew('transaction:g', :g) AS renewed_twice;
SELECT distlock.release('transaction:g', :g) AS first, distlock.release('transaction:g', :g) AS second;
SELECT distlock.try_acquire('transaction:g') AS g, distlock.try_acquire('transaction:h') AS h \gset
SELECT :h > :g AS in_order;
SELECT distlock.release('transaction:h', :h) AS released, distlock.try_acquire('transaction:h') > :h AS got_again;
-- A join that doubles a row.
SELECT distlock.release('transaction:g', :g) AS answer FROM generate_series(1, 3);
SELECT count(distlock.try_acquire('transaction:i')) AS granted, count(*) AS calls FROM generate_series(1, 10);
WITH l AS MATERIALIZED (SELECT distlock.try_acquire('transaction:j') AS token)
SELECT distlock.fence('transaction:j', token) > 0 AS fenced, distlock.renew('transaction:j', token) IS NOT NULL AS renewed,
       distlock.release('transaction:j', token)
FROM l;
-- Acquire and release, over and over, in one transaction.
BEGIN;
SELECT count(DISTINCT token) AS grants, bool_and(answer = 'released') AS released
FROM (SELECT token, distlock.release('transaction:k', token) AS answer
      FROM (SELECT distlock.try_acquire('transaction:k') AS token FROM generate_series(1, 50) OFFSET 0) AS t OFFSET 0) AS u;
COMMIT;

-- A transaction that holds, or fences, does not wait for another lock: two such, crosswise, would wait for ever (B40).
BEGIN;
SELECT distlock.try_acquire('transaction:l') > 0 AS got;
SAVEPOINT s;
SELECT distlock.acquire('transaction:a');
ROLLBACK TO s;
SELECT distlock.try_acquire('transaction:a', wait => '1 s');
ROLLBACK TO s;
-- A try is allowed, and a wait that is not needed.
SELECT distlock.try_acquire('transaction:a') IS NULL AS busy;
SELECT distlock.acquire('transaction:m', wait => '1 s') > 0 AS got;
SELECT distlock.acquire('transaction:a', wait => '0');
ROLLBACK;
BEGIN;
SELECT distlock.fence('transaction:a', :token) = :token AS fenced;
SELECT distlock.acquire('transaction:e', wait => '1 s');
ROLLBACK;
BEGIN;
SELECT distlock.renew('transaction:a', :token) IS NOT NULL AS renewed;
SELECT distlock.acquire('transaction:e', wait => '1 s');
ROLLBACK;
BEGIN;
SELECT distlock.release('transaction:a', :token);
SELECT distlock.acquire('transaction:e', wait => '1 s');
ROLLBACK;
-- What a savepoint took and gave back does not count; nor does a refused call.
BEGIN;
SAVEPOINT s;
SELECT distlock.fence('transaction:a', :token) = :token AS fenced;
ROLLBACK TO s;
SELECT distlock.renew('transaction:a', :token - 1) IS NULL AS lost;
SELECT distlock.try_acquire('transaction:a') IS NULL AS busy;
SELECT distlock.try_acquire('transaction:e', wait => '50 ms') IS NULL AS busy;
COMMIT;

-- Prepared transactions are refused while one of our locks is held: nobody could end them.
BEGIN;
SELECT distlock.try_acquire('transaction:n') > 0 AS got;
PREPARE TRANSACTION 'regress_distlock';
BEGIN;
SELECT distlock.fence('transaction:a', :token) = :token AS fenced;
PREPARE TRANSACTION 'regress_distlock';
BEGIN;
SELECT distlock.renew('transaction:a', :token) IS NOT NULL AS renewed;
PREPARE TRANSACTION 'regress_distlock';
BEGIN;
SELECT distlock.release('transaction:a', :token);
PREPARE TRANSACTION 'regress_distlock';
TABLE mine;
TABLE locks_kept;

-- The answers are the same at each isolation level, and never 40001 (P8, B38): this one's snapshot is older than all it does.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) > 0 AS snapshot_taken FROM pg_class;
SELECT distlock.renew('transaction:a', :token) IS NOT NULL AS renewed;
SELECT distlock.release('transaction:a', :token);
SELECT distlock.try_acquire('transaction:a') AS next \gset
SELECT distlock.fence('transaction:a', :next) = :next AS fenced;
SELECT distlock.try_acquire('transaction:o') > 0 AS got;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) > 0 AS snapshot_taken FROM pg_class;
SELECT distlock.renew('transaction:a', :next) IS NOT NULL AS renewed;
SELECT distlock.release('transaction:a', :next);
SELECT distlock.try_acquire('transaction:a') > :next AS got;
SELECT count(*) AS held FROM distlock.holder('transaction:a');
SELECT count(*) AS predicate_locks FROM pg_locks
WHERE pid = pg_backend_pid() AND mode = 'SIReadLock' AND relation = ANY (ARRAY['distlock.lease', 'distlock.lease_pkey']::regclass[]);
COMMIT;
-- A wait in a block whose snapshot stays says that reads are older than the lock.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT distlock.try_acquire('transaction:a', wait => '50 ms') IS NULL AS busy;
COMMIT;
BEGIN;
SELECT distlock.try_acquire('transaction:a', wait => '50 ms') IS NULL AS busy;
COMMIT;

-- One transaction does not fill the server's lock table: neither with grants nor with fences.
SELECT current_setting('max_locks_per_transaction')::int * sum(setting::int) * 13 / 20 AS too_many FROM pg_settings
WHERE name IN ('max_connections', 'max_prepared_transactions', 'max_worker_processes', 'max_wal_senders', 'autovacuum_max_workers') \gset
SELECT count(distlock.try_acquire('transaction:r' || i, durable => false)) FROM generate_series(1, :too_many) AS i;
SELECT count(distlock.fence('transaction:s' || i, distlock.try_acquire('transaction:s' || i, durable => false)))
FROM generate_series(1, :too_many) AS i;

-- In a cursor, a trigger, a constraint or a default it works like elsewhere.
CREATE TEMP TABLE work (id int, token bigint DEFAULT distlock.try_acquire('transaction:p'));
INSERT INTO work (id) VALUES (1), (2);
SELECT id, token IS NOT NULL AS got FROM work ORDER BY id;
BEGIN;
DECLARE c CURSOR FOR SELECT distlock.try_acquire('transaction:q' || i) > 0 AS got FROM generate_series(1, 3) AS i;
FETCH 2 FROM c;
CLOSE c;
COMMIT;
SELECT count(*) AS held FROM distlock.locks WHERE name LIKE 'transaction:q%';

DELETE FROM distlock.lease WHERE name LIKE 'transaction:%';
