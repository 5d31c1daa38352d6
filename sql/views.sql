-- The SQL surface as the catalogs show it: columns, signatures, comments, storage.
\set VERBOSITY sqlstate

-- The columns of the views are frozen.
SELECT attrelid::regclass AS view, attnum AS n, attname AS column, format_type(atttypid, atttypmod) AS type
FROM pg_attribute
WHERE attrelid = ANY (ARRAY['distlock.locks', 'distlock.waiters', 'distlock.protected_tables']::regclass[]) AND attnum > 0
ORDER BY attrelid::regclass::text, attnum;

-- So are the signatures; one name, one signature.
\pset format unaligned
SELECT proname AS function, pg_get_function_arguments(oid) AS arguments, pg_get_function_result(oid) AS result
FROM pg_proc
WHERE pronamespace = 'distlock'::regnamespace
  AND proname IN ('try_acquire', 'acquire', 'renew', 'release', 'fence', 'is_current', 'fence_check', 'protect', 'unprotect',
                  'holder', 'force_release', 'advance_token', 'prune')
ORDER BY proname;
\pset format aligned
SELECT proname AS overloaded FROM pg_proc WHERE pronamespace = 'distlock'::regnamespace GROUP BY proname HAVING count(*) > 1;

-- No result, and no column of one, that client libraries cannot read: void, name, reg*, interval, anonymous records.
SELECT p.oid::regprocedure AS function, t.typname AS unreadable
FROM pg_proc AS p, LATERAL (
    SELECT p.prorettype AS type WHERE p.proargmodes IS NULL OR NOT p.proargmodes && '{o,b,t}'
    UNION ALL
    SELECT a.type FROM unnest(p.proallargtypes, p.proargmodes) AS a (type, mode) WHERE a.mode IN ('o', 'b', 't')) AS r
JOIN pg_type AS t ON t.oid = r.type
WHERE p.pronamespace = 'distlock'::regnamespace AND p.prokind = 'f'
  AND (t.typname IN ('void', 'name', 'interval', 'record', '_name', '_interval', '_record') OR t.typname LIKE 'reg%' OR t.typname LIKE '\_reg%');

-- VOLATILE, PARALLEL UNSAFE, not STRICT, COST 10000: a planner runs them last and in order. Not so trigger functions, which
-- it never sees, and trigger_arguments, which looks at nothing but its argument.
SELECT oid::regprocedure AS function, provolatile, proparallel, proisstrict, procost
FROM pg_proc
WHERE pronamespace = 'distlock'::regnamespace AND prokind = 'f' AND prorettype <> 'trigger'::regtype
  AND proname <> 'trigger_arguments'
  AND (provolatile, proparallel, proisstrict, procost) <> ('v', 'u', false, 10000);
SELECT oid::regprocedure AS function FROM pg_proc
WHERE pronamespace = 'distlock'::regnamespace AND (prosecdef OR proleakproof OR prosupport <> 0);

-- Everything has a comment.
SELECT pg_describe_object(classid, objid, objsubid) AS without_comment
FROM (SELECT classid, objid, objsubid FROM pg_depend
      WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
        AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'distlock')
        AND classid IN ('pg_proc'::regclass, 'pg_class'::regclass, 'pg_namespace'::regclass)
      UNION ALL
      SELECT 'pg_extension'::regclass, oid, 0 FROM pg_extension WHERE extname = 'distlock'
      UNION ALL
      SELECT 'pg_class'::regclass, a.attrelid, a.attnum FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
      WHERE c.relnamespace = 'distlock'::regnamespace AND c.relkind IN ('r', 'v') AND a.attnum > 0 AND NOT a.attisdropped) AS o
WHERE CASE WHEN objsubid > 0 THEN col_description(objid, objsubid)
           ELSE obj_description(objid, classid::regclass::name) END IS NULL
ORDER BY 1;

