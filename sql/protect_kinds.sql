-- protect on every kind of table, and what protected_tables says once something about it has changed.
\set VERBOSITY sqlstate
SET client_min_messages = warning;
CREATE VIEW pg_temp.fences AS
SELECT table_name, lock, firing, problems FROM distlock.protected_tables WHERE table_name LIKE 'kinds\_%' ORDER BY table_name COLLATE "C";
SELECT distlock.try_acquire('kinds', '1 h') AS token \gset

-- Partitions added, attached and detached later.
CREATE TABLE kinds_p (id int, region text, fence bigint) PARTITION BY LIST (region);
CREATE TABLE kinds_p_a PARTITION OF kinds_p FOR VALUES IN ('a');
SELECT distlock.protect('kinds_p', 'kinds', token_column => 'fence');
CREATE TABLE kinds_p_b PARTITION OF kinds_p FOR VALUES IN ('b');
CREATE TABLE kinds_p_c (fence bigint, region text, id int);
ALTER TABLE kinds_p ATTACH PARTITION kinds_p_c FOR VALUES IN ('c');
CREATE TABLE kinds_p_d PARTITION OF kinds_p DEFAULT PARTITION BY RANGE (id);
CREATE TABLE kinds_p_d_1 PARTITION OF kinds_p_d DEFAULT;
-- Rows are checked from the start ...
INSERT INTO kinds_p_a VALUES (1, 'a');
INSERT INTO kinds_p_b VALUES (1, 'b');
INSERT INTO kinds_p_c VALUES (NULL, 'c', 1);
INSERT INTO kinds_p_d_1 VALUES (1, 'd');
INSERT INTO kinds_p VALUES (1, 'x');
INSERT INTO kinds_p VALUES (1, 'a', :token), (1, 'b', :token), (1, 'c', :token), (1, 'd', :token);
SELECT tableoid::regclass AS "table", fence FROM kinds_p ORDER BY 1;
-- ... TRUNCATE once protect has been called again. The view says which.
SELECT table_name, problems = '{}' AS sound FROM pg_temp.fences;
SELECT distlock.protect('kinds_p', 'kinds', token_column => 'fence');
SELECT table_name, problems FROM pg_temp.fences;
TRUNCATE kinds_p_d_1;
TRUNCATE kinds_p_c;
TRUNCATE kinds_p;
BEGIN;
SELECT distlock.fence('kinds', :token) = :token AS fenced;
TRUNCATE kinds_p_c;
COMMIT;
-- A detached one is not protected any more, and is shown.
ALTER TABLE kinds_p DETACH PARTITION kinds_p_a;
INSERT INTO kinds_p_a VALUES (2, 'a');
SELECT problems <> '{}' AS shown FROM pg_temp.fences WHERE table_name = 'kinds_p_a';
SELECT distlock.protect('kinds_p_a', 'kinds', token_column => 'fence') IN ('created', 'replaced') AS put_right;
INSERT INTO kinds_p_a VALUES (3, 'a');
SELECT problems FROM pg_temp.fences WHERE table_name = 'kinds_p_a';
-- With a fence of its own it cannot come back by accident.
ALTER TABLE kinds_p ATTACH PARTITION kinds_p_a FOR VALUES IN ('a');
SELECT distlock.unprotect('kinds_p_a');
ALTER TABLE kinds_p ATTACH PARTITION kinds_p_a FOR VALUES IN ('a');
INSERT INTO kinds_p_a VALUES (4, 'a');
SELECT distlock.unprotect('kinds_p');
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'kinds\_%' AND NOT tgisinternal;
INSERT INTO kinds_p VALUES (4, 'a');
DROP TABLE kinds_p;

