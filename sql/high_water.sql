-- high_water: tokens from elsewhere. The highest one seen for a resource is remembered; lower ones are refused.
\set VERBOSITY sqlstate
SET client_min_messages = warning;
CREATE VIEW pg_temp.marks AS SELECT resource, token FROM distlock.mark WHERE resource LIKE 'high:%' ORDER BY resource;

-- The function: rises, stays, never falls. Any 64-bit number that is positive may be a token (a ZooKeeper zxid is one).
SELECT distlock.high_water('high:a', 5);
SELECT distlock.high_water('high:a', 5);
SELECT distlock.high_water('high:a', 4);
SELECT distlock.high_water('high:a', 6);
SELECT distlock.high_water('high:a', 5);
SELECT distlock.high_water('high:b', 1);
SELECT distlock.high_water('high:c', 9223372036854775807);
SELECT distlock.high_water('high:c', 9223372036854775806);
SELECT distlock.high_water('high:c', 9223372036854775807);
SELECT distlock.high_water(resource => 'high:d', token => (3::bigint << 32) + 1);
TABLE pg_temp.marks;
-- Resources are kept apart byte by byte, and have nothing to do with locks of the same name.
SELECT distlock.high_water('high:A', 1);
SELECT distlock.high_water('high:a ', 1);
SELECT distlock.try_acquire('high:a') > 6 AS acquired;
SELECT distlock.is_current('high:a', 6);
SELECT distlock.fence('high:a', 6);

-- Bad arguments. No resource has seen a token of 0 or below.
SELECT distlock.high_water(NULL, 1);
SELECT distlock.high_water('high:a', NULL);
SELECT distlock.high_water('', 1);
SELECT distlock.high_water(repeat('x', 513), 1);
SELECT distlock.high_water('high:new', 0);
SELECT distlock.high_water('high:new', -1);
SELECT distlock.high_water('high:a', -9223372036854775808);
SELECT count(*) AS marks FROM pg_temp.marks WHERE resource = 'high:new';

-- The trigger: token by column, or by high_water() in the same transaction.
CREATE TABLE high_t (id int PRIMARY KEY, body text, fence bigint);
SELECT distlock.protect('high_t', 'high:t:{id}', 'high_water', 'fence');
INSERT INTO high_t VALUES (1, 'none');
INSERT INTO high_t VALUES (1, 'zero', 0);
INSERT INTO high_t VALUES (1, 'negative', -1);
INSERT INTO high_t VALUES (1, 'first', 100);
UPDATE high_t SET body = 'older', fence = 99;
UPDATE high_t SET body = 'equal', fence = 100;
UPDATE high_t SET body = 'higher', fence = 200;
UPDATE high_t SET body = 'was the highest', fence = 100;
DELETE FROM high_t;
TABLE high_t;
-- fence() of a lock of that name does not count, nor does the mark of another resource.
SELECT distlock.try_acquire('high:t:1') AS token \gset
BEGIN;
SELECT distlock.fence('high:t:1', :token) = :token AS fenced, distlock.high_water('high:t:2', 500);
UPDATE high_t SET body = 'by another';
ROLLBACK;
-- high_water() does, for its transaction.
BEGIN;
SELECT distlock.high_water('high:t:1', 200);
UPDATE high_t SET body = 'by high_water()';
DELETE FROM high_t;
ROLLBACK;
UPDATE high_t SET body = 'after that transaction';
-- Nor does high_water() count in the live modes.
CREATE TABLE high_live (id int);
SELECT distlock.protect('high_live', 'high:live');
BEGIN;
SELECT distlock.high_water('high:live', 1);
INSERT INTO high_live VALUES (1);
ROLLBACK;

-- What a savepoint raised goes with it, so what was refused before is refused no more.
BEGIN;
SELECT distlock.high_water('high:s', 10);
SAVEPOINT s;
SELECT distlock.high_water('high:s', 20);
SAVEPOINT t;
SELECT distlock.high_water('high:s', 10);
ROLLBACK TO s;
SELECT distlock.high_water('high:s', 10);
COMMIT;
SELECT token FROM pg_temp.marks WHERE resource = 'high:s';
-- In one transaction a raise ends what was passed before.
BEGIN;
UPDATE high_t SET body = 'under 200', fence = 200;
UPDATE high_t SET body = 'under 201', fence = 201;
SAVEPOINT s;
UPDATE high_t SET body = 'under 200 again', fence = 200;
ROLLBACK TO s;
UPDATE high_t SET body = body || ', then without';
COMMIT;
TABLE high_t;
-- A rolled-back raise leaves nothing.
BEGIN;
SELECT distlock.high_water('high:t:1', 300);
ROLLBACK;
UPDATE high_t SET body = 'still 201', fence = 201;
-- Twice in one statement, and with many rows.
SELECT distlock.high_water('high:e', i) FROM generate_series(1, 3) AS i;
SELECT distlock.high_water('high:e', 3), distlock.high_water('high:e', 4);
INSERT INTO high_t SELECT i, 'many', 1000 + i FROM generate_series(2, 300) AS i;
SELECT count(*) AS rows, count(fence) AS tokens FROM high_t;
SELECT count(*) AS marks, min(token), max(token) FROM distlock.mark WHERE resource LIKE 'high:t:%';
UPDATE high_t SET body = 'as before', fence = CASE id WHEN 1 THEN 201 ELSE 1000 + id END;
UPDATE high_t SET body = 'one is too low', fence = CASE id WHEN 1 THEN 201 WHEN 77 THEN 1076 ELSE 1000 + id END;
SELECT body, count(*) FROM high_t GROUP BY body;

-- TRUNCATE: as in the live modes.
TRUNCATE high_t;
SELECT distlock.protect('high_t', 'high:table', 'high_water', 'fence');
TRUNCATE high_t;
BEGIN;
SELECT distlock.high_water('high:table', 7);
TRUNCATE high_t;
COMMIT;
SELECT count(*) AS rows FROM high_t;

-- Not in a read-only transaction. Isolation levels make no difference.
BEGIN READ ONLY;
SELECT distlock.high_water('high:table', 8);
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO high_t VALUES (1, 'serializable', 8);
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO high_t VALUES (2, 'repeatable read', 7);
ROLLBACK;
-- No prepared transaction keeps a mark pinned.
BEGIN;
SELECT distlock.high_water('high:table', 8);
PREPARE TRANSACTION 'high';
-- Marks are not for pruning.
SELECT distlock.prune('0') >= 0 AS pruned;
SELECT token FROM pg_temp.marks WHERE resource = 'high:table';

DROP TABLE high_t, high_live;
DELETE FROM distlock.mark WHERE resource LIKE 'high:%';
DELETE FROM distlock.lease WHERE name LIKE 'high:%';
