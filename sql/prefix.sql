-- grant_prefix: names that begin with a prefix are kept to roles (B50); three roles.
\set VERBOSITY sqlstate
CREATE ROLE distlock_prefix_a;
CREATE ROLE distlock_prefix_b;
CREATE ROLE distlock_prefix_c IN ROLE distlock_prefix_a;
GRANT USAGE ON SCHEMA distlock TO distlock_prefix_a, distlock_prefix_b, distlock_prefix_c;

SELECT distlock.grant_prefix('prefix:a/', 'distlock_prefix_a');
SELECT distlock.grant_prefix('prefix:a/', 'distlock_prefix_a');
SET ROLE distlock_prefix_a;
SELECT distlock.try_acquire('prefix:a/1') AS t \gset
SET ROLE distlock_prefix_c;
SELECT distlock.try_acquire('prefix:a/2') > 0 AS member;
SET ROLE distlock_prefix_b;
SELECT distlock.try_acquire('prefix:a/3');
SELECT distlock.acquire('prefix:a/3');
CALL distlock.acquire_long('prefix:a/3');
SELECT * FROM distlock.acquire_all('{prefix:b,prefix:a/3}');
SELECT distlock.renew('prefix:a/1', :t);
SELECT * FROM distlock.renew_many('{prefix:a/1}', ARRAY[:t]);
SELECT distlock.release('prefix:a/1', :t);
SELECT distlock.fence('prefix:a/1', :t);
SELECT distlock.downgrade('prefix:a/1', :t);
SELECT distlock.raise_token('prefix:a/1', :t, :t + 1);
SELECT distlock.set_capacity('prefix:a/4', 2);
SELECT distlock.begin_run('prefix:a/5', now());
SELECT distlock.end_run('prefix:a/5', now(), 1);
-- Byte by byte, and only from the beginning.
SELECT distlock.try_acquire('prefix:a') > 0 AS shorter, distlock.try_acquire('PREFIX:A/3') > 0 AS other_case,
       distlock.try_acquire('x prefix:a/3') > 0 AS inside;
-- Administration is not for everybody.
SELECT distlock.grant_prefix('prefix:a/', 'distlock_prefix_b');
SELECT distlock.revoke_prefix('prefix:a/', 'distlock_prefix_a');
SELECT count(*) FROM distlock.prefix_grant;
RESET ROLE;

-- Several roles share one; a longer prefix is no exception from a shorter one for its members.
SELECT distlock.grant_prefix('prefix:a/', 'distlock_prefix_b');
SET ROLE distlock_prefix_b;
SELECT distlock.try_acquire('prefix:a/3') > 0 AS now_allowed;
SELECT distlock.release('prefix:a/1', :t);
RESET ROLE;
SELECT distlock.revoke_prefix('prefix:a/', 'distlock_prefix_a');
SELECT distlock.revoke_prefix('prefix:a/', 'distlock_prefix_a');
SET ROLE distlock_prefix_a;
-- Who has lost the right has lost it for what it holds, too.
SELECT distlock.renew('prefix:a/1', :t);
RESET ROLE;
SELECT distlock.revoke_prefix('prefix:a/', 'distlock_prefix_b');
SET ROLE distlock_prefix_a;
SELECT distlock.renew('prefix:a/1', :t) IS NOT NULL AS open_to_all_again;
RESET ROLE;

-- Force and fence of an administrator that is not a member; a superuser is a member of all.
GRANT EXECUTE ON FUNCTION distlock.force_release TO distlock_prefix_b;
SELECT distlock.grant_prefix('prefix:a/', 'distlock_prefix_a');
SET ROLE distlock_prefix_b;
SELECT distlock.force_release('prefix:a/1', :t);
RESET ROLE;
SELECT distlock.force_release('prefix:a/1', :t);
REVOKE EXECUTE ON FUNCTION distlock.force_release FROM distlock_prefix_b;

-- Rolled back, it has not been; within the transaction it counts at once.
BEGIN;
SELECT distlock.grant_prefix('prefix:r/', 'distlock_prefix_a');
SET LOCAL ROLE distlock_prefix_b;
SAVEPOINT s;
SELECT distlock.try_acquire('prefix:r/1');
ROLLBACK TO s;
ROLLBACK;
SET ROLE distlock_prefix_b;
SELECT distlock.try_acquire('prefix:r/1') > 0 AS allowed;
RESET ROLE;

-- The empty prefix covers all names.
BEGIN;
SELECT distlock.grant_prefix('', 'distlock_prefix_a');
SET LOCAL ROLE distlock_prefix_b;
SAVEPOINT s;
SELECT distlock.try_acquire('prefix:anything');
ROLLBACK TO s;
SET LOCAL ROLE distlock_prefix_c;
SELECT distlock.try_acquire('prefix:anything') > 0 AS member;
ROLLBACK;

-- In a SECURITY DEFINER function it is the caller who is looked at.
CREATE FUNCTION prefix_definer() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$SELECT distlock.try_acquire('prefix:a/9')$$;
SET ROLE distlock_prefix_b;
SELECT prefix_definer();
RESET ROLE;
DROP FUNCTION prefix_definer;

SELECT distlock.grant_prefix(NULL, 'distlock_prefix_a');
SELECT distlock.grant_prefix('prefix:x', NULL);
SELECT distlock.grant_prefix('prefix:x', 4294967295::oid::regrole);
SELECT distlock.grant_prefix(repeat('x', 513), 'distlock_prefix_a');
SELECT distlock.revoke_prefix('prefix:a/', 'distlock_prefix_a');

REVOKE USAGE ON SCHEMA distlock FROM distlock_prefix_a, distlock_prefix_b, distlock_prefix_c;
DELETE FROM distlock.lease WHERE name LIKE '%prefix:%' OR name LIKE 'PREFIX:%';
DROP ROLE distlock_prefix_a, distlock_prefix_b, distlock_prefix_c;
