-- fence_check: no statement writes to a protected table without the current token of the row's lock (S-37, B26).
\set VERBOSITY sqlstate
SET client_min_messages = warning;

-- The statement's answer: its row count, or the SQLSTATE that refused it. What it did is undone.
CREATE FUNCTION pg_temp.attempt(statement text, lock text DEFAULT NULL, token bigint DEFAULT NULL) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE rows bigint;
BEGIN
    IF lock IS NOT NULL THEN PERFORM distlock.fence(lock, token); END IF;
    EXECUTE statement;
    GET DIAGNOSTICS rows = ROW_COUNT;
    RAISE EXCEPTION 'undo' USING ERRCODE = 'UU000';
EXCEPTION WHEN SQLSTATE 'UU000' THEN
    RETURN rows || ' row(s)';
WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;

CREATE TABLE trigger_report (id int PRIMARY KEY, body text, fence bigint);
INSERT INTO trigger_report SELECT i, 'old' FROM generate_series(1, 3) AS i;
SELECT distlock.protect('trigger_report', 'trigger:{id}', token_column => 'fence');
-- Lock 1 was acquired twice: its first token is stale.
SELECT distlock.try_acquire('trigger:1', '1 h') AS stale \gset
SELECT distlock.release('trigger:1', :stale);
SELECT distlock.try_acquire('trigger:1', '1 h') AS t1 \gset
SELECT distlock.try_acquire('trigger:2', '1 h') AS t2 \gset
SELECT distlock.try_acquire('trigger:9', '1 h') AS t9 \gset
CREATE VIEW trigger_view AS SELECT id, body, fence FROM trigger_report WHERE id < 5;
CREATE VIEW trigger_join AS SELECT r.id, r.body FROM trigger_report AS r JOIN (VALUES (1)) AS v (id) USING (id);
CREATE FUNCTION trigger_join_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE trigger_report SET body = NEW.body WHERE id = OLD.id;
    RETURN NEW;
END $$;
CREATE TRIGGER write INSTEAD OF UPDATE ON trigger_join FOR EACH ROW EXECUTE FUNCTION trigger_join_write();
CREATE TABLE trigger_inbox (id int, body text);
INSERT INTO trigger_inbox VALUES (1, 'in');
CREATE RULE forward AS ON INSERT TO trigger_inbox DO INSTEAD INSERT INTO trigger_report (id, body) VALUES (NEW.id, NEW.body);
CREATE RULE also AS ON DELETE TO trigger_inbox DO ALSO DELETE FROM trigger_report WHERE id = OLD.id;

