-- request_id: a retry after a lost reply gets the grant that the first attempt made (S-15, S-24, P5).
\set VERBOSITY sqlstate
\set mine '''11111111-1111-4111-8111-111111111111'''
\set other '''22222222-2222-4222-8222-222222222222'''

SELECT distlock.try_acquire('request_id:a', '1 min', request_id => :mine, owner => 'first') AS token \gset
SELECT expires_at AS "end", since FROM distlock.holder('request_id:a') \gset
SELECT distlock.try_acquire('request_id:a', '1 min', request_id => :mine) = :token AS same_grant;
SELECT distlock.acquire('request_id:a', '1 min', request_id => :mine) = :token AS same_grant;
-- It is one grant, and its lease runs in full again.
SELECT token = :token AS same_token, since = :'since' AS same_since, expires_at > :'end' AS later,
       expires_at - renewed_at AS lease, grants, takeovers
FROM distlock.holder('request_id:a');
-- From another connection as well: the first one may be dead.
\c
SELECT distlock.try_acquire('request_id:a', '1 min', request_id => :mine) = :token AS same_grant;

-- Anybody else finds the lock busy: with another id, with none, and a NULL is no id.
SELECT distlock.try_acquire('request_id:a', request_id => :other) IS NULL AS other_id,
       distlock.try_acquire('request_id:a') IS NULL AS no_id,
       distlock.try_acquire('request_id:a', request_id => NULL) IS NULL AS null_id;
SELECT distlock.try_acquire('request_id:b') > 0 AS got;
SELECT distlock.try_acquire('request_id:b', request_id => NULL) IS NULL AS busy;
SELECT distlock.acquire('request_id:a', wait => '50 ms', request_id => :other);

-- So does another role, which may have read the id somewhere.
CREATE ROLE regress_distlock_request;
GRANT USAGE ON SCHEMA distlock TO regress_distlock_request;
SET ROLE regress_distlock_request;
SELECT distlock.try_acquire('request_id:a', request_id => :mine) IS NULL AS busy;
RESET ROLE;
SELECT token = :token AS intact, role = current_user AS my_role FROM distlock.holder('request_id:a');

-- An id belongs to one lock.
SELECT distlock.try_acquire('request_id:c', request_id => :mine) AS other_lock \gset
SELECT :other_lock <> :token AS own_token;

-- It never revives a lease: after a release or an expiry there is a new grant with a new token.
SELECT distlock.release('request_id:a', :token);
SELECT distlock.try_acquire('request_id:a', '20 ms', request_id => :mine) AS second \gset
SELECT :second > :token AS new_token;
SELECT pg_sleep(0.05);
SELECT distlock.try_acquire('request_id:a', '1 min', request_id => :mine) AS third \gset
SELECT :third > :second AS new_token, grants, takeovers FROM distlock.holder('request_id:a');
SELECT distlock.renew('request_id:a', :second) IS NULL AS old_one_lost;
-- Nor after somebody else's turn.
SELECT distlock.release('request_id:a', :third);
SELECT distlock.try_acquire('request_id:a', request_id => :other) AS fourth \gset
SELECT distlock.try_acquire('request_id:a', request_id => :mine) IS NULL AS busy;

-- A retry in the transaction of the first attempt, and beside one's own fenced write.
BEGIN;
SELECT distlock.try_acquire('request_id:d', request_id => :mine) AS token \gset
SELECT distlock.try_acquire('request_id:d', request_id => :mine) = :token AS same_grant;
SELECT distlock.fence('request_id:d', :token) = :token AS fenced;
SELECT distlock.try_acquire('request_id:d', request_id => :mine) = :token AS same_grant;
COMMIT;
SELECT grants FROM distlock.holder('request_id:d');
-- After a rollback nothing is left to be found.
BEGIN;
SELECT distlock.try_acquire('request_id:e', request_id => :mine) AS undone \gset
ROLLBACK;
SELECT distlock.try_acquire('request_id:e', request_id => :mine) > :undone AS new_token;

-- What is no uuid is refused by its type.
SELECT distlock.try_acquire('request_id:f', request_id => 'worker-1');

DELETE FROM distlock.lease WHERE name LIKE 'request_id:%';
REVOKE USAGE ON SCHEMA distlock FROM regress_distlock_request;
DROP ROLE regress_distlock_request;
