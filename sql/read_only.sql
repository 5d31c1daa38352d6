-- Read-only transactions: what writes is refused with 25006, looking works (B62).
\set VERBOSITY sqlstate
SELECT distlock.try_acquire('read_only:a') AS token \gset
CREATE TABLE read_only_work (id int);

BEGIN READ ONLY;
SAVEPOINT s;
SELECT distlock.try_acquire('read_only:b');
ROLLBACK TO s;
-- Also where it would have been a plain no.
SELECT distlock.try_acquire('read_only:a');
ROLLBACK TO s;
SELECT distlock.acquire('read_only:b');
ROLLBACK TO s;
SELECT distlock.acquire('read_only:a', wait => '1 s');
ROLLBACK TO s;
SELECT distlock.renew('read_only:a', :token);
ROLLBACK TO s;
SELECT distlock.release('read_only:a', :token);
ROLLBACK TO s;
SELECT distlock.release('read_only:a', 1);
ROLLBACK TO s;
SELECT distlock.force_release('read_only:a', :token);
ROLLBACK TO s;
SELECT distlock.prune('0');
ROLLBACK TO s;
SELECT distlock.advance_token(1);
ROLLBACK TO s;
SELECT distlock.protect('read_only_work', 'read_only:a');
ROLLBACK TO s;
SELECT distlock.is_current('read_only:a', :token);
SELECT state, token = :token AS same_token FROM distlock.holder('read_only:a');
SELECT state FROM distlock.locks WHERE name = 'read_only:a';
SELECT count(*) AS waiters FROM distlock.waiters WHERE name LIKE 'read_only:%';
SELECT count(*) AS protected FROM distlock.protected_tables WHERE table_name = 'read_only_work';
-- fence takes a lock and writes nothing: a reader may want its result pinned.
SELECT distlock.fence('read_only:a', :token) = :token AS fenced;
COMMIT;

SET default_transaction_read_only = on;
SELECT distlock.try_acquire('read_only:c');
SELECT distlock.renew('read_only:a', :token);
RESET default_transaction_read_only;

-- Nothing has changed.
SELECT distlock.renew('read_only:a', :token) IS NOT NULL AS renewed;
SELECT count(*) AS locks FROM distlock.locks WHERE name LIKE 'read_only:%';
DROP TABLE read_only_work;
DELETE FROM distlock.lease WHERE name LIKE 'read_only:%';