-- Inheritance: each table has a fence of its own, or none.
CREATE TABLE kinds_base (id int, fence bigint);
CREATE TABLE kinds_child () INHERITS (kinds_base);
CREATE TABLE kinds_grandchild () INHERITS (kinds_child);
INSERT INTO kinds_base VALUES (1);
INSERT INTO kinds_child VALUES (2);
SELECT distlock.protect('kinds_child', 'kinds', token_column => 'fence');
SELECT table_name, problems FROM pg_temp.fences;
UPDATE ONLY kinds_base SET id = 10;
UPDATE kinds_base SET id = id;
DELETE FROM kinds_base;
TRUNCATE kinds_base;
INSERT INTO kinds_grandchild VALUES (3);
UPDATE kinds_base SET id = id + 10, fence = :token WHERE tableoid = 'kinds_child'::regclass;
SELECT tableoid::regclass AS "table", id, fence FROM kinds_base ORDER BY id;
-- A token in a column of an unprotected table stays there: the parent's own rows carry nothing.
UPDATE ONLY kinds_base SET fence = :token;
SELECT count(fence) AS kept FROM ONLY kinds_base;
SELECT distlock.unprotect('kinds_child');
DROP TABLE kinds_base CASCADE;

-- Unlogged and temporary; a temporary one may go at the end of the transaction.
CREATE UNLOGGED TABLE kinds_unlogged (id int, fence bigint);
CREATE TEMPORARY TABLE kinds_temp (id int, fence bigint) ON COMMIT DELETE ROWS;
SELECT distlock.protect(t, 'kinds', token_column => 'fence') FROM (VALUES ('kinds_unlogged'::regclass), ('kinds_temp')) AS p (t);
INSERT INTO kinds_unlogged VALUES (1);
INSERT INTO kinds_temp VALUES (1);
BEGIN;
INSERT INTO kinds_unlogged VALUES (1, :token);
INSERT INTO kinds_temp VALUES (1, :token);
SELECT count(*) AS rows, count(fence) AS tokens FROM kinds_temp;
COMMIT;
-- ON COMMIT DELETE ROWS is no TRUNCATE of anybody's.
SELECT count(*) AS rows FROM kinds_temp;
ALTER TABLE kinds_unlogged SET LOGGED;
UPDATE kinds_unlogged SET id = 2;
UPDATE kinds_unlogged SET id = 2, fence = :token;
BEGIN;
CREATE TEMPORARY TABLE kinds_gone (id int) ON COMMIT DROP;
SELECT distlock.protect('kinds_gone', 'kinds');
COMMIT;
SELECT table_name, problems FROM pg_temp.fences;
DROP TABLE kinds_temp;

-- A copy of the definition has no fence: it is another table, and the view says so.
CREATE TABLE kinds_like (LIKE kinds_unlogged INCLUDING ALL);
INSERT INTO kinds_like VALUES (1, 1);
CREATE TABLE kinds_as AS TABLE kinds_unlogged;
SELECT table_name, problems FROM pg_temp.fences;
DROP TABLE kinds_like, kinds_as, kinds_unlogged;