-- Each kind of statement, without a token, and with that of the lock.
CREATE TEMP TABLE statements (n serial, kind text, statement text);
INSERT INTO statements (kind, statement) VALUES
    ('update', $$UPDATE trigger_report SET body = 'new' WHERE id = 1$$),
    ('update, nothing changed', $$UPDATE trigger_report SET id = id WHERE id = 1$$),
    ('update only', $$UPDATE ONLY trigger_report SET body = 'new' WHERE id = 1$$),
    ('update from', $$UPDATE trigger_report AS r SET body = v.b FROM (VALUES (1, 'new')) AS v (i, b) WHERE r.id = v.i$$),
    ('update returning in a CTE', $$WITH u AS (UPDATE trigger_report SET body = 'new' WHERE id = 1 RETURNING *) SELECT * FROM u$$),
    ('update of no row', $$UPDATE trigger_report SET body = 'new' WHERE id = 77$$),
    ('update of rows of several locks', $$UPDATE trigger_report SET body = 'new' WHERE id < 3$$),
    ('delete', $$DELETE FROM trigger_report WHERE id = 1$$),
    ('delete using', $$DELETE FROM trigger_report AS r USING (VALUES (1)) AS v (i) WHERE r.id = v.i$$),
    ('delete in a CTE', $$WITH d AS (DELETE FROM trigger_report WHERE id = 1 RETURNING *) SELECT * FROM d$$),
    ('delete of a range', $$DELETE FROM trigger_report$$),
    ('insert', $$INSERT INTO trigger_report VALUES (9, 'new')$$),
    ('insert of another lock', $$INSERT INTO trigger_report VALUES (8, 'new')$$),
    ('insert select', $$INSERT INTO trigger_report SELECT 9, 'new'$$),
    ('insert of no row', $$INSERT INTO trigger_report SELECT 9, 'new' WHERE false$$),
    ('insert that fails later', $$INSERT INTO trigger_report VALUES (1, 'new')$$),
    ('insert on conflict do update, conflict', $$INSERT INTO trigger_report VALUES (1, 'new') ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body$$),
    ('insert on conflict do update, none', $$INSERT INTO trigger_report VALUES (9, 'new') ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body$$),
    ('insert on conflict do update, not wanted', $$INSERT INTO trigger_report VALUES (1, 'new') ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body WHERE false$$),
    ('insert on conflict do nothing, conflict (B76)', $$INSERT INTO trigger_report VALUES (1, 'new') ON CONFLICT DO NOTHING$$),
    ('insert on conflict do nothing, none', $$INSERT INTO trigger_report VALUES (9, 'new') ON CONFLICT DO NOTHING$$),
    ('merge update', $$MERGE INTO trigger_report AS r USING (VALUES (1, 'new')) AS v (i, b) ON r.id = v.i WHEN MATCHED THEN UPDATE SET body = b$$),
    ('merge insert', $$MERGE INTO trigger_report AS r USING (VALUES (9, 'new')) AS v (i, b) ON r.id = v.i WHEN NOT MATCHED THEN INSERT VALUES (i, b)$$),
    ('merge delete', $$MERGE INTO trigger_report AS r USING (VALUES (1)) AS v (i) ON r.id = v.i WHEN MATCHED THEN DELETE$$),
    ('merge do nothing', $$MERGE INTO trigger_report AS r USING (VALUES (1)) AS v (i) ON r.id = v.i WHEN MATCHED THEN DO NOTHING$$),
    ('view, update', $$UPDATE trigger_view SET body = 'new' WHERE id = 1$$),
    ('view, delete', $$DELETE FROM trigger_view WHERE id = 1$$),
    ('view, insert', $$INSERT INTO trigger_view VALUES (9, 'new')$$),
    ('view, instead of', $$UPDATE trigger_join SET body = 'new' WHERE id = 1$$),
    ('rule, instead', $$INSERT INTO trigger_inbox VALUES (9, 'new')$$),
    ('rule, also', $$DELETE FROM trigger_inbox$$),
    ('function', $$DO 'BEGIN UPDATE trigger_report SET body = ''new'' WHERE id = 1; END'$$),
    ('truncate', $$TRUNCATE trigger_report$$),
    ('create table as', $$CREATE TABLE trigger_copy AS TABLE trigger_report$$),
    ('lock rows only', $$SELECT * FROM trigger_report WHERE id = 1 FOR UPDATE$$);
SELECT kind, pg_temp.attempt(statement) AS "no token", pg_temp.attempt(statement, 'trigger:1', :t1) AS "of lock 1",
       pg_temp.attempt(statement, 'trigger:2', :t2) AS "of lock 2", pg_temp.attempt(statement, 'trigger:9', :t9) AS "of lock 9"
FROM statements ORDER BY n;

-- A refused statement has changed nothing, and nothing of what was tried has stayed.
TABLE trigger_report ORDER BY id;

-- MERGE deletes what the source does not have since 17 (B26: the range delete of a stale owner).
SELECT CASE WHEN current_setting('server_version_num')::int >= 170000 THEN pg_temp.attempt(
    $$MERGE INTO trigger_report AS r USING (VALUES (2), (3)) AS v (i) ON r.id = v.i WHEN NOT MATCHED BY SOURCE THEN DELETE$$)
    ELSE 'LK002' END AS "no token";

-- COPY: all or nothing.
COPY trigger_report (id, body) FROM stdin;
9	new
\.
COPY trigger_report FROM stdin;
9	new	1
\.
BEGIN;
SELECT distlock.fence('trigger:9', :t9) = :t9 AS fenced;
COPY trigger_report (id, body) FROM stdin;
9	new
\.
SELECT count(*) AS copied FROM trigger_report WHERE id = 9;
SAVEPOINT s;
COPY trigger_report (id, body) FROM stdin;
8	new
\.
ROLLBACK;
SELECT count(*) AS copied FROM trigger_report WHERE id > 3;

