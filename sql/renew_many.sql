-- renew_many: several leases in one call; each answer is that lease's own.
\set VERBOSITY sqlstate

SELECT distlock.try_acquire('many:a', '1 min') AS a \gset
SELECT distlock.try_acquire('many:b', '20 ms') AS b \gset
SELECT distlock.try_acquire('many:c', '1 min') AS c \gset
SELECT distlock.release('many:c', :c);
SELECT distlock.try_acquire('many:d', '1 min', mode => 'shared') AS d1 \gset
SELECT distlock.try_acquire('many:d', '1 min', mode => 'shared') AS d2 \gset
SELECT pg_sleep(0.03);

-- In the order asked for, also twice the same; expired, released, foreign and unknown ones are lost.
SELECT name, expires_at - clock_timestamp() > '50 s' AS renewed
FROM distlock.renew_many(ARRAY['many:d', 'many:a', 'many:b', 'many:c', 'many:d', 'many:d', 'many:z', 'many:a'],
                         ARRAY[:d2, :a, :b, :c, :d1, 7, 7, :a]::bigint[]);
SELECT expires_at - clock_timestamp() > '50 min' AS renewed FROM distlock.renew_many('{many:a}', ARRAY[:a], '1 h');
-- No ttl never shortens; one that is given may.
SELECT expires_at - clock_timestamp() > '50 min' AS long FROM distlock.renew_many('{many:a}', ARRAY[:a]);
SELECT expires_at - clock_timestamp() < '50 min' AS short FROM distlock.renew_many('{many:a}', ARRAY[:a], '2 s');
SELECT distlock.is_current('many:b', :b) AS b_not_revived, state FROM distlock.holder('many:b');

SELECT * FROM distlock.renew_many('{}', '{}');
SELECT * FROM distlock.renew_many('{many:a}', '{}');
SELECT * FROM distlock.renew_many(NULL, '{}');
SELECT * FROM distlock.renew_many('{many:a}', NULL);
SELECT * FROM distlock.renew_many('{many:a,NULL}', '{1,2}');
SELECT * FROM distlock.renew_many('{many:a,many:b}', '{1,NULL}');
SELECT * FROM distlock.renew_many('{many:a}', ARRAY[:a], '1 ms');
SELECT * FROM distlock.renew_many('{""}', '{1}');
BEGIN READ ONLY;
SELECT * FROM distlock.renew_many('{many:a}', ARRAY[:a]);
ROLLBACK;

-- A lease of another role.
CREATE ROLE distlock_many;
GRANT USAGE ON SCHEMA distlock TO distlock_many;
SET ROLE distlock_many;
SELECT * FROM distlock.renew_many('{many:a}', ARRAY[:a]);
RESET ROLE;
REVOKE USAGE ON SCHEMA distlock FROM distlock_many;
DROP ROLE distlock_many;

DELETE FROM distlock.lease WHERE name LIKE 'many:%';