-- Columns renamed, dropped or changed under the fence: it refuses, and the view says why.
CREATE TABLE kinds_c (id int, key int, fence bigint);
SELECT distlock.protect('kinds_c', 'kinds:{key}', token_column => 'fence');
SELECT distlock.try_acquire('kinds:1', '1 h') AS one \gset
INSERT INTO kinds_c VALUES (1, 1, :one);
ALTER TABLE kinds_c RENAME key TO code;
INSERT INTO kinds_c VALUES (2, 1, :one);
UPDATE kinds_c SET id = 2;
DELETE FROM kinds_c;
TRUNCATE kinds_c;
BEGIN;
SELECT distlock.fence('kinds:1', :one) = :one AS fenced;
DELETE FROM kinds_c;
ROLLBACK;
SELECT problems <> '{}' AS shown FROM pg_temp.fences;
ALTER TABLE kinds_c RENAME code TO key;
INSERT INTO kinds_c VALUES (2, 1, :one);
ALTER TABLE kinds_c RENAME fence TO token;
INSERT INTO kinds_c VALUES (3, 1, :one);
SELECT problems <> '{}' AS shown FROM pg_temp.fences;
-- Another column of the old name is not the one it was.
ALTER TABLE kinds_c ADD fence text;
INSERT INTO kinds_c VALUES (3, 1, NULL, 'x');
SELECT problems <> '{}' AS shown FROM pg_temp.fences;
ALTER TABLE kinds_c DROP fence;
ALTER TABLE kinds_c RENAME token TO fence;
INSERT INTO kinds_c VALUES (3, 1, :one);
ALTER TABLE kinds_c ALTER fence SET DEFAULT 7;
INSERT INTO kinds_c VALUES (4, 1);
SELECT problems <> '{}' AS shown FROM pg_temp.fences;
ALTER TABLE kinds_c ALTER fence DROP DEFAULT;
ALTER TABLE kinds_c ALTER key TYPE numeric;
INSERT INTO kinds_c VALUES (4, 1, :one);
SELECT problems <> '{}' AS shown FROM pg_temp.fences;
ALTER TABLE kinds_c ALTER key TYPE bigint;
INSERT INTO kinds_c VALUES (4, 1, :one);
ALTER TABLE kinds_c DROP key;
INSERT INTO kinds_c VALUES (5, :one);
SELECT problems <> '{}' AS shown FROM pg_temp.fences;
-- protect puts it right.
SELECT distlock.protect('kinds_c', 'kinds', token_column => 'fence');
INSERT INTO kinds_c VALUES (5, :token);
SELECT problems FROM pg_temp.fences;
ALTER TABLE kinds_c DROP fence;
INSERT INTO kinds_c VALUES (6);
SELECT problems <> '{}' AS shown FROM pg_temp.fences;
SELECT distlock.unprotect('kinds_c');
INSERT INTO kinds_c VALUES (6);
SELECT id FROM kinds_c ORDER BY id;

-- Several fences on one table: a write needs the token of each. A column's token belongs to the trigger that names it.
CREATE TABLE kinds_two (id int, a bigint, b bigint);
SELECT distlock.protect('kinds_two', 'kinds', token_column => 'a');
CREATE TRIGGER "~second_fence" BEFORE INSERT OR UPDATE OR DELETE ON kinds_two
    FOR EACH ROW EXECUTE FUNCTION distlock.fence_check('kinds:1', 'live', 'b');
INSERT INTO kinds_two VALUES (1, :token, NULL);
INSERT INTO kinds_two VALUES (1, NULL, :one);
INSERT INTO kinds_two VALUES (1, :one, :token);
INSERT INTO kinds_two VALUES (1, :token, :one);
BEGIN;
SELECT distlock.fence('kinds:1', :one) = :one AS fenced;
UPDATE kinds_two SET id = 2, a = :token;
COMMIT;
TABLE kinds_two;
-- unprotect takes what protect made.
SELECT distlock.unprotect('kinds_two');
SELECT tgname FROM pg_trigger WHERE tgrelid = 'kinds_two'::regclass;
-- Two that share a column: the first one in name order has the token, the other one needs fence().
DROP TRIGGER "~second_fence" ON kinds_two;
CREATE TRIGGER "~1" BEFORE INSERT OR UPDATE OR DELETE ON kinds_two FOR EACH ROW EXECUTE FUNCTION distlock.fence_check('kinds', 'live', 'a');
CREATE TRIGGER "~2" BEFORE INSERT OR UPDATE OR DELETE ON kinds_two FOR EACH ROW EXECUTE FUNCTION distlock.fence_check('kinds:1', 'live', 'a');
UPDATE kinds_two SET id = 3, a = :token;
UPDATE kinds_two SET id = 3, a = :one;
BEGIN;
SELECT distlock.fence('kinds:1', :one) = :one AS fenced;
UPDATE kinds_two SET id = 3, a = :token;
COMMIT;
TABLE kinds_two;

DROP TABLE kinds_c, kinds_two;
DELETE FROM distlock.lease WHERE name LIKE 'kinds%';