-- A stale token is refused whatever carries it; the newer result stays (B21).
UPDATE trigger_report SET body = 'by the holder', fence = :t1 WHERE id = 1;
UPDATE trigger_report SET body = 'by the late one', fence = :stale WHERE id = 1;
INSERT INTO trigger_report VALUES (1, 'by the late one', :stale) ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body;
INSERT INTO trigger_report VALUES (1, 'by the late one') ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body, fence = EXCLUDED.fence;
MERGE INTO trigger_report AS r USING (VALUES (1)) AS v (i) ON r.id = v.i WHEN MATCHED THEN UPDATE SET body = 'by the late one', fence = :stale;
UPDATE trigger_view SET body = 'by the late one', fence = :stale WHERE id = 1;
UPDATE trigger_report SET body = 'by the late one', fence = distlock.fence('trigger:1', :stale) WHERE id = 1;
BEGIN;
SELECT distlock.fence('trigger:1', :stale);
DELETE FROM trigger_report WHERE id = 1;
COMMIT;
-- Nor does the token of another lock help.
UPDATE trigger_report SET body = 'wrong lock', fence = :t2 WHERE id = 1;
-- Even when the right one has been fenced in the same transaction: what is presented counts.
BEGIN;
SELECT distlock.fence('trigger:1', :t1) = :t1 AS fenced;
UPDATE trigger_report SET body = 'by the late one', fence = :stale WHERE id = 1;
ROLLBACK;
TABLE trigger_report ORDER BY id;

-- Rows of several locks in one statement: each needs its own.
BEGIN;
SELECT distlock.fence('trigger:1', :t1) = :t1 AS fenced, distlock.fence('trigger:2', :t2) = :t2 AS fenced;
UPDATE trigger_report SET body = body || '!' WHERE id < 3;
UPDATE trigger_report AS r SET body = v.b FROM (VALUES (1, 'one'), (2, 'two')) AS v (i, b) WHERE r.id = v.i;
ROLLBACK;
UPDATE trigger_report AS r SET body = v.b, fence = v.t FROM (VALUES (1, 'one', :t1), (2, 'two', :t2)) AS v (i, b, t) WHERE r.id = v.i;
UPDATE trigger_report AS r SET body = v.b, fence = v.t FROM (VALUES (1, 'one', :t2), (2, 'two', :t1)) AS v (i, b, t) WHERE r.id = v.i;
TABLE trigger_report ORDER BY id;

-- fence() counts for its transaction only, and for a savepoint as long as that stands.
SELECT distlock.fence('trigger:1', :t1) = :t1 AS fenced;
UPDATE trigger_report SET body = 'too late' WHERE id = 1;
BEGIN;
SAVEPOINT s;
SELECT distlock.fence('trigger:1', :t1) = :t1 AS fenced;
UPDATE trigger_report SET body = 'in the savepoint' WHERE id = 1;
ROLLBACK TO s;
UPDATE trigger_report SET body = 'after it' WHERE id = 1;
ROLLBACK TO s;
SELECT distlock.fence('trigger:1', :t1) = :t1 AS fenced;
RELEASE s;
UPDATE trigger_report SET body = 'after its release' WHERE id = 1;
SAVEPOINT s;
UPDATE trigger_report SET body = 'in another' WHERE id = 1;
ROLLBACK TO s;
UPDATE trigger_report SET body = 'after that' WHERE id = 1;
COMMIT;
SELECT body FROM trigger_report WHERE id = 1;
-- The token column's check goes with its savepoint too.
BEGIN;
SAVEPOINT s;
UPDATE trigger_report SET body = 'in the savepoint', fence = :t1 WHERE id = 1;
UPDATE trigger_report SET body = 'in the savepoint, again' WHERE id = 1;
ROLLBACK TO s;
UPDATE trigger_report SET body = 'after it' WHERE id = 1;
ROLLBACK;
-- PL/pgSQL: the handler's block is a savepoint.
DO $$
BEGIN
    BEGIN
        UPDATE trigger_report SET body = 'in the block', fence = (SELECT token FROM distlock.holder('trigger:1')) WHERE id = 1;
        RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN
        NULL;
    END;
    UPDATE trigger_report SET body = 'after the block' WHERE id = 1;
