-- The token column carries, it does not keep: what is read from a row is never a token that could be written back.
\set VERBOSITY sqlstate
SET client_min_messages = warning;
CREATE TABLE token_column_report (id int PRIMARY KEY, body text, fence bigint);
INSERT INTO token_column_report VALUES (1, 'old');
SELECT distlock.protect('token_column_report', 'token_column:{id}', token_column => 'fence');
SELECT distlock.try_acquire('token_column:1', '1 h') AS stale \gset

-- Checked, then stored as NULL: by INSERT, UPDATE, upsert, MERGE, COPY, and in what RETURNING gives.
UPDATE token_column_report SET body = 'first', fence = :stale WHERE id = 1 RETURNING *;
INSERT INTO token_column_report VALUES (1, 'first', :stale) ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body, fence = :stale RETURNING *;
MERGE INTO token_column_report AS r USING (VALUES (1)) AS v (i) ON r.id = v.i WHEN MATCHED THEN UPDATE SET fence = :stale;
INSERT INTO token_column_report VALUES (1, 'first', :stale) ON CONFLICT (id) DO UPDATE SET fence = EXCLUDED.fence RETURNING *;
UPDATE token_column_report SET fence = distlock.fence('token_column:1', :stale) WHERE id = 1 RETURNING *;
SELECT id, body, fence FROM token_column_report;

-- An ORM reads the whole row and writes every column back. The successor's token must not reach a stale writer that way:
-- the first holder reads the row,
SELECT id, body, fence IS NULL AS no_token FROM token_column_report;
-- is paused, and loses the lock to another one, who writes;
SELECT distlock.release('token_column:1', :stale);
SELECT distlock.try_acquire('token_column:1', '1 h') AS current \gset
UPDATE token_column_report SET body = 'successor', fence = :current WHERE id = 1;
-- it reads again and writes all columns back: refused, with what it read and with what it was given.
WITH r AS (SELECT * FROM token_column_report WHERE id = 1)
UPDATE token_column_report AS t SET id = r.id, body = 'stale write-back', fence = r.fence FROM r WHERE t.id = r.id;
UPDATE token_column_report SET body = 'stale write-back', fence = :stale WHERE id = 1;
UPDATE token_column_report SET (id, body, fence) = (SELECT id, 'stale write-back', fence FROM token_column_report WHERE id = 1) WHERE id = 1;
UPDATE token_column_report SET fence = fence;
DELETE FROM token_column_report WHERE fence IS NULL;
-- The rightful holder passes the same way, after fence() or with its token in the column.
BEGIN;
SELECT distlock.fence('token_column:1', :current) = :current AS fenced;
WITH r AS (SELECT * FROM token_column_report WHERE id = 1)
UPDATE token_column_report AS t SET id = r.id, body = 'rightful write-back', fence = r.fence FROM r WHERE t.id = r.id;
COMMIT;
SELECT id, body, fence FROM token_column_report;
WITH r AS (SELECT * FROM token_column_report WHERE id = 1)
UPDATE token_column_report AS t SET id = r.id, body = 'rightful again', fence = :current FROM r WHERE t.id = r.id;
SELECT id, body, fence FROM token_column_report;
-- Nothing in the table ever was a token.
SELECT count(*) AS tokens_kept FROM token_column_report WHERE fence IS NOT NULL;

-- A token that passed in the column counts as fence() for the rest of the transaction, not longer.
BEGIN;
UPDATE token_column_report SET body = 'with', fence = :current WHERE id = 1;
UPDATE token_column_report SET body = 'without' WHERE id = 1;
DELETE FROM token_column_report WHERE id = 1;
INSERT INTO token_column_report VALUES (1, 'anew');
COMMIT;
UPDATE token_column_report SET body = 'later' WHERE id = 1;
-- In one command too: of two rows the second needs no token of its own.
CREATE TABLE token_column_item (report int, n int, fence bigint);
SELECT distlock.protect('token_column_item', 'token_column:{report}', token_column => 'fence');
INSERT INTO token_column_item VALUES (1, 1, :current), (1, 2, NULL);
INSERT INTO token_column_item VALUES (1, 3, NULL), (1, 4, :current);
INSERT INTO token_column_item VALUES (1, 5, :current), (1, 6, :stale);
SELECT report, n, fence FROM token_column_item ORDER BY n;

-- Zero and negative numbers are tokens of nobody, not "none".
UPDATE token_column_report SET body = 'zero', fence = 0 WHERE id = 1;
UPDATE token_column_report SET body = 'negative', fence = -1 WHERE id = 1;
UPDATE token_column_report SET body = 'default', fence = DEFAULT WHERE id = 1;

