-- Lock templates: from the row to the lock's name, whatever the columns are called and of whatever type they may be.
\set VERBOSITY sqlstate
SET client_min_messages = warning;
-- The statement's answer under the token of this very lock name: 'ok', or the SQLSTATE. What it did is undone.
CREATE FUNCTION pg_temp.attempt(lock text, statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM distlock.fence(lock, distlock.try_acquire(lock));
    EXECUTE statement;
    RAISE EXCEPTION 'undo' USING ERRCODE = 'UU000';
EXCEPTION WHEN SQLSTATE 'UU000' THEN
    RETURN 'ok';
WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;
CREATE FUNCTION pg_temp.protect(lock text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN distlock.protect('template_t', lock);
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;

-- Types: integers, text, varchar and uuid, domains over them, identity columns; several in one name.
CREATE DOMAIN template_id AS bigint CHECK (VALUE <> 0);
CREATE DOMAIN template_key AS template_id;
CREATE DOMAIN template_code AS varchar(20);
CREATE TYPE template_color AS ENUM ('red');
CREATE TABLE template_t (
    s smallint DEFAULT -7, i int DEFAULT 2147483647, b bigint DEFAULT -9223372036854775808, t text DEFAULT 'Zürich',
    v varchar(30) DEFAULT 'a b ', u uuid DEFAULT 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', d template_key DEFAULT 5,
    c template_code DEFAULT 'X/1', g int GENERATED ALWAYS AS IDENTITY, x text);
SELECT n, left(template, 40) AS template, pg_temp.protect(template) AS protect, pg_temp.attempt(lock, 'INSERT INTO template_t DEFAULT VALUES') AS "this lock",
       pg_temp.attempt(lock || '.', 'INSERT INTO template_t DEFAULT VALUES') AS "another"
FROM (VALUES (1, 'template:{s}', 'template:-7'), (2, 'template:{i}', 'template:2147483647'),
             (3, 'template:{b}', 'template:-9223372036854775808'), (4, 'template:{t}', 'template:Zürich'),
             (5, 'template:{v}', 'template:a b '), (6, 'template:{u}', 'template:a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'),
             (7, 'template:{d}', 'template:5'), (8, 'template:{c}', 'template:X/1'),
             (9, 'template:{s}/{i}:{s}{t}!', 'template:-7/2147483647:-7Zürich!'), (10, '{t}', 'Zürich'), (11, '{c}{d}', 'X/15'),
             (12, 'template', 'template'), (13, 'template:{{i}}', 'template:{i}'),
             (15, 'template:}}{{', 'template:}{'), (16, 'it''s "quoted" \n \\ %s %% $1 é', 'it''s "quoted" \n \\ %s %% $1 é'),
             (17, repeat('x', 512), repeat('x', 512)), (18, repeat('x', 502) || '{i}', repeat('x', 502) || '2147483647')) AS p (n, template, lock)
ORDER BY n;
SELECT lock = repeat('x', 502) || '{i}' AS as_given FROM distlock.protected_tables WHERE table_name = 'template_t';
-- The value of an identity column is known in time.
SELECT pg_temp.protect('template:identity:{g}');
SELECT pg_temp.attempt('template:identity:' || setval('template_t_g_seq', 100) + 1, 'INSERT INTO template_t DEFAULT VALUES') AS "this lock";

-- Session settings do not change a name.
SELECT pg_temp.protect('template:{i}:{u}');
SET extra_float_digits = -3;
SET intervalstyle = 'sql_standard';
SET bytea_output = 'escape';
SELECT pg_temp.attempt('template:2147483647:a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'INSERT INTO template_t DEFAULT VALUES') AS "this lock";
RESET extra_float_digits;
RESET intervalstyle;
RESET bytea_output;

-- NULL names no lock; nor does an empty name or one that is too long.
SELECT pg_temp.protect('template:{x}');
SELECT pg_temp.attempt('template:', 'INSERT INTO template_t DEFAULT VALUES') AS "null", pg_temp.attempt('template:', 'INSERT INTO template_t (x) VALUES ('''')') AS empty,
       pg_temp.attempt('template:', 'INSERT INTO template_t (x) VALUES (repeat(''x'', 504))') AS too_long,
       pg_temp.attempt('template:' || repeat('x', 503), 'INSERT INTO template_t (x) VALUES (repeat(''x'', 503))') AS longest;
SELECT pg_temp.protect('{x}');
SELECT pg_temp.attempt('template:', 'INSERT INTO template_t (x) VALUES ('''')') AS empty;
SELECT distlock.unprotect('template_t');
INSERT INTO template_t (x) VALUES (NULL);
SELECT pg_temp.protect('template:{x}');
SELECT pg_temp.attempt('template:', 'UPDATE template_t SET t = t') AS "null", pg_temp.attempt('template:', 'DELETE FROM template_t') AS "null",
       pg_temp.attempt('template:', 'UPDATE template_t SET x = ''a''') AS "from null";

-- What is no template. Behind a placeholder a brace cannot stand: }} belongs to the column's name there.
SELECT n, left(template, 40) AS template, pg_temp.protect(template) AS protect
FROM (VALUES (1, ''), (2, NULL), (3, '{'), (4, '}'), (5, '{}'), (6, 'a{'), (7, 'a}'), (8, 'a{i'), (9, 'a{i}}'), (10, '{i}{'), (11, '{{i}'),
             (12, '{nope}'), (13, '{I}'), (14, '{ i }'), (15, '{"i"}'), (16, '{i+1}'), (17, '{template_t.i}'), (18, '{ctid}'), (19, '{tableoid}'),
             (20, '{xmin}'), (21, '{1}'), (22, '{{i}}}'), (23, '{{{i}}}'), (24, '{i}}}'), (25, repeat('x', 513)), (26, repeat('é', 257))) AS p (n, template)
ORDER BY n;
-- The one before is still there.
SELECT lock FROM distlock.protected_tables WHERE table_name = 'template_t';

-- Types that render by session settings, or are not for names.
CREATE FUNCTION pg_temp.protect_type(type text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE template_t ADD y %s', type);
    RAISE EXCEPTION '%', pg_temp.protect('template:{y}') USING ERRCODE = 'UU000';
EXCEPTION WHEN SQLSTATE 'UU000' THEN
    RETURN SQLERRM;
WHEN OTHERS THEN
    RETURN 'cannot be made: ' || SQLSTATE;
END $$;
CREATE DOMAIN template_number AS numeric;
SELECT type, pg_temp.protect_type(type) AS protect
FROM (VALUES (1, 'numeric'), (2, 'real'), (3, 'double precision'), (4, 'boolean'), (5, 'date'), (6, 'time'), (7, 'timestamp'), (8, 'timestamptz'),
             (9, 'interval'), (10, 'bytea'), (11, 'json'), (12, 'jsonb'), (13, 'char(10)'), (14, '"char"'), (15, 'name'), (16, 'oid'), (17, 'regclass'),
             (18, 'int[]'), (19, 'text[]'), (20, 'template_color'), (21, 'template_number'), (22, 'inet'), (23, 'money'), (24, 'xid8'),
             (25, 'int4range'), (26, 'int8'), (27, 'int GENERATED ALWAYS AS (i - 1) STORED'), (28, 'text GENERATED ALWAYS AS (t) STORED'),
             (29, 'int'), (30, 'int GENERATED BY DEFAULT AS IDENTITY'), (31, 'text COLLATE "C"'), (32, 'varchar'), (33, 'template_code')) AS p (n, type)
ORDER BY n;
-- Virtual generated columns, since 18.
SELECT CASE WHEN current_setting('server_version_num')::int >= 180000 THEN pg_temp.protect_type('int GENERATED ALWAYS AS (i - 1) VIRTUAL') ELSE '22023' END AS protect;

-- Columns that are renamed, dropped, or change their type after protect: followed, or refused until protect is called again.
SELECT pg_temp.protect('template:{i}');
ALTER TABLE template_t RENAME i TO j;
SELECT pg_temp.attempt('template:2147483647', 'INSERT INTO template_t DEFAULT VALUES') AS renamed;
SELECT pg_temp.protect('template:{i}'), pg_temp.protect('template:{j}');
SELECT pg_temp.attempt('template:2147483647', 'INSERT INTO template_t DEFAULT VALUES') AS again;
-- Another column of that name is that column from then on.
ALTER TABLE template_t RENAME s TO i;
SELECT pg_temp.protect('template:{i}'), pg_temp.attempt('template:-7', 'INSERT INTO template_t DEFAULT VALUES') AS other_column;
ALTER TABLE template_t DROP i;
SELECT pg_temp.attempt('template:-7', 'INSERT INTO template_t DEFAULT VALUES') AS dropped;
ALTER TABLE template_t ADD i numeric DEFAULT 3;
SELECT pg_temp.attempt('template:3', 'INSERT INTO template_t DEFAULT VALUES') AS wrong_type;
ALTER TABLE template_t ALTER i TYPE int;
SELECT pg_temp.attempt('template:3', 'INSERT INTO template_t DEFAULT VALUES') AS right_type;
ALTER TABLE template_t ALTER i TYPE text;
SELECT pg_temp.attempt('template:3', 'INSERT INTO template_t DEFAULT VALUES') AS as_text;
DROP TABLE template_t;

-- Names that need quoting: of schema, table and columns.
CREATE SCHEMA "template's {schema}";
CREATE TABLE "template's {schema}"."Odd ""table"" }{" ("two words" int, "UPPER" text, "quo""te" text, "br{a}ce" text, "}" int, "ümlaut" int, "select" int);
SELECT distlock.protect('"template''s {schema}"."Odd ""table"" }{"', 'template:{two words}:{UPPER}:{quo"te}:{br{a}}ce}:{}}}:{ümlaut}:{select}');
SELECT pg_temp.attempt('template:1:U:q:b:2:3:4', 'INSERT INTO "template''s {schema}"."Odd ""table"" }{" VALUES (1, ''U'', ''q'', ''b'', 2, 3, 4)') AS "this lock",
       pg_temp.attempt('template:1:U:q:b:2:3:5', 'INSERT INTO "template''s {schema}"."Odd ""table"" }{" VALUES (1, ''U'', ''q'', ''b'', 2, 3, 4)') AS "another";
SELECT schema_name, table_name, lock FROM distlock.protected_tables WHERE schema_name LIKE 'template''s%';
SELECT distlock.protect('"template''s {schema}"."Odd ""table"" }{"', 'template:{two words}:{UPPER}:{quo"te}:{br{a}}ce}:{}}}:{ümlaut}:{select}');
SELECT distlock.unprotect('"template''s {schema}"."Odd ""table"" }{"');
DROP SCHEMA "template's {schema}" CASCADE;
-- A column name of 63 bytes.
CREATE TABLE template_t (a123456789b123456789c123456789d123456789e123456789f123456789xyz int);
SELECT pg_temp.protect('template:{a123456789b123456789c123456789d123456789e123456789f123456789xyz}'),
       pg_temp.protect('template:{a123456789b123456789c123456789d123456789e123456789f123456789xyz1}');
SELECT pg_temp.attempt('template:1', 'INSERT INTO template_t VALUES (1)') AS "this lock";

-- Names of two rows are compared as bytes: equal text is the same lock, whatever its collation says.
CREATE COLLATION template_blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
DROP TABLE template_t;
CREATE TABLE template_t (k text COLLATE template_blind PRIMARY KEY, body text);
INSERT INTO template_t VALUES ('a', 'old');
SELECT pg_temp.protect('template:{k}');
SELECT pg_temp.attempt('template:a', 'UPDATE template_t SET k = ''A'' WHERE k = ''A''') AS moves, pg_temp.attempt('template:a', 'UPDATE template_t SET body = ''new'' WHERE k = ''A''') AS stays;
DROP TABLE template_t;
DROP COLLATION template_blind;
DROP DOMAIN template_key, template_id, template_code, template_number;
DROP TYPE template_color;
DELETE FROM distlock.lease WHERE name LIKE 'template%';
