-- Mode row: the row itself remembers the last token, as people write by hand with "AND fence < $2".
\set VERBOSITY sqlstate
SET client_min_messages = warning;
CREATE TABLE row_mode_report (id int PRIMARY KEY, body text, fence bigint);
INSERT INTO row_mode_report VALUES (1, 'old', NULL), (2, 'has one', 120);
-- Rows may have tokens already; a column is needed.
SELECT distlock.protect('row_mode_report', 'row_mode:{id}', 'row');
SELECT distlock.protect('row_mode_report', 'row_mode:{id}', 'row', 'fence');
SELECT distlock.protect('row_mode_report', 'row_mode:{id}', 'row', 'fence');

-- The token must be named by the write, and must not be below the row's.
UPDATE row_mode_report SET body = 'no token' WHERE id = 1;
UPDATE row_mode_report SET body = 'no token', fence = NULL WHERE id = 1;
UPDATE row_mode_report SET body = 'first', fence = 100 WHERE id = 1;
UPDATE row_mode_report SET body = 'again', fence = 100 WHERE id = 1;
UPDATE row_mode_report SET body = 'late', fence = 99 WHERE id = 1;
UPDATE row_mode_report SET body = 'unnamed' WHERE id = 1;
UPDATE row_mode_report SET body = 'NULL', fence = NULL WHERE id = 1;
UPDATE row_mode_report SET body = 'newer', fence = 101 WHERE id = 1;
UPDATE row_mode_report SET body = 'several', fence = 150;
SELECT id, body, fence FROM row_mode_report ORDER BY id;

-- No lease is asked for: the tokens may come from anywhere. fence() does not replace them.
SELECT distlock.try_acquire('row_mode:1', '1 h') AS token \gset
BEGIN;
SELECT distlock.fence('row_mode:1', :token) = :token AS fenced;
UPDATE row_mode_report SET body = 'only fenced' WHERE id = 1;
ROLLBACK;
UPDATE row_mode_report SET body = 'a real one', fence = :token WHERE id = 1;
UPDATE row_mode_report SET body = 'late', fence = 102 WHERE id = 1;
SELECT id, body, fence = :token AS keeps_it FROM row_mode_report WHERE id = 1;

-- INSERT needs one; an upsert must name it in its SET; MERGE and COPY alike.
INSERT INTO row_mode_report VALUES (3, 'no token');
INSERT INTO row_mode_report VALUES (3, 'inserted', 300);
INSERT INTO row_mode_report VALUES (3, 'upsert', 301) ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body;
INSERT INTO row_mode_report VALUES (3, 'upsert', 299) ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body, fence = EXCLUDED.fence;
INSERT INTO row_mode_report VALUES (3, 'upsert', 302) ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body, fence = EXCLUDED.fence;
MERGE INTO row_mode_report AS r USING (VALUES (3, 301)) AS v (i, f) ON r.id = v.i WHEN MATCHED THEN UPDATE SET body = 'merge', fence = f;
MERGE INTO row_mode_report AS r USING (VALUES (3, 303)) AS v (i, f) ON r.id = v.i WHEN MATCHED THEN UPDATE SET body = 'merge', fence = f;
COPY row_mode_report (id, body) FROM stdin;
4	no token
\.
COPY row_mode_report FROM stdin;
4	copied	400
\.
SELECT id, body, fence FROM row_mode_report WHERE id > 2 ORDER BY id;

-- Zero and negative tokens are numbers like others.
INSERT INTO row_mode_report VALUES (5, 'negative', -5);
UPDATE row_mode_report SET body = 'zero', fence = 0 WHERE id = 5;
UPDATE row_mode_report SET body = 'negative again', fence = -1 WHERE id = 5;

-- Its limits, which is why live is recommended: reading the token from the row and writing it back passes,
WITH r AS (SELECT * FROM row_mode_report WHERE id = 3)
UPDATE row_mode_report AS t SET body = 'laundered', fence = r.fence FROM r WHERE t.id = r.id;
-- and DELETE forgets; so does TRUNCATE.
DELETE FROM row_mode_report WHERE id = 3;
INSERT INTO row_mode_report VALUES (3, 'forgotten', 1);
SELECT id, body, fence FROM row_mode_report WHERE id = 3;
TRUNCATE row_mode_report;

-- Moving a row to another partition keeps its memory.
CREATE TABLE row_mode_job (id int, region text, body text, fence bigint) PARTITION BY LIST (region);
CREATE TABLE row_mode_east PARTITION OF row_mode_job FOR VALUES IN ('east');
CREATE TABLE row_mode_west PARTITION OF row_mode_job FOR VALUES IN ('west');
SELECT distlock.protect('row_mode_job', 'row_mode:{id}', 'row', 'fence');
INSERT INTO row_mode_job VALUES (1, 'east', 'new', 100);
UPDATE row_mode_job SET region = 'west', fence = 99;
UPDATE row_mode_job SET region = 'west';
UPDATE row_mode_job SET region = 'west', fence = 101;
UPDATE row_mode_west SET body = 'late', fence = 100;
SELECT tableoid::regclass AS in, body, fence FROM row_mode_job;
SELECT table_name, mode, token_column, problems FROM distlock.protected_tables WHERE table_name LIKE 'row\_mode\_%' ORDER BY table_name;

DROP TABLE row_mode_report, row_mode_job;
DELETE FROM distlock.lease WHERE name LIKE 'row_mode:%';
