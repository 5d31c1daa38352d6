-- Installed by a database owner who is no superuser, in a database of its own; and what keeps it from being installed.
\set VERBOSITY sqlstate
SET client_min_messages = warning;
SELECT current_database() AS home \gset
CREATE ROLE regress_distlock_dba;
CREATE ROLE regress_distlock_user;
CREATE ROLE regress_distlock_ops;
CREATE ROLE regress_distlock_thief;
CREATE DATABASE regress_distlock_install TEMPLATE template0 OWNER regress_distlock_dba;
\c regress_distlock_install
SET client_min_messages = warning;

-- Somebody else with CREATE on the database has planted a schema of that name, with a function in it: refused, nothing adopted (B82).
GRANT CREATE ON DATABASE regress_distlock_install TO regress_distlock_thief;
SET ROLE regress_distlock_thief;
CREATE SCHEMA distlock;
CREATE FUNCTION distlock.try_acquire(name text, ttl interval) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
CREATE TABLE distlock.lease (name text);
RESET ROLE;
SET ROLE regress_distlock_dba;
CREATE EXTENSION distlock;
RESET ROLE;
-- A superuser is no better off.
CREATE EXTENSION distlock;
SELECT count(*) AS installed FROM pg_extension WHERE extname = 'distlock';
DROP SCHEMA distlock CASCADE;
-- Functions and operators in the search_path are not picked up by the script (B83).
SET ROLE regress_distlock_thief;
CREATE SCHEMA planted;
CREATE FUNCTION planted.current_database() RETURNS name LANGUAGE sql AS 'SELECT ''planted''::name';
CREATE FUNCTION planted.octet_length(text) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION planted.array_remove(text[], text) RETURNS text[] LANGUAGE sql AS 'SELECT ''{planted}''::text[]';
CREATE FUNCTION planted.differs(int, int) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR planted.<> (LEFTARG = int, RIGHTARG = int, FUNCTION = planted.differs);
GRANT USAGE ON SCHEMA planted TO public;
RESET ROLE;

-- Its schema is fixed (B87).
SET ROLE regress_distlock_dba;
CREATE SCHEMA foo;
CREATE EXTENSION distlock SCHEMA foo;
CREATE EXTENSION distlock SCHEMA public;
CREATE EXTENSION distlock VERSION '0';
-- Not everybody may: CREATE on the database is what it takes.
SET ROLE regress_distlock_user;
CREATE EXTENSION distlock;
SET ROLE regress_distlock_dba;
SET search_path = planted, public, pg_catalog;
CREATE EXTENSION distlock;
RESET search_path;
ALTER EXTENSION distlock SET SCHEMA foo;
CREATE EXTENSION distlock;
SELECT pg_describe_object(classid, objid, objsubid) AS depends_on_planted FROM pg_depend
WHERE refclassid = 'pg_proc'::regclass AND refobjid IN (SELECT oid FROM pg_proc WHERE pronamespace = 'planted'::regnamespace)
  AND NOT (classid = 'pg_operator'::regclass);
SELECT n.nspname AS schema, pg_get_userbyid(n.nspowner) AS owner, pg_get_userbyid(e.extowner) AS extension_owner
FROM pg_namespace AS n, pg_extension AS e WHERE n.nspname = 'distlock' AND e.extname = 'distlock';

-- The owner grants what an application needs: one thing; the application uses everything.
SET ROLE regress_distlock_user;
SELECT distlock.try_acquire('installation:a');
SET ROLE regress_distlock_dba;
GRANT USAGE ON SCHEMA distlock TO regress_distlock_user, regress_distlock_ops;
GRANT CREATE ON SCHEMA public TO regress_distlock_user;
SET ROLE regress_distlock_user;
SELECT distlock.try_acquire('installation:a', '1 h') AS token \gset
SELECT distlock.renew('installation:a', :token) IS NOT NULL AS renewed, distlock.is_current('installation:a', :token);
CREATE TABLE installation_work (id int, body text, fence bigint);
SELECT distlock.protect('installation_work', 'installation:a', token_column => 'fence');
INSERT INTO installation_work VALUES (1, 'no token');
INSERT INTO installation_work VALUES (1, 'token', :token);
BEGIN;
SELECT distlock.fence('installation:a', :token) = :token AS fenced;
UPDATE installation_work SET body = 'fenced';
COMMIT;
SELECT table_name, problems FROM distlock.protected_tables;
SELECT name, state, role FROM distlock.locks;
SELECT count(*) AS waiters FROM distlock.waiters;
SELECT distlock.unprotect('installation_work');
SELECT distlock.force_release('installation:a', :token);

