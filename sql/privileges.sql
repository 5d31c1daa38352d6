-- Who may do what: USAGE on the schema is the one grant an application needs; a lease belongs to the role that acquired it.
\set VERBOSITY sqlstate
SET client_min_messages = warning;
CREATE ROLE regress_distlock_app;
CREATE ROLE regress_distlock_member IN ROLE regress_distlock_app;
CREATE ROLE regress_distlock_stranger;
CREATE ROLE regress_distlock_nobody;
GRANT USAGE ON SCHEMA distlock TO regress_distlock_app, regress_distlock_stranger;
RESET client_min_messages;
CREATE FUNCTION pg_temp.attempt(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
    EXECUTE statement INTO answer;
    RETURN coalesce(answer, 'NULL');
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;
CREATE FUNCTION pg_temp.command(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RETURN 'done';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;

-- Without USAGE there is nothing to be had, not even a look.
SET ROLE regress_distlock_nobody;
SELECT distlock.try_acquire('privileges:a');
SELECT distlock.is_current('privileges:a', 1);
SELECT count(*) FROM distlock.locks;
RESET ROLE;

-- With USAGE everything that an application needs works.
SET ROLE regress_distlock_app;
SELECT distlock.try_acquire('privileges:a', '1 h', owner => 'app') AS token \gset
SELECT distlock.acquire('privileges:b') > 0 AS acquired, distlock.renew('privileges:a', :token) IS NOT NULL AS renewed,
       distlock.fence('privileges:a', :token) = :token AS fenced, distlock.is_current('privileges:a', :token);
SELECT role, state FROM distlock.holder('privileges:a');
SELECT count(*) AS seen FROM distlock.locks WHERE name LIKE 'privileges:%';
SELECT count(*) AS waiting FROM distlock.waiters WHERE name LIKE 'privileges:%';
SELECT count(*) AS protected FROM distlock.protected_tables WHERE lock LIKE 'privileges:%';
SELECT distlock.release('privileges:b', token) FROM distlock.holder('privileges:b');

-- Administration is for administrators; what lies beneath is for nobody.
SELECT statement, pg_temp.attempt(statement) AS answer
FROM (VALUES (1, 'SELECT distlock.force_release(''privileges:a'', 1)'), (2, 'SELECT distlock.prune(''0'')'),
             (3, 'SELECT distlock.advance_token(1)'), (4, 'SELECT count(*) FROM distlock.lease'),
             (5, 'SELECT last_value FROM distlock.token_seq'), (6, 'SELECT nextval(''distlock.token_seq'')'),
             (7, 'SELECT currval(''distlock.token_seq'')'), (8, 'SELECT setval(''distlock.token_seq'', 1)')) AS t (n, statement)
ORDER BY n;
SELECT statement, pg_temp.command(statement) AS answer
FROM (VALUES (1, 'INSERT INTO distlock.lease SELECT * FROM distlock.lease'), (2, 'UPDATE distlock.lease SET token = 1'),
             (3, 'DELETE FROM distlock.lease'), (4, 'TRUNCATE distlock.lease'), (5, 'LOCK distlock.lease IN ACCESS SHARE MODE'),
             (6, 'LOCK distlock.lease'), (7, 'ALTER SEQUENCE distlock.token_seq RESTART'), (8, 'DROP SCHEMA distlock CASCADE'),
             (9, 'DROP EXTENSION distlock'), (10, 'CREATE TABLE distlock.planted ()'), (11, 'ALTER TABLE distlock.lease DISABLE TRIGGER ALL'),
             (12, 'ALTER FUNCTION distlock.release(text, bigint) OWNER TO CURRENT_USER'), (13, 'DROP VIEW distlock.locks'),
             (14, 'CREATE TRIGGER t BEFORE INSERT ON distlock.lease EXECUTE FUNCTION distlock.fence_check(''x'')'),
             (15, 'CREATE OR REPLACE FUNCTION distlock.release(name text, token bigint) RETURNS text LANGUAGE sql AS ''SELECT 1::text'''),
             (16, 'GRANT USAGE ON SCHEMA distlock TO regress_distlock_nobody'),
             (17, 'CREATE INDEX ON distlock.lease (expires_at)'), (18, 'VACUUM distlock.lease'), (19, 'ANALYZE distlock.lease')) AS t (n, statement)
WHERE n < 16 OR n = 17 ORDER BY n;
RESET ROLE;
SELECT has_schema_privilege('public', 'distlock', 'USAGE') AS public_usage, has_schema_privilege('public', 'distlock', 'CREATE') AS public_create;
SELECT proname AS not_for_everybody FROM pg_proc
WHERE pronamespace = 'distlock'::regnamespace AND NOT has_function_privilege('public', oid, 'EXECUTE') ORDER BY 1;
SELECT relname, relkind FROM pg_class, LATERAL aclexplode(relacl) AS acl
WHERE relnamespace = 'distlock'::regnamespace AND acl.grantee = 0 AND (relkind <> 'v' OR acl.privilege_type <> 'SELECT');

-- A stranger may know the token: he may not renew, release or write under it, and nothing happens when he tries.
CREATE TEMP VIEW written AS
SELECT name, ctid::text AS place, xmin::text AS made_by, xmax::text AS ended_by FROM distlock.lease WHERE name LIKE 'privileges:%';
CREATE TEMP TABLE before AS TABLE written;
SET ROLE regress_distlock_stranger;
SELECT distlock.try_acquire('privileges:a') IS NULL AS busy;
SELECT distlock.renew('privileges:a', :token);
SELECT distlock.release('privileges:a', :token);
SELECT distlock.fence('privileges:a', :token);
SELECT distlock.is_current('privileges:a', :token);
-- A wrong token is wrong for everybody.
SELECT distlock.renew('privileges:a', :token + 1) IS NULL AS lost, distlock.release('privileges:a', :token + 1);
SELECT distlock.fence('privileges:a', :token + 1);
BEGIN;
SAVEPOINT s;
SELECT distlock.renew('privileges:a', :token);
ROLLBACK TO s;
SELECT distlock.fence('privileges:a', :token);
ROLLBACK TO s;
SELECT count(*) AS locks_kept FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory';
COMMIT;
RESET ROLE;
SELECT count(*) AS changed FROM ((TABLE before EXCEPT TABLE written) UNION ALL (TABLE written EXCEPT TABLE before)) AS d;

-- A member of the role that acquired may, with or without inheriting its rights; the role is no member of its member.
SET ROLE regress_distlock_member;
SELECT distlock.renew('privileges:a', :token) IS NOT NULL AS renewed, distlock.fence('privileges:a', :token) = :token AS fenced;
SELECT distlock.try_acquire('privileges:c') AS members \gset
SELECT role FROM distlock.holder('privileges:c');
SET ROLE regress_distlock_app;
SELECT distlock.renew('privileges:c', :members);
RESET ROLE;
GRANT USAGE ON SCHEMA distlock TO regress_distlock_member;
ALTER ROLE regress_distlock_member NOINHERIT;
SET ROLE regress_distlock_member;
SELECT distlock.renew('privileges:a', :token) IS NOT NULL AS renewed;
RESET ROLE;
ALTER ROLE regress_distlock_member INHERIT;
-- Membership counts when it is asked for, not when it was acquired.
REVOKE regress_distlock_app FROM regress_distlock_member;
SET ROLE regress_distlock_member;
SELECT distlock.renew('privileges:a', :token);
RESET ROLE;
GRANT regress_distlock_app TO regress_distlock_member;
-- A superuser is a member of every role.
SELECT distlock.renew('privileges:a', :token) IS NOT NULL AS renewed;

-- Inside SECURITY DEFINER functions the caller counts, not the function's owner: on both sides.
CREATE FUNCTION public.privileges_renew(name text, token bigint) RETURNS timestamptz LANGUAGE sql SECURITY DEFINER
AS 'SELECT distlock.renew(name, token)';
CREATE FUNCTION public.privileges_acquire(name text) RETURNS bigint LANGUAGE sql SECURITY DEFINER
AS 'SELECT distlock.try_acquire(name)';
SET ROLE regress_distlock_stranger;
SELECT public.privileges_renew('privileges:a', :token);
SELECT public.privileges_acquire('privileges:d') AS strangers \gset
SELECT role FROM distlock.holder('privileges:d');
SELECT distlock.release('privileges:d', :strangers);
SET ROLE regress_distlock_app;
SELECT public.privileges_renew('privileges:a', :token) IS NOT NULL AS renewed;
RESET ROLE;

-- The fence of a table: the owner puts it there, without being a superuser.
CREATE TABLE privileges_work (id int PRIMARY KEY, body text, fence bigint);
ALTER TABLE privileges_work OWNER TO regress_distlock_stranger;
SET ROLE regress_distlock_app;
SELECT distlock.protect('privileges_work', 'privileges:a');
SELECT distlock.unprotect('privileges_work');
SET ROLE regress_distlock_stranger;
SELECT distlock.protect('privileges_work', 'privileges:a', token_column => 'fence');
GRANT ALL ON privileges_work TO regress_distlock_app;
-- It checks the writer: the owner of the table, who has not acquired, is refused even with the right token.
INSERT INTO privileges_work VALUES (1, 'stranger', :token);
SET ROLE regress_distlock_app;
SELECT distlock.unprotect('privileges_work');
INSERT INTO privileges_work VALUES (1, 'app', :token);
-- A function of the owner's, called by the holder, writes as the holder.
SET ROLE regress_distlock_stranger;
CREATE FUNCTION pg_temp.write(id int, token bigint) RETURNS void LANGUAGE sql SECURITY DEFINER
AS 'INSERT INTO public.privileges_work VALUES (id, ''by function'', token)';
SELECT pg_temp.write(2, :token);
SET ROLE regress_distlock_app;
SELECT pg_temp.write(2, :token);
RESET ROLE;
SELECT id, body, fence FROM privileges_work ORDER BY id;

-- The error fields that programs read: schema, table and trigger of LK001 and LK002, and always facts in the detail.
CREATE FUNCTION pg_temp.fields(statement text)
RETURNS TABLE (state text, schema_name text, table_name text, constraint_name text, detail boolean, hint boolean) LANGUAGE plpgsql AS $$
DECLARE detail_text text; hint_text text;
BEGIN
    EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state := RETURNED_SQLSTATE, schema_name := SCHEMA_NAME, table_name := TABLE_NAME,
        constraint_name := CONSTRAINT_NAME, detail_text := PG_EXCEPTION_DETAIL, hint_text := PG_EXCEPTION_HINT;
    detail := detail_text <> '';
    hint := hint_text <> '';
    RETURN NEXT;
END $$;
SELECT * FROM pg_temp.fields('INSERT INTO privileges_work VALUES (3, ''none'', NULL)');
SELECT * FROM pg_temp.fields('INSERT INTO privileges_work VALUES (3, ''stale'', 1)');
SELECT * FROM pg_temp.fields('DELETE FROM privileges_work');
SELECT * FROM pg_temp.fields('TRUNCATE privileges_work');
SELECT * FROM pg_temp.fields('SELECT distlock.fence(''privileges:a'', 1)');
SET ROLE regress_distlock_stranger;
SELECT * FROM pg_temp.fields(format('INSERT INTO privileges_work VALUES (3, ''stranger'', %s)', :token));
SELECT * FROM pg_temp.fields(format('SELECT distlock.renew(''privileges:a'', %s)', :token));
RESET ROLE;
SELECT statement, f.* FROM (VALUES
    (1, 'SELECT distlock.acquire(''privileges:a'', wait => ''0'')'), (2, 'SELECT distlock.try_acquire(NULL)'),
    (3, 'SELECT distlock.try_acquire('''')'), (4, 'SELECT distlock.try_acquire(''x'', ''0'')'),
    (5, 'SELECT distlock.try_acquire(''x'', ''2 days'')'), (6, 'SELECT distlock.try_acquire(''x'', ''1 month'')'),
    (7, 'SELECT distlock.try_acquire(''x'', wait => ''-1 s'')'), (8, 'SELECT distlock.try_acquire(''x'', wait => ''1 h'')'),
    (9, 'SELECT distlock.try_acquire(''x'', mode => ''write'')'), (10, 'SELECT distlock.renew(''x'', NULL)'),
    (11, 'SELECT distlock.protect(''pg_class'', ''x'')'), (12, 'SELECT distlock.protect(''privileges_work'', ''{nope}'')'),
    (13, 'SELECT distlock.protect(''privileges_work'', ''{'')'), (14, 'SELECT distlock.protect(''privileges_work'', ''x'', ''dead'')'),
    (15, 'SELECT distlock.protect(''privileges_work'', ''x'', token_column => ''body'')'),
    (16, 'SELECT distlock.protect(NULL, ''x'')'), (17, 'SELECT distlock.protect(''privileges_work'', NULL)'),
    (18, 'SELECT distlock.advance_token(9223372036854775807)')) AS t (n, statement), pg_temp.fields(statement) AS f
ORDER BY n;

-- A role that is dropped leaves its leases to their end; a superuser can break them.
SET ROLE regress_distlock_app;
SELECT distlock.try_acquire('privileges:e', '1 h') AS orphan \gset
RESET ROLE;
DROP TABLE privileges_work;
DROP FUNCTION public.privileges_renew, public.privileges_acquire, pg_temp.write;
REVOKE USAGE ON SCHEMA distlock FROM regress_distlock_app, regress_distlock_member, regress_distlock_stranger;
DROP ROLE regress_distlock_app, regress_distlock_member, regress_distlock_stranger, regress_distlock_nobody;
SELECT role, state FROM distlock.holder('privileges:e');
SELECT distlock.force_release('privileges:e', :orphan);

DELETE FROM distlock.lease WHERE name LIKE 'privileges:%';
