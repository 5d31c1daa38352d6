-- try_acquire and acquire: who gets a lock, for how long, and what a failed try leaves behind.
\set VERBOSITY sqlstate

-- A token is positive, above int4 (an int column fails in development) and exact in a double.
SELECT distlock.try_acquire('acquire:a') AS first \gset
SELECT :first > 2147483647 AS above_int4, :first < 9007199254740992 AS below_2_53;
SELECT name, slot, token = :first AS same_token, state, mode, capacity, owner, role = current_user AS my_role,
       metadata, expires_at - since AS lease, renewed_at = since AS not_renewed,
       remaining_ms BETWEEN 1 AND 30000 AS remaining, grants, takeovers, session_pid, pinned_by
FROM distlock.holder('acquire:a');

-- Held is held, for everybody: no re-entry by session, role or label (S-02, S-99).
SELECT distlock.try_acquire('acquire:a') IS NULL AS busy;
SELECT distlock.try_acquire('acquire:b', owner => 'same label') > 0 AS got;
SELECT distlock.try_acquire('acquire:b', owner => 'same label') IS NULL AS busy;

-- acquire says the same with an error.
SELECT distlock.acquire('acquire:a', wait => '0');
SELECT clock_timestamp() AS started \gset
SELECT distlock.acquire('acquire:a', wait => '100 ms');
SELECT distlock.try_acquire('acquire:a', wait => '100 ms') IS NULL AS busy;
SELECT clock_timestamp() - :'started' BETWEEN '200 ms' AND '30 s' AS waited_twice;
SELECT distlock.acquire('acquire:c') > 0 AS got;

-- A failed try writes nothing: no transaction id, no row, no lock; the transaction goes on (P7, B39, B56, S-78).
CREATE TEMP VIEW written AS
SELECT name, ctid::text AS place, xmin::text AS made_by, xmax::text AS ended_by FROM distlock.lease WHERE name LIKE 'acquire:%';
CREATE TEMP TABLE before AS TABLE written;
BEGIN;
SELECT distlock.try_acquire('acquire:a') IS NULL AS busy;
SELECT distlock.try_acquire('acquire:a', wait => '50 ms') IS NULL AS busy;
SELECT pg_current_xact_id_if_assigned() IS NULL AS wrote_nothing;
SELECT count(*) AS locks_left FROM pg_locks
WHERE pid = pg_backend_pid() AND (locktype = 'advisory' OR mode <> 'AccessShareLock' AND relation = 'distlock.lease'::regclass);
COMMIT;

-- So does a timeout or a cancellation (S-14, S-17).
SET statement_timeout = '200 ms';
SELECT distlock.acquire('acquire:a', wait => '30 s');
SELECT distlock.try_acquire('acquire:a', wait => '30 s');
RESET statement_timeout;
SELECT count(*) AS locks_left FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory';
SELECT count(*) AS waiters FROM distlock.waiters;
SELECT count(*) AS changed FROM ((TABLE before EXCEPT TABLE written) UNION ALL (TABLE written EXCEPT TABLE before)) AS d;

-- lock_timeout does not cut a wait short.
SET lock_timeout = '10 ms';
SELECT clock_timestamp() AS started \gset
SELECT distlock.try_acquire('acquire:a', wait => '200 ms') IS NULL AS busy;
SELECT clock_timestamp() - :'started' >= '200 ms' AS waited_in_full;
RESET lock_timeout;

-- An expired lock is taken at once, under a higher token, and the takeover is counted.
SELECT distlock.try_acquire('acquire:d', '20 ms') AS old \gset
SELECT pg_sleep(0.05);
SELECT state, remaining_ms FROM distlock.holder('acquire:d');
SELECT distlock.try_acquire('acquire:d', '1 min') AS new \gset
SELECT :new > :old AS higher;
SELECT state, grants, takeovers FROM distlock.holder('acquire:d');

-- Waiting, it is taken when the lease ends (S-68: not before).
SELECT distlock.try_acquire('acquire:e', '300 ms') AS old \gset
SELECT expires_at AS "end" FROM distlock.holder('acquire:e') \gset
SELECT distlock.acquire('acquire:e', wait => '30 s') AS new \gset
SELECT :new > :old AS higher, since >= :'end' AS not_before, since < :'end'::timestamptz + interval '10 s' AS in_time
FROM distlock.holder('acquire:e');

-- A released lock is granted again under a higher token; no takeover.
SELECT distlock.try_acquire('acquire:f') AS old \gset
SELECT distlock.release('acquire:f', :old);
SELECT distlock.try_acquire('acquire:f') AS new \gset
SELECT :new > :old AS higher, grants, takeovers FROM distlock.holder('acquire:f');