END $$;
DO $$
BEGIN
    PERFORM distlock.fence('trigger:1', (SELECT token FROM distlock.holder('trigger:1')));
    FOR i IN 1..20 LOOP
        BEGIN
            UPDATE trigger_report SET body = 'loop ' || i WHERE id = 1;
            IF i % 2 = 0 THEN RAISE division_by_zero; END IF;
        EXCEPTION WHEN division_by_zero THEN
            NULL;
        END;
    END LOOP;
END $$;
SELECT body FROM trigger_report WHERE id = 1;
-- A refusal that is caught leaves the transaction as it was.
DO $$
BEGIN
    UPDATE trigger_report SET body = 'never' WHERE id = 1;
EXCEPTION WHEN SQLSTATE 'LK002' THEN
    PERFORM distlock.fence('trigger:1', (SELECT token FROM distlock.holder('trigger:1')));
    UPDATE trigger_report SET body = 'second try' WHERE id = 1;
END $$;
SELECT body FROM trigger_report WHERE id = 1;
-- Transaction control in a procedure ends what was fenced.
DO $$
BEGIN
    PERFORM distlock.fence('trigger:1', (SELECT token FROM distlock.holder('trigger:1')));
    UPDATE trigger_report SET body = 'before the commit' WHERE id = 1;
    COMMIT;
    UPDATE trigger_report SET body = 'after the commit' WHERE id = 1;
END $$;
SELECT body FROM trigger_report WHERE id = 1;

-- What this transaction does with the lock itself: renewing keeps the check, releasing or re-acquiring drops it.
BEGIN;
SELECT distlock.fence('trigger:1', :t1) = :t1 AS fenced;
SELECT distlock.renew('trigger:1', :t1) IS NOT NULL AS renewed;
UPDATE trigger_report SET body = 'after the renewal' WHERE id = 1;
SAVEPOINT s;
SELECT distlock.release('trigger:1', :t1);
UPDATE trigger_report SET body = 'after the release' WHERE id = 1;
ROLLBACK TO s;
UPDATE trigger_report SET body = 'release undone' WHERE id = 1;
SELECT distlock.release('trigger:1', :t1);
SELECT distlock.try_acquire('trigger:1', '1 h') AS mine \gset
SAVEPOINT t;
UPDATE trigger_report SET body = 'under the old check' WHERE id = 1;
ROLLBACK TO t;
UPDATE trigger_report SET body = 'under the old token', fence = :t1 WHERE id = 1;
ROLLBACK TO t;
UPDATE trigger_report SET body = 'under the new token', fence = :mine WHERE id = 1;
ROLLBACK;
-- Acquired, written and released in one transaction, or in one statement.
BEGIN;
SELECT distlock.try_acquire('trigger:3') AS t3 \gset
UPDATE trigger_report SET body = 'at once', fence = :t3 WHERE id = 3;
SELECT distlock.release('trigger:3', :t3);
COMMIT;
WITH l AS MATERIALIZED (SELECT distlock.acquire('trigger:3') AS token)
UPDATE trigger_report SET body = body || ', in one statement', fence = l.token FROM l WHERE id = 3;
SELECT body, fence FROM trigger_report WHERE id = 3;

-- Expired, and nobody else has it: accepted. Taken by somebody else: refused.
SELECT distlock.release('trigger:3', token) FROM distlock.holder('trigger:3');
SELECT distlock.try_acquire('trigger:3', '20 ms') AS t3 \gset
SELECT pg_sleep(0.05);
UPDATE trigger_report SET body = 'late, alone', fence = :t3 WHERE id = 3;
SET distlock.evict_after = '1 ms';
UPDATE trigger_report SET body = 'too late', fence = :t3 WHERE id = 3;
RESET distlock.evict_after;
SELECT distlock.try_acquire('trigger:3') > :t3 AS taken;
UPDATE trigger_report SET body = 'late, another has it', fence = :t3 WHERE id = 3;
SELECT body FROM trigger_report WHERE id = 3;

