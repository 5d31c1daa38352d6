-- protected_tables: what is protected, how, and in words what is wrong with it (B73, B74, B78, B79).
\set VERBOSITY sqlstate
SET client_min_messages = warning;
CREATE VIEW pg_temp.fences AS
SELECT table_name, trigger_name, lock, mode, token_column, firing, problems FROM distlock.protected_tables
WHERE table_name LIKE 'protected\_tables%' ORDER BY table_name COLLATE "C", trigger_name COLLATE "C";
CREATE VIEW pg_temp.wrong AS
SELECT table_name, firing, unnest(problems) AS problem FROM pg_temp.fences;
CREATE TABLE protected_tables_a (id int, body text, fence bigint);
CREATE FUNCTION protected_tables_trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';

TABLE pg_temp.fences;
SELECT distlock.protect('protected_tables_a', 'protected_tables:{id}', 'live_strict', 'fence');
SELECT * FROM distlock.protected_tables WHERE table_name = 'protected_tables_a';

-- Disabled, or for replication only.
ALTER TABLE protected_tables_a DISABLE TRIGGER "~distlock_fence";
TABLE pg_temp.wrong;
ALTER TABLE protected_tables_a ENABLE REPLICA TRIGGER "~distlock_fence";
TABLE pg_temp.wrong;
ALTER TABLE protected_tables_a ENABLE ALWAYS TRIGGER "~distlock_fence";
SELECT firing, problems FROM pg_temp.fences;
ALTER TABLE protected_tables_a ENABLE TRIGGER "~distlock_fence";
TABLE pg_temp.wrong;

-- The TRUNCATE trigger disabled, for replication only, or gone.
ALTER TABLE protected_tables_a DISABLE TRIGGER "~distlock_fence_truncate";
TABLE pg_temp.wrong;
ALTER TABLE protected_tables_a ENABLE REPLICA TRIGGER "~distlock_fence_truncate";
TABLE pg_temp.wrong;
DROP TRIGGER "~distlock_fence_truncate" ON protected_tables_a;
TABLE pg_temp.wrong;
ALTER TABLE protected_tables_a DISABLE TRIGGER ALL;
TABLE pg_temp.wrong;
ALTER TABLE protected_tables_a ENABLE TRIGGER ALL;
SELECT distlock.protect('protected_tables_a', 'protected_tables:{id}', 'live_strict', 'fence');
TABLE pg_temp.wrong;
-- The row trigger gone: only the TRUNCATE trigger is left, and the table is not to vanish from the view.
DROP TRIGGER "~distlock_fence" ON protected_tables_a;
SELECT table_name, problems <> '{}' AS problems FROM pg_temp.fences;
SELECT distlock.protect('protected_tables_a', 'protected_tables:{id}', 'live_strict', 'fence') IN ('created', 'replaced') AS put_right;

-- A BEFORE trigger that sorts after the fence could change the row; others cannot.
CREATE TRIGGER zzz BEFORE UPDATE ON protected_tables_a FOR EACH ROW EXECUTE FUNCTION protected_tables_trigger();
CREATE TRIGGER "~a" BEFORE INSERT ON protected_tables_a FOR EACH ROW EXECUTE FUNCTION protected_tables_trigger();
CREATE TRIGGER "~z after" AFTER INSERT ON protected_tables_a FOR EACH ROW EXECUTE FUNCTION protected_tables_trigger();
CREATE TRIGGER "~z statement" BEFORE INSERT ON protected_tables_a EXECUTE FUNCTION protected_tables_trigger();
CREATE TRIGGER "~z delete" BEFORE DELETE ON protected_tables_a FOR EACH ROW EXECUTE FUNCTION protected_tables_trigger();
TABLE pg_temp.wrong;
CREATE TRIGGER "~~late" BEFORE INSERT OR UPDATE ON protected_tables_a FOR EACH ROW EXECUTE FUNCTION protected_tables_trigger();
CREATE TRIGGER "é" BEFORE UPDATE OF body ON protected_tables_a FOR EACH ROW EXECUTE FUNCTION protected_tables_trigger();
TABLE pg_temp.wrong;
ALTER TABLE protected_tables_a DISABLE TRIGGER "é";
DROP TRIGGER "~~late" ON protected_tables_a;
TABLE pg_temp.wrong;