-- Other columns keep what they had: the column is the only one that is changed; also a wide, toasted or dropped one.
ALTER TABLE token_column_report ADD gone int DEFAULT 7, ADD big text, ADD later int DEFAULT 42;
ALTER TABLE token_column_report DROP gone;
UPDATE token_column_report SET big = repeat('x', 1000000), fence = :current WHERE id = 1;
UPDATE token_column_report SET body = 'other column', fence = :current WHERE id = 1;
SELECT id, body, fence, length(big) AS big, later FROM token_column_report;

-- A generated column, a CHECK and a NOT NULL see the row as it is stored; AFTER triggers, too.
CREATE TABLE token_column_strict (id int PRIMARY KEY, fence bigint CHECK (fence IS NULL), doubled int GENERATED ALWAYS AS (id * 2) STORED,
                                  carried boolean GENERATED ALWAYS AS (fence IS NOT NULL) STORED);
SELECT distlock.protect('token_column_strict', 'token_column:{id}', token_column => 'fence');
INSERT INTO token_column_strict VALUES (1, :current) RETURNING *;

-- A token that stands in a row (past the trigger, or attached with it) is nobody's: it counts only if the write names it.
BEGIN;
SET LOCAL session_replication_role = replica;
UPDATE token_column_report SET fence = :current WHERE id = 1;
COMMIT;
UPDATE token_column_report SET body = 'by the stored one' WHERE id = 1;
BEGIN;
SELECT distlock.fence('token_column:1', :current) = :current AS fenced;
UPDATE token_column_report SET body = 'fenced' WHERE id = 1;
ROLLBACK;
BEGIN;
SET LOCAL session_replication_role = replica;
UPDATE token_column_report SET fence = :stale WHERE id = 1;
COMMIT;
BEGIN;
SELECT distlock.fence('token_column:1', :current) = :current AS fenced;
UPDATE token_column_report SET body = 'the stored one is in nobody''s way' WHERE id = 1;
COMMIT;
SELECT body, fence FROM token_column_report;
CREATE TABLE token_column_parent (id int, fence bigint) PARTITION BY LIST (id);
SELECT distlock.protect('token_column_parent', 'token_column:{id}', token_column => 'fence');
CREATE TABLE token_column_part AS SELECT 1 AS id, :current AS fence;
ALTER TABLE token_column_parent ATTACH PARTITION token_column_part FOR VALUES IN (1);
UPDATE token_column_parent SET id = id;
SELECT distlock.protect('token_column_parent', 'token_column:{id}', token_column => 'fence');
UPDATE token_column_parent SET fence = :current;
SELECT distlock.protect('token_column_parent', 'token_column:{id}', token_column => 'fence');
SELECT * FROM token_column_parent;
DROP TABLE token_column_parent;
-- One that an earlier BEFORE trigger fills in counts as the writer's.
CREATE FUNCTION token_column_fill() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN NEW.fence := current_setting('token_column.mine')::bigint; RETURN NEW; END$$;
CREATE TRIGGER fill BEFORE UPDATE ON token_column_report FOR EACH ROW EXECUTE FUNCTION token_column_fill();
SELECT set_config('token_column.mine', :'current', false) = :'current' AS set;
UPDATE token_column_report SET body = 'filled in' WHERE id = 1;
SELECT set_config('token_column.mine', :'stale', false) = :'stale' AS set;
UPDATE token_column_report SET body = 'filled in, stale' WHERE id = 1;
DROP TRIGGER fill ON token_column_report;
DROP FUNCTION token_column_fill;

-- The column may be renamed or go: then the fence refuses until protect is called again (fail closed).
ALTER TABLE token_column_item RENAME fence TO token;
INSERT INTO token_column_item VALUES (1, 9, :current);
SELECT distlock.protect('token_column_item', 'token_column:{report}', token_column => 'token');
INSERT INTO token_column_item VALUES (1, 9, :current);
INSERT INTO token_column_item VALUES (1, 9, :stale);
ALTER TABLE token_column_item DROP token;
INSERT INTO token_column_item VALUES (1, 10);
ALTER TABLE token_column_item ADD token text;
INSERT INTO token_column_item VALUES (1, 10, :current);
SELECT distlock.protect('token_column_item', 'token_column:{report}');
INSERT INTO token_column_item VALUES (1, 10, :current);
-- So does a default or NOT NULL that somebody adds later: with one, each row would bring a token, or none.
ALTER TABLE token_column_report ALTER fence SET DEFAULT 1;
UPDATE token_column_report SET body = 'x', fence = :current WHERE id = 1;
ALTER TABLE token_column_report ALTER fence DROP DEFAULT;
UPDATE token_column_report SET body = 'y', fence = :current WHERE id = 1;
SELECT body, fence FROM token_column_report;

DROP TABLE token_column_report, token_column_item, token_column_strict;
DELETE FROM distlock.lease WHERE name LIKE 'token_column:%';
