-- Mode live_strict: like live, but an expired token is refused even while nobody else has the lock.
\set VERBOSITY sqlstate
SET client_min_messages = warning;
CREATE TABLE live_strict_a (id int PRIMARY KEY, body text, fence bigint);
CREATE TABLE live_strict_b (id int PRIMARY KEY, body text, fence bigint);
SELECT distlock.protect('live_strict_a', 'live_strict:{id}', 'live_strict', 'fence');
SELECT distlock.protect('live_strict_b', 'live_strict:{id}', 'live', 'fence');
SELECT table_name, mode FROM distlock.protected_tables WHERE table_name LIKE 'live\_strict\_%' ORDER BY table_name;

-- While the lease lives both accept it; without a token both refuse.
SELECT distlock.try_acquire('live_strict:1', '1 h') AS token \gset
INSERT INTO live_strict_a VALUES (1, 'alive', :token);
INSERT INTO live_strict_b VALUES (1, 'alive', :token);
UPDATE live_strict_a SET body = 'no token';
UPDATE live_strict_a SET body = 'wrong', fence = :token - 1;

-- Expired, and nobody else was granted the lock.
SELECT distlock.renew('live_strict:1', :token, '10 ms') IS NOT NULL AS shortened;
SELECT pg_sleep(0.05);
UPDATE live_strict_b SET body = 'expired', fence = :token;
UPDATE live_strict_a SET body = 'expired', fence = :token;
BEGIN;
SELECT distlock.fence('live_strict:1', :token) = :token AS fenced;
UPDATE live_strict_b SET body = 'expired, fenced';
SAVEPOINT s;
UPDATE live_strict_a SET body = 'expired, fenced';
ROLLBACK TO s;
DELETE FROM live_strict_a;
ROLLBACK TO s;
TRUNCATE live_strict_a;
COMMIT;
SELECT a.body AS strict, b.body AS live FROM live_strict_a AS a, live_strict_b AS b;

-- A check that passed while the lease was alive is not enough once it is over, in the same transaction.
SELECT distlock.try_acquire('live_strict:1', '1 h') AS token \gset
BEGIN;
SELECT distlock.fence('live_strict:1', :token) = :token AS fenced;
UPDATE live_strict_a SET body = 'in time';
SELECT distlock.renew('live_strict:1', :token, '10 ms') IS NOT NULL AS shortened;
SELECT pg_sleep(0.05);
UPDATE live_strict_b SET body = 'late';
UPDATE live_strict_a SET body = 'late';
ROLLBACK;
-- And one that was renewed in time is good for as long as it is good.
SELECT distlock.renew('live_strict:1', :token, '1 s') IS NOT NULL AS shortened;
BEGIN;
SELECT distlock.fence('live_strict:1', :token) = :token AS fenced;
UPDATE live_strict_b SET body = 'in time';
SELECT distlock.renew('live_strict:1', :token, '1 h') IS NOT NULL AS renewed;
SELECT pg_sleep(1.2);
UPDATE live_strict_a SET body = 'in time';
COMMIT;
SELECT a.body AS strict, b.body AS live FROM live_strict_a AS a, live_strict_b AS b;

-- A table-wide lock.
SELECT distlock.protect('live_strict_a', 'live_strict:all', 'live_strict');
SELECT distlock.try_acquire('live_strict:all', '1 h') AS "all" \gset
BEGIN;
SELECT distlock.fence('live_strict:all', :all) = :all AS fenced;
UPDATE live_strict_a SET body = 'all';
TRUNCATE live_strict_a;
ROLLBACK;
SELECT distlock.renew('live_strict:all', :all, '10 ms') IS NOT NULL AS shortened;
SELECT pg_sleep(0.05);
BEGIN;
SELECT distlock.fence('live_strict:all', :all) = :all AS fenced;
TRUNCATE live_strict_a;
ROLLBACK;
BEGIN;
SELECT distlock.fence('live_strict:all', :all) = :all AS fenced;
UPDATE live_strict_a SET body = 'all';
ROLLBACK;

DROP TABLE live_strict_a, live_strict_b;
DELETE FROM distlock.lease WHERE name LIKE 'live_strict:%';
