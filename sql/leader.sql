-- leader: who holds a lock as a leader, in one row or none (S-83, S-88).
\set VERBOSITY sqlstate

SELECT count(*) FROM distlock.leader('leader:a');
SELECT distlock.try_acquire('leader:a', '1 min', owner => 'node 1', metadata => '{"address": "10.0.0.1:80"}') AS term1 \gset
SELECT term = :term1 AS term, owner, metadata ->> 'address' AS address, expires_at - since AS lease FROM distlock.leader('leader:a');
SELECT distlock.renew('leader:a', :term1) IS NOT NULL AS renewed;
SELECT term = :term1 AS same_term FROM distlock.leader('leader:a');
-- Resigning is a release; it may be repeated (S-48).
SELECT distlock.release('leader:a', :term1), distlock.release('leader:a', :term1);
SELECT count(*) FROM distlock.leader('leader:a');
SELECT distlock.try_acquire('leader:a', '20 ms', owner => 'node 2', lock_delay => '20 s') AS term2 \gset
SELECT term = :term2 AND term > :term1 AS higher, owner, metadata FROM distlock.leader('leader:a');
-- An expired leader leads no more, taken over or not; nor does one that is only kept out of others' way.
SELECT pg_sleep(0.03);
SELECT count(*) FROM distlock.leader('leader:a');
SELECT distlock.try_acquire('leader:b', '1 min', min_hold => '20 s') AS t \gset
SELECT distlock.release('leader:b', :t);
SELECT count(*) FROM distlock.leader('leader:b');
-- Shared holders and permits lead nothing.
SELECT distlock.try_acquire('leader:c', mode => 'shared') > 0 AS got, distlock.try_acquire('leader:d', capacity => 2) > 0 AS got;
SELECT count(*) FROM distlock.leader('leader:c');
SELECT count(*) FROM distlock.leader('leader:d');
SELECT distlock.try_acquire('leader:e', session_bound => true) AS t \gset
SELECT term = :t AS term FROM distlock.leader('leader:e');
SELECT pg_advisory_unlock_all();
SELECT count(*) FROM distlock.leader('leader:e');
-- Read-only and in a snapshot of the past it says how it is now.
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT count(*) FROM distlock.leader('leader:e');
COMMIT;
SELECT * FROM distlock.leader(NULL);
SELECT * FROM distlock.leader('');

DELETE FROM distlock.lease WHERE name LIKE 'leader:%';