-- Several things at once.
ALTER TABLE protected_tables_a ENABLE TRIGGER "é";
ALTER TABLE protected_tables_a DISABLE TRIGGER "~distlock_fence";
DROP TRIGGER "~distlock_fence_truncate" ON protected_tables_a;
TABLE pg_temp.wrong;
DROP TABLE protected_tables_a;

-- A fence made by hand: not on all of INSERT, UPDATE and DELETE.
CREATE TABLE protected_tables_b (id int, other int);
CREATE TRIGGER mine BEFORE INSERT OR UPDATE ON protected_tables_b FOR EACH ROW EXECUTE FUNCTION distlock.fence_check('protected_tables:{id}');
TABLE pg_temp.fences;
DROP TRIGGER mine ON protected_tables_b;
-- Nor on an UPDATE of all columns, or under a condition.
CREATE TRIGGER mine BEFORE INSERT OR UPDATE OF id OR DELETE ON protected_tables_b FOR EACH ROW EXECUTE FUNCTION distlock.fence_check('protected_tables:{id}', 'live', '');
CREATE TRIGGER truncate BEFORE TRUNCATE ON protected_tables_b EXECUTE FUNCTION distlock.fence_check('protected_tables:{id}', 'live', '');
SELECT table_name, mode, token_column, problems <> '{}' AS problems FROM pg_temp.fences;
DROP TRIGGER mine ON protected_tables_b;
CREATE TRIGGER mine BEFORE INSERT OR UPDATE OR DELETE ON protected_tables_b FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION distlock.fence_check('protected_tables:{id}', 'live', '');
SELECT table_name, mode, token_column, problems <> '{}' AS problems FROM pg_temp.fences;
DROP TRIGGER mine ON protected_tables_b;
-- Two fences on one table: both are shown, both must pass.
CREATE TRIGGER mine BEFORE INSERT OR UPDATE OR DELETE ON protected_tables_b FOR EACH ROW EXECUTE FUNCTION distlock.fence_check('protected_tables:mine');
SELECT distlock.protect('protected_tables_b', 'protected_tables:{id}');
TABLE pg_temp.fences;
SELECT distlock.try_acquire('protected_tables:1') AS one, distlock.try_acquire('protected_tables:mine') AS mine \gset
BEGIN;
SELECT distlock.fence('protected_tables:1', :one) = :one AS fenced;
SAVEPOINT s;
INSERT INTO protected_tables_b VALUES (1);
ROLLBACK TO s;
SELECT distlock.fence('protected_tables:mine', :mine) = :mine AS fenced;
INSERT INTO protected_tables_b VALUES (1);
COMMIT;
-- A table that is not protected is not shown, whatever its triggers are called.
CREATE TABLE protected_tables_c (id int);
CREATE TRIGGER "~distlock_fence" BEFORE INSERT ON protected_tables_c FOR EACH ROW EXECUTE FUNCTION protected_tables_trigger();
SELECT count(*) AS shown FROM pg_temp.fences WHERE table_name = 'protected_tables_c';

