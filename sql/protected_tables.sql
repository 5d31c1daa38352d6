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
