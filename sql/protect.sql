-- protect and unprotect: what may be protected, by whom, and what a second call does.
\set VERBOSITY sqlstate
SET client_min_messages = warning;
CREATE VIEW pg_temp.fences AS
SELECT table_name, lock, mode, token_column, firing, problems FROM distlock.protected_tables WHERE table_name LIKE 'protect\_%' ORDER BY table_name COLLATE "C";
CREATE TABLE protect_a (id int PRIMARY KEY, body text, fence bigint, other bigint);

-- The first time, again, and otherwise.
SELECT distlock.protect('protect_a', 'protect:{id}');
SELECT distlock.protect('protect_a', 'protect:{id}');
SELECT distlock.protect('protect_a', 'protect:{id}', 'live', NULL, false);
SELECT distlock.protect('protect_a', 'protect:{id}', mode => NULL, token_column => '', always => NULL);
TABLE pg_temp.fences;
SELECT distlock.protect('protect_a', 'protect:all');
SELECT distlock.protect('protect_a', 'protect:all', 'live_strict');
SELECT distlock.protect('protect_a', 'protect:all', 'live_strict', 'fence');
SELECT distlock.protect('protect_a', 'protect:all', 'live_strict', 'other');
SELECT distlock.protect('protect_a', 'protect:all', 'live_strict', 'other', true);
TABLE pg_temp.fences;
SELECT distlock.protect('protect_a', 'protect:all', 'live_strict', 'other', true);
SELECT distlock.protect('protect_a', 'protect:{id}');
-- What was changed by hand is put right again.
ALTER TABLE protect_a DISABLE TRIGGER "~distlock_fence";
SELECT distlock.protect('protect_a', 'protect:{id}');
ALTER TABLE protect_a DISABLE TRIGGER USER;
SELECT distlock.protect('protect_a', 'protect:{id}');
DROP TRIGGER "~distlock_fence_truncate" ON protect_a;
SELECT distlock.protect('protect_a', 'protect:{id}');
DROP TRIGGER "~distlock_fence" ON protect_a;
SELECT distlock.protect('protect_a', 'protect:{id}') IN ('created', 'replaced') AS put_right;
ALTER TABLE protect_a ENABLE REPLICA TRIGGER "~distlock_fence";
SELECT distlock.protect('protect_a', 'protect:{id}');
TABLE pg_temp.fences;
SELECT tgname, pg_get_triggerdef(oid) LIKE '%distlock.fence_check(''protect:{id}'', ''live'', '''')' AS arguments
FROM pg_trigger WHERE tgrelid = 'protect_a'::regclass AND NOT tgisinternal ORDER BY tgname;
INSERT INTO protect_a VALUES (1);
-- In a transaction, and back.
BEGIN;
SELECT distlock.unprotect('protect_a');
INSERT INTO protect_a VALUES (1);
SELECT distlock.protect('protect_a', 'protect:new');
INSERT INTO protect_a VALUES (2);
ROLLBACK;
SELECT lock FROM pg_temp.fences;
SELECT distlock.unprotect('protect_a');
SELECT distlock.unprotect('protect_a');
INSERT INTO protect_a VALUES (1);
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'protect_a'::regclass AND NOT tgisinternal;

-- NULL arguments, a table that is none, an unknown mode.
SELECT distlock.protect(NULL, 'protect:x');
SELECT distlock.protect('protect_a', NULL);
SELECT distlock.unprotect(NULL);
SELECT distlock.protect('protect_nope', 'protect:x');
SELECT distlock.protect(0, 'protect:x');
SELECT distlock.unprotect(4294967295);
SELECT distlock.protect('protect_a', '');
SELECT distlock.protect('protect_a', 'protect:x', 'dead');
SELECT distlock.protect('protect_a', 'protect:x', 'LIVE');
SELECT distlock.protect('protect_a', 'protect:x', '');
SELECT distlock.protect('protect_a', 'protect:x', 'row');

-- Only what stores rows of the application.
CREATE VIEW protect_view AS TABLE protect_a;
CREATE MATERIALIZED VIEW protect_matview AS TABLE protect_a;
CREATE SEQUENCE protect_sequence;
CREATE TYPE protect_type AS (id int);
CREATE FOREIGN DATA WRAPPER regress_distlock_wrapper;
CREATE SERVER regress_distlock_server FOREIGN DATA WRAPPER regress_distlock_wrapper;
CREATE FOREIGN TABLE protect_foreign (id int) SERVER regress_distlock_server;
SELECT distlock.protect('protect_view', 'protect:x');
SELECT distlock.protect('protect_matview', 'protect:x');
SELECT distlock.protect('protect_sequence', 'protect:x');
SELECT distlock.protect('protect_type', 'protect:x');
SELECT distlock.protect('protect_foreign', 'protect:x');
SELECT distlock.protect('protect_a_pkey', 'protect:x');
SELECT distlock.protect('pg_class', 'protect:x');
SELECT distlock.protect('pg_catalog.pg_authid', 'protect:x');
SELECT distlock.protect(reltoastrelid::regclass, 'protect:x') FROM pg_class WHERE oid = 'protect_a'::regclass;
SELECT distlock.protect('distlock.lease', 'protect:x');
SELECT distlock.protect('distlock.locks', 'protect:x');
SELECT distlock.protect('distlock.token_seq', 'protect:x');
SELECT count(*) AS fences FROM distlock.protected_tables WHERE lock = 'protect:x';

CREATE TABLE protect_parted (id int, body text, fence bigint) PARTITION BY RANGE (id);
CREATE TABLE protect_parted_1 PARTITION OF protect_parted FOR VALUES FROM (1) TO (10);
SELECT distlock.protect('protect_parted', 'protect:{id}');
-- A partition of a protected table is protected with it.
SELECT distlock.protect('protect_parted_1', 'protect:{id}');
SELECT distlock.protect('protect_parted_1', 'protect:other');
-- A partition alone may be protected; its parent then not, until that one is given up.
SELECT distlock.unprotect('protect_parted');
SELECT distlock.protect('protect_parted_1', 'protect:one');
SELECT distlock.protect('protect_parted', 'protect:{id}');
SELECT distlock.unprotect('protect_parted_1');
SELECT distlock.protect('protect_parted', 'protect:{id}');
TABLE pg_temp.fences;

-- Temporary and unlogged tables are tables.
CREATE TEMP TABLE protect_temp (id int);
CREATE UNLOGGED TABLE protect_unlogged (id int);
SELECT distlock.protect('protect_temp', 'protect:{id}');
SELECT distlock.protect('protect_unlogged', 'protect:{id}');
INSERT INTO protect_temp VALUES (1);
INSERT INTO protect_unlogged VALUES (1);
SELECT distlock.try_acquire('protect:1') AS token \gset
BEGIN;
SELECT distlock.fence('protect:1', :token) = :token AS fenced;
INSERT INTO protect_temp VALUES (1);
INSERT INTO protect_unlogged VALUES (1);
COMMIT;

-- The token column: bigint, nullable, without default, generated by nobody, and NULL in every row.
CREATE TABLE protect_column (id int PRIMARY KEY, ok bigint, "odd }{""name" bigint, small int, number numeric, words text, with_default bigint DEFAULT 0,
    null_default bigint DEFAULT NULL, required bigint NOT NULL, generated bigint GENERATED ALWAYS AS (id) STORED, identity bigint GENERATED BY DEFAULT AS IDENTITY,
    filled bigint, gone bigint);
ALTER TABLE protect_column DROP gone;
INSERT INTO protect_column (id, required, filled) VALUES (1, 1, NULL), (2, 1, 5), (3, 1, NULL);
CREATE FUNCTION pg_temp.with_column(token_column text, mode text DEFAULT 'live') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN distlock.protect('protect_column', 'protect:{id}', mode, token_column);
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;
SELECT token_column, pg_temp.with_column(token_column) AS live, pg_temp.with_column(token_column, 'live_strict') AS live_strict, pg_temp.with_column(token_column, 'row') AS row
FROM (VALUES (1, 'ok'), (2, 'odd }{"name'), (3, 'small'), (4, 'number'), (5, 'words'), (6, 'with_default'), (7, 'required'), (8, 'generated'), (9, 'identity'),
             (10, 'filled'), (11, 'gone'), (12, 'nope'), (13, 'OK'), (14, '"ok"'), (15, 'id'), (16, 'ctid'), (17, 'tableoid'), (18, 'xmin')) AS c (n, token_column)
ORDER BY n;
-- DEFAULT NULL is no default.
SELECT pg_temp.with_column('null_default') IN ('created', 'replaced') AS protected;
-- The last one that was right is in force.
SELECT distlock.protect('protect_column', 'protect:{id}', token_column => 'ok');
SELECT distlock.unprotect('protect_column');
UPDATE protect_column SET filled = NULL;
SELECT distlock.protect('protect_column', 'protect:{id}', token_column => 'filled');
-- Filled rows of a partition count, too.
SELECT distlock.unprotect('protect_parted');
INSERT INTO protect_parted VALUES (1, 'filled', 7);
SELECT distlock.protect('protect_parted', 'protect:{id}', token_column => 'fence');
UPDATE protect_parted SET fence = NULL;
SELECT distlock.protect('protect_parted', 'protect:{id}', token_column => 'fence');

-- A column hidden by row security is not overlooked.
CREATE ROLE regress_distlock_protect;
GRANT USAGE ON SCHEMA distlock TO regress_distlock_protect;
CREATE TABLE protect_rls (id int, fence bigint);
INSERT INTO protect_rls VALUES (1, 5);
ALTER TABLE protect_rls OWNER TO regress_distlock_protect;
ALTER TABLE protect_rls ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SET ROLE regress_distlock_protect;
SELECT count(*) AS visible FROM protect_rls;
DO $$
BEGIN
    PERFORM distlock.protect('protect_rls', 'protect:{id}', token_column => 'fence');
EXCEPTION WHEN invalid_parameter_value OR insufficient_privilege THEN
    NULL;
END $$;
RESET ROLE;
SELECT count(*) AS protected FROM pg_temp.fences WHERE table_name = 'protect_rls';

-- Who: the owner, or a member of the owning role; nobody else, not even with all rights on the table.
CREATE TABLE protect_owned (id int);
GRANT ALL ON protect_owned TO regress_distlock_protect;
SET ROLE regress_distlock_protect;
SELECT distlock.protect('protect_owned', 'protect:{id}');
SELECT distlock.unprotect('protect_owned');
SELECT distlock.unprotect('protect_a');
RESET ROLE;
ALTER TABLE protect_owned OWNER TO regress_distlock_protect;
SET ROLE regress_distlock_protect;
SELECT distlock.protect('protect_owned', 'protect:{id}');
SELECT distlock.unprotect('protect_owned');
SELECT distlock.protect('protect_owned', 'protect:{id}');
RESET ROLE;

-- A planted operator, table or function on the search_path is not used.
CREATE SCHEMA protect_planted;
CREATE FUNCTION protect_planted.fence_check() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
SET search_path = protect_planted, public, pg_catalog;
SELECT distlock.protect('public.protect_a', 'protect:{id}', token_column => 'fence');
RESET search_path;
SELECT tgfoid::regproc AS function, count(*) FROM pg_trigger WHERE tgrelid = 'protect_a'::regclass AND NOT tgisinternal GROUP BY 1;
DROP SCHEMA protect_planted CASCADE;

DROP TABLE protect_a, protect_parted, protect_temp, protect_unlogged, protect_column, protect_owned, protect_rls CASCADE;
DROP FOREIGN DATA WRAPPER regress_distlock_wrapper CASCADE;
DROP SEQUENCE protect_sequence;
DROP TYPE protect_type;
REVOKE USAGE ON SCHEMA distlock FROM regress_distlock_protect;
DROP ROLE regress_distlock_protect;
DELETE FROM distlock.lease WHERE name LIKE 'protect:%';