-- Copies of a protected table have no fence, and are shown as what they look like.
SELECT distlock.protect('protected_tables_c', 'protected_tables:c');
CREATE TABLE protected_tables_d (id int, body varchar(9), fence bigint);
SELECT distlock.protect('protected_tables_d', 'protected_tables:{id}', token_column => 'fence');
CREATE TABLE protected_tables_like (LIKE protected_tables_d INCLUDING ALL);
CREATE UNLOGGED TABLE protected_tables_as AS TABLE protected_tables_d;
CREATE TABLE protected_tables_more (extra text, fence bigint, LIKE protected_tables_c, body text);
CREATE TABLE protected_tables_wider (extra text, fence bigint, body varchar(9), id int) PARTITION BY LIST (id);
CREATE TABLE protected_tables_wider_1 PARTITION OF protected_tables_wider DEFAULT;
TABLE pg_temp.fences;
-- Not shown: what lacks a column or has another type, what has a fence, views and tables for one session only.
CREATE TABLE protected_tables_less (id int, fence bigint);
CREATE TABLE protected_tables_other (id bigint, body varchar(9), fence bigint);
CREATE TABLE protected_tables_int (id int, body varchar(9), fence int);
CREATE VIEW protected_tables_view AS TABLE protected_tables_d;
CREATE TEMPORARY TABLE protected_tables_temp AS TABLE protected_tables_d;
SELECT distlock.protect('protected_tables_like', 'protected_tables:{id}', token_column => 'fence');
ALTER TABLE protected_tables_as DROP fence;
SELECT table_name FROM pg_temp.fences WHERE problems <> '{}';
-- A temporary copy of a temporary table is one.
CREATE TEMPORARY TABLE protected_tables_session (a int, b int);
SELECT distlock.protect('protected_tables_session', 'protected_tables:b');
CREATE TEMPORARY TABLE protected_tables_session_like (LIKE protected_tables_session);
SELECT table_name, problems FROM pg_temp.fences WHERE table_name LIKE '%session%';
DROP TABLE protected_tables_session, protected_tables_session_like;
-- The copy goes with its column dropped, as above, or with the original unprotected.
SELECT distlock.unprotect('protected_tables_like');
SELECT distlock.unprotect('protected_tables_d');
TABLE pg_temp.fences;
DROP TABLE protected_tables_like, protected_tables_as, protected_tables_more, protected_tables_wider,
    protected_tables_less, protected_tables_other, protected_tables_int, protected_tables_temp;
-- Without a token column: the same columns in the same order, and two at least (table c has one).
CREATE TABLE protected_tables_like (LIKE protected_tables_b);
CREATE TABLE protected_tables_other (other int, id int);
CREATE TABLE protected_tables_one (LIKE protected_tables_c);
CREATE TABLE protected_tables_more (LIKE protected_tables_b, more int);
SELECT table_name, trigger_name, problems FROM pg_temp.fences;
DROP TABLE protected_tables_like, protected_tables_other, protected_tables_one, protected_tables_more;
-- Inheritance is told of where it is; the parent of a protected child is no copy of it.
CREATE TABLE protected_tables_parent (id int, body text, fence bigint);
CREATE TABLE protected_tables_child () INHERITS (protected_tables_parent);
CREATE TABLE protected_tables_sibling () INHERITS (protected_tables_parent);
SELECT distlock.protect('protected_tables_child', 'protected_tables:{id}', token_column => 'fence');
SELECT table_name, problems FROM pg_temp.fences WHERE table_name ~ 'parent|child|sibling';
SELECT distlock.protect('protected_tables_parent', 'protected_tables:{id}', token_column => 'fence');
SELECT table_name, problems FROM pg_temp.fences WHERE table_name ~ 'parent|child|sibling';
DROP TABLE protected_tables_parent CASCADE;
DROP VIEW protected_tables_view;
DROP TABLE protected_tables_d;

-- It follows the table.
ALTER TABLE protected_tables_b RENAME TO protected_tables_renamed;
CREATE SCHEMA protected_tables_schema;
ALTER TABLE protected_tables_renamed SET SCHEMA protected_tables_schema;
SELECT schema_name, table_name, lock FROM distlock.protected_tables WHERE lock = 'protected_tables:{id}';
DROP SCHEMA protected_tables_schema CASCADE;
DROP TABLE protected_tables_c;
DROP FUNCTION protected_tables_trigger;
TABLE pg_temp.fences;
DELETE FROM distlock.lease WHERE name LIKE 'protected_tables:%';