-- The lease runs from the grant, not from the start of the transaction (B30).
BEGIN;
SELECT pg_sleep(0.05);
SELECT distlock.try_acquire('acquire:g', '1 min') > 0 AS got;
SELECT since >= now() + interval '50 ms' AS from_the_grant, expires_at - since AS lease FROM distlock.holder('acquire:g');
COMMIT;

-- Lengths are exact: fractions of a second are kept (S-59), a day has 24 hours, whatever the zone (B33).
SELECT distlock.try_acquire('acquire:h', '1.5 s') > 0 AS got;
SELECT distlock.try_acquire('acquire:i', '1 day') > 0 AS got;
SELECT distlock.try_acquire('acquire:j', '10 ms') > 0 AS got;
SELECT distlock.try_acquire('acquire:k', '-1 day 25 hours') > 0 AS got;
SELECT name, round(extract(epoch FROM expires_at - since), 3) AS seconds
FROM distlock.locks WHERE name IN ('acquire:h', 'acquire:i', 'acquire:j', 'acquire:k') ORDER BY name;

-- Label and metadata are kept as given, also when they need another table's room, and through a renewal.
SELECT distlock.try_acquire('acquire:l', owner => repeat('é', 20000), metadata => jsonb_build_object('numbers',
    (SELECT jsonb_agg(i * 7919 % 100003) FROM generate_series(1, 50000) AS i))) AS token \gset
SELECT distlock.renew('acquire:l', :token) IS NOT NULL AS renewed;
SELECT owner = repeat('é', 20000) AS owner, metadata = jsonb_build_object('numbers',
    (SELECT jsonb_agg(i * 7919 % 100003) FROM generate_series(1, 50000) AS i)) AS metadata
FROM distlock.holder('acquire:l');
SELECT distlock.release('acquire:l', :token);
-- They belong to a grant: the next one has its own.
SELECT distlock.try_acquire('acquire:l') > 0 AS got;
SELECT owner, metadata FROM distlock.holder('acquire:l');
SELECT distlock.try_acquire('acquire:m', owner => '', metadata => 'null') > 0 AS got;
SELECT owner, metadata FROM distlock.holder('acquire:m');

-- A NULL ttl or option means its default.
SELECT distlock.try_acquire('acquire:n', NULL, '0', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) > 0 AS got;
SELECT mode, capacity, owner, expires_at - since AS lease FROM distlock.holder('acquire:n');
SELECT distlock.acquire('acquire:o', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) > 0 AS got;

-- durable => false opts out of the wait for the flush, not of the order of tokens.
SELECT distlock.try_acquire('acquire:p', '20 ms', durable => false) AS old \gset
SELECT distlock.acquire('acquire:p', wait => '10 s', durable => false) AS new \gset
SELECT :new > :old AS higher;

-- min_hold: a lock released early stays busy (S-105).
SELECT distlock.try_acquire('acquire:q', min_hold => '1 s') AS old \gset
SELECT distlock.release('acquire:q', :old);
SELECT state FROM distlock.holder('acquire:q');
SELECT distlock.try_acquire('acquire:q') IS NULL AS busy;
SELECT distlock.renew('acquire:q', :old) IS NULL AS lost, distlock.is_current('acquire:q', :old);
SELECT distlock.try_acquire('acquire:q', wait => '10 s') > :old AS got_in_the_end;
-- lock_delay: an expired lock stays busy; a released one does not.
SELECT distlock.try_acquire('acquire:r', '20 ms', lock_delay => '1 s') AS old \gset
SELECT pg_sleep(0.05);
SELECT state FROM distlock.holder('acquire:r');
SELECT distlock.try_acquire('acquire:r') IS NULL AS busy;
SELECT distlock.renew('acquire:r', :old) IS NULL AS lost;
SELECT distlock.try_acquire('acquire:r', wait => '10 s', lock_delay => '1 h') AS new \gset
SELECT :new > :old AS got_in_the_end;
SELECT distlock.release('acquire:r', :new);
SELECT distlock.try_acquire('acquire:r') > :new AS got;

-- A session that ends leaves its lease: it is a row, not a session's lock (B15, S-55).
SELECT distlock.try_acquire('acquire:s', '1 h') AS token \gset
\c
SELECT distlock.try_acquire('acquire:s') IS NULL AS busy;
SELECT distlock.is_current('acquire:s', :token), state, pinned_by FROM distlock.holder('acquire:s');
DISCARD ALL;
SELECT pg_advisory_unlock_all();
SELECT distlock.try_acquire('acquire:s') IS NULL AS busy;

-- One transaction may take several locks, one after the other, without waiting.
BEGIN;
SELECT count(distlock.try_acquire('acquire:t' || i)) AS got FROM generate_series(1, 100) AS i;
COMMIT;
SELECT count(*) AS held, count(DISTINCT token) AS tokens FROM distlock.locks WHERE name LIKE 'acquire:t%';

DELETE FROM distlock.lease WHERE name LIKE 'acquire:%';