-- Storage: logged (B68), no rows from the start (B71), no foreign key (B72), no index but keys, room for heap-only updates
-- (S-76, B55), and a trigger that drops replicated rows.
SELECT relname, relpersistence FROM pg_class
WHERE relnamespace = 'distlock'::regnamespace AND relkind IN ('r', 'S') AND relpersistence <> 'p';
SELECT conname FROM pg_constraint WHERE connamespace = 'distlock'::regnamespace AND contype = 'f';
SELECT indexrelid::regclass AS index, pg_get_indexdef(indexrelid) AS definition
FROM pg_index WHERE indrelid = 'distlock.lease'::regclass;
SELECT option_value::int <= 70 AS roomy FROM pg_class, pg_options_to_table(reloptions)
WHERE oid = 'distlock.lease'::regclass AND option_name = 'fillfactor';
SELECT c.relname AS replicated FROM pg_class AS c
WHERE c.relnamespace = 'distlock'::regnamespace AND c.relkind = 'r'
  AND NOT EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = c.oid AND t.tgenabled = 'R');
-- Live leases are not dumped (B70); the token sequence is.
SELECT 'distlock.lease'::regclass::oid = ANY (extconfig) AS leases_dumped,
       'distlock.token_seq'::regclass::oid = ANY (extconfig) AS tokens_dumped, extrelocatable
FROM pg_extension WHERE extname = 'distlock';
-- A held row always has an end (S-43).
SELECT distlock.try_acquire('views:check') AS token \gset
UPDATE distlock.lease SET expires_at = 'infinity' WHERE name = 'views:check';
UPDATE distlock.lease SET expires_at = NULL WHERE name = 'views:check';
UPDATE distlock.lease SET name = '' WHERE name = 'views:check';
UPDATE distlock.lease SET token = 0 WHERE name = 'views:check';
SELECT distlock.release('views:check', :token);
-- Rows that arrive by replication are dropped.
SELECT distlock.try_acquire('views:replica') AS token \gset
SET session_replication_role = replica;
DELETE FROM distlock.lease WHERE name = 'views:replica';
INSERT INTO distlock.lease SELECT (l).* FROM (SELECT l FROM distlock.lease AS l WHERE name = 'views:replica') AS r;
UPDATE distlock.lease SET token = 1 WHERE name = 'views:replica';
RESET session_replication_role;
SELECT distlock.is_current('views:replica', :token);

-- What the views show.
SELECT distlock.try_acquire('views:held', '1 h', owner => 'worker 7', metadata => '{"pid": 4711}') AS held \gset
SELECT distlock.try_acquire('views:expired', '20 ms') AS expired \gset
SELECT distlock.try_acquire('views:delayed', '20 ms', lock_delay => '1 h') AS delayed \gset
SELECT distlock.try_acquire('views:kept', '1 h', min_hold => '1 h') AS kept \gset
SELECT distlock.release('views:kept', :kept);
SELECT distlock.try_acquire('views:free') AS free \gset
SELECT distlock.release('views:free', :free);
SELECT pg_sleep(0.05);
SELECT name, slot, state, mode, capacity, owner, metadata, remaining_ms > 3500000 AS an_hour, grants, takeovers, session_pid, pinned_by
FROM distlock.locks WHERE name LIKE 'views:%' AND name <> 'views:replica' ORDER BY name COLLATE "C";
SELECT name, state, token = :held AS same_token FROM distlock.holder('views:held');
SELECT count(*) AS rows FROM distlock.holder('views:free');
SELECT count(*) AS rows FROM distlock.holder('views:never');
SELECT count(*) AS waiting FROM distlock.waiters WHERE name LIKE 'views:%';
-- They are as of now, not of the transaction's snapshot, and see what this transaction did.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) AS held FROM distlock.locks WHERE name = 'views:held';
SELECT distlock.release('views:held', :held);
SELECT count(*) AS held FROM distlock.locks WHERE name = 'views:held';
ROLLBACK;
-- They are not for writing.
DELETE FROM distlock.locks;
UPDATE distlock.locks SET owner = 'me';
INSERT INTO distlock.locks (name) VALUES ('views:planted');
-- In SERIALIZABLE they leave no predicate lock for others to trip over.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) AS locks FROM distlock.locks WHERE name = 'views:held';
SELECT count(*) AS locks FROM distlock.holder('views:held');
SELECT count(*) AS waiting FROM distlock.waiters WHERE name = 'views:held';
SELECT count(*) AS predicate_locks FROM pg_locks
WHERE pid = pg_backend_pid() AND mode = 'SIReadLock' AND relation = ANY (ARRAY['distlock.lease', 'distlock.lease_pkey']::regclass[]);
COMMIT;

DELETE FROM distlock.lease WHERE name LIKE 'views:%';
