-- watch: waits for a change of holder without a snapshot.
\set VERBOSITY sqlstate

-- What is other than the caller knows is told at once: 0 = nobody.
CALL distlock.watch('watch:a', 7);
CALL distlock.watch('watch:a', wait => '20 ms');
CALL distlock.watch('watch:a', NULL, '20 ms');
SELECT distlock.try_acquire('watch:a', '1 min') AS t \gset
CALL distlock.watch('watch:a') \gset
SELECT :token = :t AS tells_token;
CALL distlock.watch('watch:a', 0) \gset
SELECT :token = :t AS tells_token;
CALL distlock.watch('watch:a', :t, '0');
CALL distlock.watch('watch:a', :t, '50 ms');
SELECT distlock.renew('watch:a', :t) IS NOT NULL AS renewed;
CALL distlock.watch('watch:a', :t, '20 ms');
SELECT distlock.release('watch:a', :t);
CALL distlock.watch('watch:a', :t);
SELECT distlock.try_acquire('watch:a', '1 min') > :t AS got;
CALL distlock.watch('watch:a', :t) \gset
SELECT :token > :t AS tells_next;

-- An expiry that nobody has used is a change.
SELECT distlock.try_acquire('watch:b', '100 ms') AS t, clock_timestamp() AS began \gset
CALL distlock.watch('watch:b', :t);
SELECT clock_timestamp() - :'began' >= '95 ms' AS not_before;

-- Not inside a transaction block, and with sensible arguments.
BEGIN;
CALL distlock.watch('watch:a');
ROLLBACK;
CALL distlock.watch(NULL);
CALL distlock.watch('');
CALL distlock.watch('watch:a', 0, '-1 s');
SET statement_timeout = '100 ms';
CALL distlock.watch('watch:c');
RESET statement_timeout;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
SET default_transaction_isolation = 'repeatable read';
CALL distlock.watch('watch:c', wait => '20 ms');
RESET default_transaction_isolation;
BEGIN READ ONLY; COMMIT;
SET default_transaction_read_only = on;
CALL distlock.watch('watch:c', wait => '20 ms');
RESET default_transaction_read_only;
DO $$DECLARE t bigint; BEGIN
    CALL distlock.watch('watch:a', 0, '1 s', t);
    IF t IS NULL OR t = 0 THEN RAISE 'watch says %', t; END IF;
END$$;

DELETE FROM distlock.lease WHERE name LIKE 'watch:%';
