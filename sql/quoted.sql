-- Names that need quotes, everywhere they may stand: schemas, tables, columns, roles, lock names, values with braces.
\set VERBOSITY sqlstate
SET client_min_messages = warning;
CREATE SCHEMA "Quoted ""S"".x";
CREATE TABLE "Quoted ""S"".x"."T {a} 'b' \c" ("Id" int, "id" int, "select" text, "a}b" text, "{x}" text, "ü ö" uuid, "fe""n'ce" bigint, PRIMARY KEY ("Id"));
SELECT '"Quoted ""S"".x"."T {a} ''b'' \c"' AS t \gset

-- The template: a column's exact name, with }} for a } in it; an opening brace stands for itself there.
SELECT distlock.protect(:'t', 'quoted:{Id}', token_column => 'fe"n''ce');
SELECT distlock.try_acquire('quoted:1') AS token \gset
INSERT INTO :t VALUES (1, 2, 'x', 'y', 'z', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', :token);
INSERT INTO :t VALUES (1, 2);
SELECT distlock.protect(:'t', 'quoted:{id}', token_column => 'fe"n''ce');
UPDATE :t SET "select" = 'other', "fe""n'ce" = :token;
SELECT distlock.protect(:'t', 'quoted:{"Id"}');
SELECT distlock.protect(:'t', 'quoted:{ID}');
SELECT distlock.protect(:'t', 'quoted:{Id}', token_column => '"fe""n''ce"');
-- All of them in one name.
SELECT distlock.protect(:'t', '{{q}}:{Id}/{id}/{select}/{a}}b}/{{x}}/{ü ö}', token_column => 'fe"n''ce');
SELECT distlock.protect(:'t', '{{q}}:{Id}/{id}/{select}/{a}}b}/{ü ö}', token_column => 'fe"n''ce');
SELECT distlock.try_acquire('{q}:1/2/x/y/a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11') AS token \gset
UPDATE :t SET "{x}" = 'written', "fe""n'ce" = :token;
SELECT "{x}", "fe""n'ce" FROM :t;
-- Values with braces, quotes and backslashes are taken as they are, and are no template again.
SELECT distlock.protect(:'t', 'quoted:{select}', token_column => 'fe"n''ce');
SELECT distlock.try_acquire(n) AS token, n AS name FROM (VALUES ('quoted:{Id} }}{{ '' " \ %s $1 :')) AS v (n) \gset
INSERT INTO :t ("Id", "select", "fe""n'ce") VALUES (3, substr(:'name', 8), :token);
UPDATE :t SET "{x}" = 'braces', "fe""n'ce" = :token WHERE "Id" = 3;
SELECT substr(:'name', 8) = "select" AS as_given, "{x}", "fe""n'ce" FROM :t WHERE "Id" = 3;
SELECT name = :'name' AS shown FROM distlock.holder(:'name');
-- The view, and the way back.
SELECT schema_name, table_name, lock, token_column, problems FROM distlock.protected_tables WHERE schema_name LIKE 'Quoted%';
-- always, on a name that needs quotes, and a partition of such a name.
SELECT distlock.protect(:'t', 'quoted:{select}', token_column => 'fe"n''ce', always => true);
SELECT firing FROM distlock.protected_tables WHERE schema_name LIKE 'Quoted%';
CREATE TABLE "Quoted ""S"".x"."P ""1""" ("K k" text) PARTITION BY LIST ("K k");
CREATE TABLE "Quoted ""S"".x"."P ""2""" PARTITION OF "Quoted ""S"".x"."P ""1""" FOR VALUES IN ('a"b');
SELECT distlock.protect('"Quoted ""S"".x"."P ""1"""', 'quoted:{K k}');
TRUNCATE "Quoted ""S"".x"."P ""2""";
INSERT INTO "Quoted ""S"".x"."P ""1""" VALUES ('a"b');
SELECT distlock.try_acquire('quoted:a"b') AS token \gset
BEGIN;
SELECT distlock.fence('quoted:a"b', :token) = :token AS fenced;
INSERT INTO "Quoted ""S"".x"."P ""1""" VALUES ('a"b');
COMMIT;
SELECT distlock.unprotect('"Quoted ""S"".x"."P ""1"""');
SELECT distlock.unprotect(:'t');
SELECT count(*) AS fences FROM distlock.protected_tables WHERE schema_name LIKE 'Quoted%';

-- A search_path that hides the catalog and distlock's names changes nothing.
CREATE FUNCTION "Quoted ""S"".x".quote_ident(text) RETURNS text LANGUAGE sql AS 'SELECT ''hidden''';
CREATE TABLE "Quoted ""S"".x".lease (id int);
SET search_path = "Quoted ""S"".x", pg_catalog;
SELECT distlock.protect('lease', 'quoted:lease');
SELECT distlock.protect('lease', 'quoted:lease');
INSERT INTO lease VALUES (1);
SELECT distlock.try_acquire('quoted:lease') AS token \gset
BEGIN;
SELECT distlock.fence('quoted:lease', :token) = :token AS fenced;
INSERT INTO lease VALUES (1);
COMMIT;
SELECT distlock.unprotect('lease');
RESET search_path;

DROP SCHEMA "Quoted ""S"".x" CASCADE;
DELETE FROM distlock.lease WHERE name LIKE 'quoted:%' OR name LIKE '{q}:%';
