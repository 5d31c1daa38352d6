-- View waiters: its columns, and nothing in it when nobody waits.  Who stands where is in the isolation specs.
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = 'distlock.waiters'::regclass AND attnum > 0 ORDER BY attnum;
SELECT distlock.try_acquire('waiters:a') > 0 AS got;
SELECT distlock.try_acquire('waiters:a', wait => '20 ms') IS NULL AS not_got;
SELECT * FROM distlock.waiters WHERE name LIKE 'waiters:%';
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;
SELECT * FROM distlock.waiters WHERE name LIKE 'waiters:%';
COMMIT;
CREATE ROLE distlock_waiters;
GRANT USAGE ON SCHEMA distlock TO distlock_waiters;
SET ROLE distlock_waiters;
SELECT * FROM distlock.waiters WHERE name LIKE 'waiters:%';
RESET ROLE;
REVOKE USAGE ON SCHEMA distlock FROM distlock_waiters;
DROP ROLE distlock_waiters;
DELETE FROM distlock.lease WHERE name = 'waiters:a';
