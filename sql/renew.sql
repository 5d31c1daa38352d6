-- renew: a holder keeps its lease, and nobody else can.
\set VERBOSITY sqlstate

SELECT distlock.try_acquire('renew:a', '1 h', owner => 'worker', metadata => '{"step": 1}') AS token \gset
SELECT expires_at AS "end", since FROM distlock.holder('renew:a') \gset

-- The new end is returned, and it lies after the old one; nothing else changes.
SELECT distlock.renew('renew:a', :token) AS new_end \gset
SELECT :'new_end'::timestamptz > :'end' AS later;
SELECT expires_at = :'new_end' AS as_returned, expires_at - renewed_at AS lease, since = :'since' AS same_since,
       token = :token AS same_token, owner, metadata, grants, takeovers
FROM distlock.holder('renew:a');

-- Another ttl counts for this renewal only, and may shorten; the lease's own never does.
SELECT distlock.renew('renew:a', :token, '10 min') < :'new_end' AS shorter;
SELECT distlock.renew('renew:a', :token) >= :'new_end' AS in_full_again;
SELECT distlock.renew('renew:a', :token, '3 h') AS long_end \gset
-- (The server's two clocks are read one after the other, so ends differ by microseconds.)
SELECT distlock.renew('renew:a', :token) >= :'long_end'::timestamptz - interval '10 ms' AS not_shortened;
SELECT distlock.renew('renew:a', :token, NULL) >= :'long_end'::timestamptz - interval '10 ms' AS not_shortened;

-- By name, label, session or role alone nothing is renewed (S-02, S-05, S-09): NULL, and no row is written.
SELECT distlock.try_acquire('renew:b', '1 h') AS other \gset
CREATE TEMP VIEW written AS
SELECT name, ctid::text AS place, xmin::text AS made_by, xmax::text AS ended_by FROM distlock.lease WHERE name LIKE 'renew:%';
CREATE TEMP TABLE before AS TABLE written;
SELECT distlock.renew('renew:a', :other) IS NULL AS others_token,
       distlock.renew('renew:a', :token - 1) IS NULL AS lower,
       distlock.renew('renew:a', :token + 1) IS NULL AS higher,
       distlock.renew('renew:a', 0) IS NULL AS zero,
       distlock.renew('renew:a', -:token) IS NULL AS negative,
       distlock.renew('renew:a', 9223372036854775807) IS NULL AS huge,
       distlock.renew('renew:never', :token) IS NULL AS never_acquired;
SELECT count(*) AS changed FROM ((TABLE before EXCEPT TABLE written) UNION ALL (TABLE written EXCEPT TABLE before)) AS d;
-- Renewal never makes a row (S-06).
SELECT count(*) AS rows_made FROM distlock.lease WHERE name = 'renew:never';
-- Nor does a refusal keep a lock or take a transaction id.
BEGIN;
SELECT distlock.renew('renew:a', :token - 1) IS NULL AS lost;
SELECT pg_current_xact_id_if_assigned() IS NULL AS wrote_nothing;
SELECT count(*) AS locks_left FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory';
COMMIT;

-- An expired lease is lost, also when nobody took the lock (S-07, B22).
SELECT distlock.try_acquire('renew:c', '20 ms') AS expired \gset
SELECT pg_sleep(0.05);
SELECT distlock.renew('renew:c', :expired) IS NULL AS lost;
SELECT distlock.renew('renew:c', :expired, '1 h') IS NULL AS lost;
SELECT state FROM distlock.holder('renew:c');
-- So is one that somebody else has taken (S-05), and a released one (S-28).
SELECT distlock.try_acquire('renew:c') AS next \gset
SELECT distlock.renew('renew:c', :expired) IS NULL AS lost, distlock.renew('renew:c', :next) IS NOT NULL AS renewed;
SELECT distlock.release('renew:c', :next);
SELECT distlock.renew('renew:c', :next) IS NULL AS lost;

-- A renewed lease keeps others out to its new end, and no longer.
SELECT distlock.try_acquire('renew:d', '1 h') AS token_d \gset
SELECT distlock.renew('renew:d', :token_d, '300 ms') AS new_end \gset
SELECT distlock.acquire('renew:d', wait => '30 s') > :token_d AS taken;
SELECT since >= :'new_end' AS not_before, since < :'new_end'::timestamptz + interval '10 s' AS in_time
FROM distlock.holder('renew:d');

-- The renewal runs from now, not from the start of the transaction (B31).
BEGIN;
SELECT pg_sleep(0.05);
SELECT distlock.renew('renew:a', :token, '1 h') >= now() + interval '1 h 50 ms' AS from_now;
COMMIT;

-- From any connection (B07, B12).
\c
SELECT distlock.renew('renew:a', :token) IS NOT NULL AS renewed;

-- A fenced transaction of the holder is no obstacle.
BEGIN;
SELECT distlock.fence('renew:a', :token) = :token AS fenced;
SELECT distlock.renew('renew:a', :token) IS NOT NULL AS renewed;
SELECT distlock.fence('renew:a', :token) = :token AS fenced;
COMMIT;

DELETE FROM distlock.lease WHERE name LIKE 'renew:%';
