-- TRUNCATE of a protected table: with a token for a table-wide lock, never where each row has its own (B26).
\set VERBOSITY sqlstate
SET client_min_messages = warning;
CREATE TABLE truncate_rows (id int PRIMARY KEY);
CREATE TABLE truncate_table (id int PRIMARY KEY, fence bigint);
CREATE TABLE truncate_free (id int);
INSERT INTO truncate_rows VALUES (1);
INSERT INTO truncate_table VALUES (1);
INSERT INTO truncate_free VALUES (1);
SELECT distlock.protect('truncate_rows', 'truncate:{id}');
SELECT distlock.protect('truncate_table', 'truncate:table', token_column => 'fence');
SELECT distlock.try_acquire('truncate:1') AS one, distlock.try_acquire('truncate:table') AS stale \gset
SELECT distlock.release('truncate:table', :stale);
SELECT distlock.try_acquire('truncate:table') AS "table" \gset

-- A lock for each row: refused, also with that of the only row; DELETE does it.
TRUNCATE truncate_rows;
BEGIN;
SELECT distlock.fence('truncate:1', :one) = :one AS fenced;
SAVEPOINT s;
TRUNCATE truncate_rows;
ROLLBACK TO s;
DELETE FROM truncate_rows;
ROLLBACK;

-- One lock for the table: with fence(), for that transaction.
TRUNCATE truncate_table;
TRUNCATE ONLY truncate_table RESTART IDENTITY;
BEGIN;
SELECT distlock.fence('truncate:table', :stale);
TRUNCATE truncate_table;
COMMIT;
BEGIN;
SELECT distlock.fence('truncate:table', :table) = :table AS fenced;
TRUNCATE truncate_table;
SELECT count(*) AS rows FROM truncate_table;
ROLLBACK;
TRUNCATE truncate_table;
SELECT count(*) AS rows FROM truncate_table;
-- A token that passed in the column counts too.
BEGIN;
UPDATE truncate_table SET fence = :table;
TRUNCATE truncate_table;
ROLLBACK;

-- Several tables: all or nothing; CASCADE reaches what refers to them.
BEGIN;
SELECT distlock.fence('truncate:table', :table) = :table AS fenced;
SAVEPOINT s;
TRUNCATE truncate_free, truncate_table, truncate_rows;
ROLLBACK TO s;
TRUNCATE truncate_free, truncate_table;
ROLLBACK;
TRUNCATE truncate_free, truncate_table;
SELECT count(*) AS rows FROM truncate_free;
CREATE TABLE truncate_parent (id int PRIMARY KEY);
CREATE TABLE truncate_child (id int REFERENCES truncate_parent);
SELECT distlock.protect('truncate_child', 'truncate:table');
TRUNCATE truncate_parent CASCADE;
BEGIN;
SELECT distlock.fence('truncate:table', :table) = :table AS fenced;
TRUNCATE truncate_parent CASCADE;
COMMIT;

-- Partitioned: through the parent and directly.
CREATE TABLE truncate_parted (id int) PARTITION BY RANGE (id);
CREATE TABLE truncate_parted_1 PARTITION OF truncate_parted FOR VALUES FROM (1) TO (10);
CREATE TABLE truncate_parted_2 PARTITION OF truncate_parted FOR VALUES FROM (10) TO (20) PARTITION BY RANGE (id);
CREATE TABLE truncate_parted_2_1 PARTITION OF truncate_parted_2 FOR VALUES FROM (10) TO (20);
SELECT distlock.protect('truncate_parted', 'truncate:table');
TRUNCATE truncate_parted;
TRUNCATE truncate_parted_1;
TRUNCATE truncate_parted_2;
TRUNCATE truncate_parted_2_1;
BEGIN;
SELECT distlock.fence('truncate:table', :table) = :table AS fenced;
TRUNCATE truncate_parted;
TRUNCATE truncate_parted_1;
TRUNCATE truncate_parted_2;
TRUNCATE truncate_parted_2_1;
COMMIT;
SELECT distlock.unprotect('truncate_parted');
TRUNCATE truncate_parted_2_1;

-- Inheritance: TRUNCATE of the parent fires the children's triggers.
CREATE TABLE truncate_base (id int);
CREATE TABLE truncate_heir () INHERITS (truncate_base);
SELECT distlock.protect('truncate_heir', 'truncate:table');
TRUNCATE truncate_base;
TRUNCATE ONLY truncate_base;

-- Mode row keeps its tokens in the rows: TRUNCATE forgets them, as DELETE does.
SELECT distlock.unprotect('truncate_table');
SELECT distlock.protect('truncate_table', 'truncate:table', 'row', 'fence');
TRUNCATE truncate_table;

-- A table that this transaction has created or emptied is no exception.
BEGIN;
CREATE TABLE truncate_new (id int);
SELECT distlock.protect('truncate_new', 'truncate:table');
TRUNCATE truncate_new;
ROLLBACK;

DROP TABLE truncate_rows, truncate_table, truncate_free, truncate_parent, truncate_child, truncate_parted, truncate_base CASCADE;
DELETE FROM distlock.lease WHERE name LIKE 'truncate:%';