-- UPDATE that moves a row from one lock to another: a write under both. The column's token counts for one of them.
BEGIN;
SAVEPOINT s;
UPDATE trigger_report SET id = 9 WHERE id = 1;
ROLLBACK TO s;
UPDATE trigger_report SET id = 9, fence = :t1 WHERE id = 1;
ROLLBACK TO s;
UPDATE trigger_report SET id = 9, fence = :t9 WHERE id = 1;
ROLLBACK TO s;
SELECT distlock.fence('trigger:1', :t1) = :t1 AS fenced;
UPDATE trigger_report SET id = 9 WHERE id = 1;
ROLLBACK TO s;
SELECT distlock.fence('trigger:9', :t9) = :t9 AS fenced;
UPDATE trigger_report SET id = 9 WHERE id = 1;
ROLLBACK TO s;
SELECT distlock.fence('trigger:1', :t1) = :t1 AS fenced;
UPDATE trigger_report SET id = 9, fence = :t9, body = 'moved' WHERE id = 1;
ROLLBACK TO s;
SELECT distlock.fence('trigger:9', :t9) = :t9 AS fenced;
UPDATE trigger_report SET id = 9, fence = :t1, body = 'moved' WHERE id = 1;
ROLLBACK TO s;
SELECT distlock.fence('trigger:1', :t1) = :t1 AS fenced, distlock.fence('trigger:9', :t9) = :t9 AS fenced;
UPDATE trigger_report SET id = 9, body = 'moved' WHERE id = 1;
ROLLBACK TO s;
-- A stale one counts for none, whatever else is fenced.
SELECT distlock.fence('trigger:1', :t1) = :t1 AS fenced, distlock.fence('trigger:9', :t9) = :t9 AS fenced;
UPDATE trigger_report SET id = 9, fence = :stale, body = 'moved' WHERE id = 1;
ROLLBACK TO s;
MERGE INTO trigger_report AS r USING (VALUES (1)) AS v (i) ON r.id = v.i WHEN MATCHED THEN UPDATE SET id = 9, fence = :t1;
ROLLBACK;
TABLE trigger_report ORDER BY id;

-- WHERE CURRENT OF, prepared statements (also as a generic plan), and dynamic SQL.
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM trigger_report WHERE id = 2 FOR UPDATE;
FETCH c;
SAVEPOINT s;
UPDATE trigger_report SET body = 'by cursor' WHERE CURRENT OF c;
ROLLBACK TO s;
DELETE FROM trigger_report WHERE CURRENT OF c;
ROLLBACK TO s;
UPDATE trigger_report SET body = 'by cursor', fence = :t2 WHERE CURRENT OF c;
COMMIT;
SET plan_cache_mode = force_generic_plan;
PREPARE write (int, text, bigint) AS UPDATE trigger_report SET body = $2, fence = $3 WHERE id = $1;
EXECUTE write (2, 'prepared', NULL);
EXECUTE write (2, 'prepared', :t2);
EXECUTE write (2, 'prepared', :t1);
EXECUTE write (1, 'prepared', :t1);
EXECUTE write (1, 'prepared', :stale);
DEALLOCATE write;
RESET plan_cache_mode;
SELECT id, body, fence FROM trigger_report WHERE id < 3 ORDER BY id;

-- SECURITY DEFINER, and a function that sets its own search_path.
CREATE FUNCTION trigger_write(id int, token bigint) RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path = public
AS 'UPDATE trigger_report AS r SET body = ''by function'', fence = token WHERE r.id = $1 RETURNING body';
SELECT trigger_write(1, :t1);
SELECT trigger_write(1, :stale);
SELECT trigger_write(1, NULL);

-- The table's own BEFORE triggers run first: what they make of the row is what is checked.
CREATE FUNCTION trigger_other_lock() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id := 2; RETURN NEW; END';
CREATE TRIGGER zzz BEFORE UPDATE ON trigger_report FOR EACH ROW WHEN (NEW.body = 'move me') EXECUTE FUNCTION trigger_other_lock();
UPDATE trigger_report SET body = 'move me', fence = :t1 WHERE id = 1;
DROP TRIGGER zzz ON trigger_report;
DROP FUNCTION trigger_other_lock;

