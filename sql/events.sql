-- distlock.notify: one NOTIFY for each event, off by default (S-79, B59, B61).
\set VERBOSITY sqlstate
LISTEN distlock;
SELECT distlock.release('events:a', distlock.try_acquire('events:a'));
SHOW distlock.notify;
-- psql would print what has come in here: tokens and pids, so the payloads are looked at in test/tap.
UNLISTEN distlock;
SET distlock.notify = on;
BEGIN;
SELECT distlock.release('events:b', distlock.try_acquire('events:b', owner => repeat('"\é', 200)));
SELECT distlock.try_acquire(repeat(E'\x01', 512)) > 0 AS long_name;
ROLLBACK;
SELECT distlock.try_acquire(repeat(E'\x01', 512), owner => repeat(E'\x01', 4000)) > 0 AS longest_payload;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT distlock.release('events:c', distlock.try_acquire('events:c'));
COMMIT;
-- A release cannot fail because of it, nor a rolled-back one be told.
SELECT distlock.try_acquire('events:d') AS t \gset
BEGIN;
SELECT distlock.release('events:d', :t);
ROLLBACK;
SELECT distlock.force_release('events:d', :t);
RESET distlock.notify;
DELETE FROM distlock.lease WHERE name LIKE 'events:%' OR name = repeat(E'\x01', 512);