-- The owner administers, without being a member of the application's role, and lets others.
SET ROLE regress_distlock_dba;
SELECT distlock.renew('installation:a', :token);
SELECT distlock.release('installation:a', :token);
SELECT distlock.advance_token(:token + 1000) >= :token + 1000 AS advanced;
GRANT EXECUTE ON FUNCTION distlock.force_release, distlock.prune TO regress_distlock_ops;
SET ROLE regress_distlock_ops;
SELECT distlock.force_release('installation:a', :token);
SELECT distlock.prune('0') >= 0 AS pruned;
SELECT distlock.advance_token(1);
SET ROLE regress_distlock_user;
SELECT distlock.renew('installation:a', :token) IS NULL AS lost;
SELECT distlock.try_acquire('installation:a') > :token + 1000 AS got;
SET ROLE regress_distlock_dba;
SELECT distlock.force_release('installation:a', token) FROM distlock.holder('installation:a');
REVOKE EXECUTE ON FUNCTION distlock.force_release, distlock.prune FROM regress_distlock_ops;
-- What is underneath is not even the owner's to write.
DELETE FROM distlock.lease;
INSERT INTO distlock.lease (name) VALUES ('x');
ALTER TABLE distlock.lease ADD planted int;
CREATE OR REPLACE FUNCTION distlock.release(name text, token bigint) RETURNS text LANGUAGE sql AS 'SELECT 1::text';
-- The database's privileges do not let others take its place.
SET ROLE regress_distlock_thief;
CREATE TABLE distlock.planted ();
DROP EXTENSION distlock;
ALTER SCHEMA distlock RENAME TO mine;

-- The tokens end at 2^53, with an error that leaves nothing behind.
RESET ROLE;
SELECT distlock.advance_token(9007199254740991);
SELECT distlock.try_acquire('installation:end');
BEGIN;
SAVEPOINT s;
SELECT distlock.try_acquire('installation:end');
ROLLBACK TO s;
SELECT count(*) AS locks_kept FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory';
COMMIT;
SELECT count(*) AS rows FROM distlock.lease WHERE name = 'installation:end';

-- Dropped and installed again, in one session: nothing is remembered, and DROP does not go unnoticed by protected tables.
SET ROLE regress_distlock_user;
SELECT distlock.protect('installation_work', 'installation:a');
SET ROLE regress_distlock_dba;
DROP EXTENSION distlock;
DROP EXTENSION distlock CASCADE;
SELECT count(*) AS schemas FROM pg_namespace WHERE nspname = 'distlock';
INSERT INTO installation_work VALUES (2, 'unprotected');
SET ROLE regress_distlock_user;
INSERT INTO installation_work VALUES (2, 'unprotected');
SET ROLE regress_distlock_dba;
CREATE EXTENSION distlock;
SELECT distlock.try_acquire('installation:a') AS token \gset
SELECT distlock.is_current('installation:a', :token), state FROM distlock.holder('installation:a');
SELECT distlock.release('installation:a', :token);
RESET ROLE;

-- Another database has other locks.
\c :home
SET client_min_messages = warning;
SELECT count(*) AS locks FROM distlock.locks WHERE name LIKE 'installation:%';
DROP DATABASE regress_distlock_install;
DROP ROLE regress_distlock_dba, regress_distlock_user, regress_distlock_ops, regress_distlock_thief;
