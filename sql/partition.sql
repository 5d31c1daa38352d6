-- Partitioned tables and inheritance: routing, row movement, partitions that come and go.
\set VERBOSITY sqlstate
SET client_min_messages = warning;
CREATE TABLE partition_job (id int, region text, body text, fence bigint, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE partition_east PARTITION OF partition_job FOR VALUES IN ('east');
-- A partition whose columns stand in another order and had others before.
CREATE TABLE partition_west (gone int, fence bigint, region text NOT NULL, body text, id int NOT NULL, PRIMARY KEY (id, region));
ALTER TABLE partition_west DROP COLUMN gone;
ALTER TABLE partition_job ATTACH PARTITION partition_west FOR VALUES IN ('west');
-- One level down.
CREATE TABLE partition_far PARTITION OF partition_job FOR VALUES IN ('far') PARTITION BY RANGE (id);
CREATE TABLE partition_far_1 PARTITION OF partition_far FOR VALUES FROM (1) TO (100);
INSERT INTO partition_job VALUES (1, 'east', 'old'), (2, 'west', 'old'), (3, 'far', 'old');
SELECT distlock.protect('partition_job', 'partition:{id}:{region}', token_column => 'fence');
SELECT distlock.protect('partition_job', 'partition:{id}:{region}', token_column => 'fence');
SELECT table_name, lock, mode, token_column, firing, problems FROM distlock.protected_tables WHERE table_name LIKE 'partition\_%' ORDER BY table_name;
SELECT tgrelid::regclass AS on, tgname FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'partition\_%' AND NOT tgisinternal ORDER BY tgrelid::regclass::text, tgname;
SELECT distlock.try_acquire('partition:1:east', '1 h') AS east \gset
SELECT distlock.try_acquire('partition:1:west', '1 h') AS west \gset
SELECT distlock.try_acquire('partition:1:far', '1 h') AS far \gset
SELECT distlock.try_acquire('partition:2:west', '1 h') AS two \gset

-- Through the parent and directly.
UPDATE partition_job SET body = 'new' WHERE id = 1;
UPDATE partition_east SET body = 'new' WHERE id = 1;
UPDATE partition_job SET body = 'by parent', fence = :east WHERE id = 1;
UPDATE partition_job SET body = 'by parent', fence = :two WHERE id = 2;
SELECT tableoid::regclass AS in, id, region, body, fence FROM partition_job ORDER BY id;
UPDATE partition_east SET body = 'directly', fence = :east WHERE id = 1;
UPDATE partition_west SET body = 'directly', fence = :two WHERE id = 2;
UPDATE partition_west SET body = 'directly', fence = :east WHERE id = 2;
SELECT tableoid::regclass AS in, id, region, body, fence FROM partition_job ORDER BY id;
DELETE FROM partition_job WHERE id = 2;
DELETE FROM partition_west;
DELETE FROM partition_far_1;
DELETE FROM partition_job;

-- Routing of INSERT and COPY.
INSERT INTO partition_job VALUES (1, 'west', 'routed');
INSERT INTO partition_job VALUES (1, 'west', 'routed', :east);
INSERT INTO partition_job VALUES (1, 'west', 'routed', :west);
INSERT INTO partition_far VALUES (1, 'far', 'routed', :far);
SELECT tableoid::regclass AS in, id, region, body, fence FROM partition_job WHERE body = 'routed' ORDER BY region;
INSERT INTO partition_job VALUES (1, 'far', 'conflict', :far) ON CONFLICT (id, region) DO UPDATE SET body = EXCLUDED.body;
INSERT INTO partition_job VALUES (1, 'west', 'conflict', :west) ON CONFLICT (id, region) DO UPDATE SET body = EXCLUDED.body || '!';
SELECT region, body, fence FROM partition_job WHERE id = 1 ORDER BY region;
BEGIN;
SELECT distlock.fence('partition:1:far', :far) = :far AS fenced;
DELETE FROM partition_job WHERE id = 1 AND region = 'far';
COPY partition_job (id, region, body) FROM stdin;
1	far	copied
\.
COMMIT;
COPY partition_job (id, region, body) FROM stdin;
7	far	copied
\.
BEGIN;
SELECT distlock.fence('partition:1:far', :far) = :far AS fenced, distlock.fence('partition:1:west', :west) = :west AS fenced;
DELETE FROM partition_job WHERE id = 1 AND region <> 'east';
COMMIT;

-- Row movement is an UPDATE, a DELETE in the old partition and an INSERT in the new one; the template names both locks.
BEGIN;
SAVEPOINT s;
UPDATE partition_job SET region = 'west' WHERE id = 1;
ROLLBACK TO s;
UPDATE partition_job SET region = 'west', fence = :east WHERE id = 1;
ROLLBACK TO s;
UPDATE partition_job SET region = 'west', fence = :west WHERE id = 1;
ROLLBACK TO s;
SELECT distlock.fence('partition:1:west', :west) = :west AS fenced;
UPDATE partition_job SET region = 'west', body = 'moved', fence = :east WHERE id = 1;
SELECT tableoid::regclass AS in, id, region, body, fence FROM partition_job WHERE id = 1;
UPDATE partition_job SET region = 'far', body = 'moved on' WHERE id = 1;
ROLLBACK TO s;
SELECT distlock.fence('partition:1:far', :far) = :far AS fenced, distlock.fence('partition:1:east', :east) = :east AS fenced;
UPDATE partition_job SET region = 'far', body = 'moved down' WHERE id = 1;
SELECT tableoid::regclass AS in, id, region, body, fence FROM partition_job WHERE id = 1;
MERGE INTO partition_job AS j USING (VALUES (1)) AS v (i) ON j.id = v.i WHEN MATCHED THEN UPDATE SET region = 'east', body = 'and back';
SELECT tableoid::regclass AS in, id, region, body, fence FROM partition_job WHERE id = 1;
ROLLBACK;
-- When the lock does not depend on the partition, one token is enough for the move.
SELECT distlock.protect('partition_job', 'partition:{id}', token_column => 'fence');
SELECT distlock.try_acquire('partition:1', '1 h') AS one \gset
UPDATE partition_job SET region = 'west', body = 'moved by one token', fence = :one WHERE id = 1;
UPDATE partition_job SET region = 'far', body = 'moved without' WHERE id = 1;
INSERT INTO partition_job VALUES (1, 'west', 'upsert', :one) ON CONFLICT (id, region) DO UPDATE SET region = 'west', body = EXCLUDED.body;
SELECT tableoid::regclass AS in, id, region, body, fence FROM partition_job WHERE id = 1;

-- A partition made later has the row trigger at once; its TRUNCATE trigger comes with the next protect.
CREATE TABLE partition_north PARTITION OF partition_job FOR VALUES IN ('north');
INSERT INTO partition_job VALUES (1, 'north', 'new');
INSERT INTO partition_north VALUES (1, 'north', 'new');
INSERT INTO partition_north VALUES (1, 'north', 'new', :one);
SELECT problems FROM distlock.protected_tables WHERE table_name = 'partition_job';
SELECT distlock.protect('partition_job', 'partition:{id}', token_column => 'fence');
SELECT problems FROM distlock.protected_tables WHERE table_name = 'partition_job';
TRUNCATE partition_north;
TRUNCATE partition_far_1;
TRUNCATE partition_job;
-- A partition of a protected table is not protected otherwise, nor unprotected alone.
SELECT distlock.protect('partition_east', 'other:{id}');
DO $$
BEGIN
    PERFORM distlock.unprotect('partition_east');
EXCEPTION WHEN invalid_parameter_value THEN
    NULL;
END $$;
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'partition_east'::regclass AND NOT tgisinternal;
-- Detached, it keeps no row trigger: the view says that something is wrong.
ALTER TABLE partition_job DETACH PARTITION partition_north;
UPDATE partition_north SET body = 'not checked';
SELECT table_name, problems <> '{}' AS problems FROM distlock.protected_tables WHERE table_name LIKE 'partition\_%' ORDER BY table_name;
SELECT distlock.protect('partition_north', 'partition:{id}', token_column => 'fence');
UPDATE partition_north SET body = 'checked again';
-- Attaching a table with a fence of its own does not go unnoticed.
ALTER TABLE partition_job ATTACH PARTITION partition_north FOR VALUES IN ('north');
SELECT distlock.unprotect('partition_north');
ALTER TABLE partition_job ATTACH PARTITION partition_north FOR VALUES IN ('north');
UPDATE partition_north SET body = 'checked as a partition';
UPDATE partition_north SET body = 'checked as a partition', fence = :one;

-- unprotect takes all triggers away, those of the partitions too.
SELECT distlock.unprotect('partition_job');
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'partition\_%' AND NOT tgisinternal;
UPDATE partition_job SET body = 'free';
TRUNCATE partition_job;
SELECT distlock.unprotect('partition_job');
DROP TABLE partition_job;

-- Inheritance: children are tables of their own; the view names those without a fence.
CREATE TABLE partition_base (id int, body text);
CREATE TABLE partition_child (extra int) INHERITS (partition_base);
INSERT INTO partition_child VALUES (1, 'old', 0);
SELECT distlock.protect('partition_base', 'partition:{id}');
SELECT problems FROM distlock.protected_tables WHERE table_name = 'partition_base';
UPDATE partition_base SET body = 'not checked' WHERE id = 1;
SELECT distlock.protect('partition_child', 'partition:{id}');
SELECT table_name, problems FROM distlock.protected_tables WHERE table_name LIKE 'partition\_%' ORDER BY table_name;
UPDATE partition_base SET body = 'checked' WHERE id = 1;
SELECT distlock.unprotect('partition_base');
UPDATE partition_base SET body = 'still checked' WHERE id = 1;
DROP TABLE partition_base CASCADE;
DELETE FROM distlock.lease WHERE name LIKE 'partition:%';