-- The table's columns or name may change meanwhile: the session notices.
DROP VIEW trigger_view, trigger_join;
DROP TABLE trigger_inbox;
ALTER TABLE trigger_report ADD note text DEFAULT 'added', DROP body;
UPDATE trigger_report SET note = 'seen', fence = :t1 WHERE id = 1;
UPDATE trigger_report SET note = 'seen' WHERE id = 1;
ALTER TABLE trigger_report RENAME TO trigger_renamed;
UPDATE trigger_renamed SET note = 'seen again', fence = :t1 WHERE id = 1;
UPDATE trigger_renamed SET note = 'seen again' WHERE id = 1;
SELECT id, note, fence FROM trigger_renamed WHERE id = 1;
-- A rewrite of the table is no write to it.
ALTER TABLE trigger_renamed ALTER note TYPE varchar(20);
VACUUM FULL trigger_renamed;
DELETE FROM trigger_renamed WHERE id = 1;

-- session_replication_role = replica switches the fence off, unless it was put there with always (B73).
SET session_replication_role = replica;
UPDATE trigger_renamed SET note = 'unchecked' WHERE id = 1;
RESET session_replication_role;
SELECT distlock.protect('trigger_renamed', 'trigger:{id}', token_column => 'fence', always => true);
SET session_replication_role = replica;
UPDATE trigger_renamed SET note = 'checked' WHERE id = 1;
TRUNCATE trigger_renamed;
UPDATE trigger_renamed SET note = 'checked', fence = :t1 WHERE id = 1;
RESET session_replication_role;
UPDATE trigger_renamed SET note = 'checked' WHERE id = 1;
SELECT id, note, fence FROM trigger_renamed WHERE id = 1;

-- Called as anything else than what it is made for.
SELECT distlock.fence_check();
CREATE TABLE trigger_wrong (id int);
CREATE TRIGGER after AFTER INSERT ON trigger_wrong FOR EACH ROW EXECUTE FUNCTION distlock.fence_check('x');
INSERT INTO trigger_wrong VALUES (1);
DROP TRIGGER after ON trigger_wrong;
CREATE TRIGGER statement BEFORE INSERT ON trigger_wrong EXECUTE FUNCTION distlock.fence_check('x');
INSERT INTO trigger_wrong VALUES (1);
DROP TRIGGER statement ON trigger_wrong;
CREATE TRIGGER nothing BEFORE INSERT ON trigger_wrong FOR EACH ROW EXECUTE FUNCTION distlock.fence_check();
INSERT INTO trigger_wrong VALUES (1);
DROP TRIGGER nothing ON trigger_wrong;
CREATE TRIGGER much BEFORE INSERT ON trigger_wrong FOR EACH ROW EXECUTE FUNCTION distlock.fence_check('x', 'live', '', 'y');
INSERT INTO trigger_wrong VALUES (1);
DROP TRIGGER much ON trigger_wrong;
CREATE TRIGGER mode BEFORE INSERT ON trigger_wrong FOR EACH ROW EXECUTE FUNCTION distlock.fence_check('x', 'dead');
INSERT INTO trigger_wrong VALUES (1);
DROP TRIGGER mode ON trigger_wrong;
CREATE TRIGGER "column" BEFORE INSERT ON trigger_wrong FOR EACH ROW EXECUTE FUNCTION distlock.fence_check('x', 'live', 'id');
INSERT INTO trigger_wrong VALUES (1);
DROP TRIGGER "column" ON trigger_wrong;
CREATE TRIGGER noend BEFORE INSERT ON trigger_wrong FOR EACH ROW EXECUTE FUNCTION distlock.fence_check('{id');
INSERT INTO trigger_wrong VALUES (1);
DROP TRIGGER noend ON trigger_wrong;
-- The mode and the column may be left out: live, and none.
CREATE TRIGGER short BEFORE INSERT ON trigger_wrong FOR EACH ROW EXECUTE FUNCTION distlock.fence_check('trigger:{id}');
INSERT INTO trigger_wrong VALUES (1);
BEGIN;
SELECT distlock.fence('trigger:1', :t1) = :t1 AS fenced;
INSERT INTO trigger_wrong VALUES (1);
COMMIT;
SELECT count(*) AS rows FROM trigger_wrong;

DROP TABLE trigger_renamed, trigger_wrong;
DROP FUNCTION trigger_join_write, trigger_write;
DELETE FROM distlock.lease WHERE name LIKE 'trigger:%';
