-- acquire_all: all the locks or none, a token each, in one order for everybody (S-97).
\set VERBOSITY sqlstate

SELECT name, token > 0 AS got FROM distlock.acquire_all('{all:c,all:a,all:b}', '1 min', owner => 'me');
SELECT name, owner, expires_at - since AS lease FROM distlock.locks WHERE name LIKE 'all:_' ORDER BY name;
SELECT count(DISTINCT token) FROM distlock.locks WHERE name LIKE 'all:_';

-- One is busy: nothing is taken, in a transaction too, which goes on.
SELECT * FROM distlock.acquire_all('{all:x,all:b,all:y}', wait => '0');
SELECT * FROM distlock.acquire_all('{all:x,all:b,all:y}', wait => '50 ms');
BEGIN;
SAVEPOINT s;
SELECT * FROM distlock.acquire_all('{all:0,all:b}', wait => '0');
ROLLBACK TO s;
SELECT pg_current_xact_id_if_assigned() IS NULL AS wrote_nothing;
ROLLBACK;
SELECT count(*) FROM distlock.locks WHERE name IN ('all:x', 'all:y');
SELECT count(*) AS locks_left FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory';
BEGIN;
SAVEPOINT s;
SELECT * FROM distlock.acquire_all('{all:x,all:b}', wait => '0');
ROLLBACK TO s;
SELECT distlock.try_acquire('all:x') > 0 AS free;
ROLLBACK;

-- A duplicate counts once.
SELECT name, token > 0 AS got FROM distlock.acquire_all('{all:d,all:d,all:d}');
-- Byte order, not the locale's.
SELECT name FROM distlock.acquire_all(ARRAY['all:é', 'all:Z', 'all:z']);

SELECT * FROM distlock.acquire_all('{}');
SELECT * FROM distlock.acquire_all(NULL);
SELECT * FROM distlock.acquire_all('{all:e,NULL}');
SELECT * FROM distlock.acquire_all('{all:e,""}');
SELECT * FROM distlock.acquire_all('{{all:e,all:f},{all:g,all:h}}');
SELECT * FROM distlock.acquire_all('{all:e}', wait => '-1 s');
SELECT * FROM distlock.acquire_all('{all:e}', wait => '2 min');
SELECT * FROM distlock.acquire_all('{all:e}', ttl => '1 ms');
SELECT count(*) FROM distlock.locks WHERE name LIKE 'all:e';

-- The options count for each.
SELECT count(*) FROM distlock.acquire_all('{all:i,all:j}', mode => 'shared');
SELECT count(*) FROM distlock.acquire_all('{all:i,all:j}', mode => 'shared');
SELECT count(*) FROM distlock.acquire_all('{all:k,all:l}', capacity => 2);
SELECT count(*) FROM distlock.acquire_all('{all:k,all:l}', capacity => 2);
SELECT count(*) FROM distlock.acquire_all('{all:k,all:l}', capacity => 2, wait => '0');
SELECT count(*) FROM distlock.acquire_all('{all:u,all:v}', '2 h', min_hold => '1 h', lock_delay => '30 min', metadata => '{"a": 1}', durable => false);
SELECT name, ttl, min_hold, lock_delay, metadata FROM distlock.lease WHERE name IN ('all:u', 'all:v') ORDER BY name;
-- A retry gets the same tokens.
CREATE TEMP TABLE first AS SELECT * FROM distlock.acquire_all('{all:m,all:n}', request_id => '00000000-0000-0000-0000-000000000001');
SELECT count(*) FROM distlock.acquire_all('{all:m,all:n}', request_id => '00000000-0000-0000-0000-000000000001') JOIN first USING (name, token);

-- In a transaction that holds something it must not wait, but may try.
BEGIN;
SELECT distlock.try_acquire('all:o') > 0 AS got;
SELECT count(*) FROM distlock.acquire_all('{all:p,all:q}');
SELECT * FROM distlock.acquire_all('{all:a,all:r}');
ROLLBACK;

-- A name that one of them may not use: none.
CREATE ROLE distlock_all_kept;
CREATE ROLE distlock_all_app;
GRANT USAGE ON SCHEMA distlock TO distlock_all_app;
SELECT distlock.grant_prefix('all:kept/', 'distlock_all_kept');
SET ROLE distlock_all_app;
SELECT * FROM distlock.acquire_all('{all:s,all:kept/1}');
RESET ROLE;
SELECT count(*) FROM distlock.locks WHERE name LIKE 'all:s';
SELECT distlock.revoke_prefix('all:kept/', 'distlock_all_kept');
REVOKE USAGE ON SCHEMA distlock FROM distlock_all_app;
DROP ROLE distlock_all_kept, distlock_all_app;

-- Many.
SELECT count(*), count(DISTINCT token) FROM distlock.acquire_all((SELECT array_agg('all:t' || i) FROM generate_series(1, 200) AS i));

DROP TABLE first;
DELETE FROM distlock.lease WHERE name LIKE 'all:%';
