-- Counters, with the fence and without: a lock for each row, or one for the table.
SET client_min_messages = warning;
CREATE ROLE torture LOGIN;
GRANT USAGE ON SCHEMA distlock TO torture;
-- Stopped holders shall be evicted within the run; index scans keep rows apart under SERIALIZABLE.
ALTER ROLE torture SET distlock.evict_after = '300 ms';
ALTER ROLE torture SET enable_seqscan = off;
CREATE TABLE fenced (id int PRIMARY KEY, v bigint NOT NULL DEFAULT 0, fence bigint);
CREATE TABLE fenced_table (LIKE fenced INCLUDING ALL);
CREATE TABLE plain (id int PRIMARY KEY, v bigint NOT NULL DEFAULT 0);
CREATE TABLE plain_table (LIKE plain INCLUDING ALL);
INSERT INTO fenced SELECT generate_series(1, 16);
INSERT INTO plain SELECT generate_series(1, 16);
INSERT INTO fenced_table SELECT generate_series(1, 3);
INSERT INTO plain_table SELECT generate_series(1, 3);
SELECT distlock.protect('fenced', 'fenced:{id}', token_column => 'fence');
SELECT distlock.protect('fenced_table', 'fenced_table:all', token_column => 'fence');
GRANT SELECT, UPDATE ON fenced, fenced_table, plain, plain_table TO torture;
