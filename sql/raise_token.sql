-- raise_token: the holder's grant gets a higher token; forward only, and not far.
\set VERBOSITY sqlstate

SELECT distlock.try_acquire('raise:a') AS t \gset
SELECT distlock.raise_token('raise:a', :t, :t + 1000000) = :t + 1000000 AS raised;
SELECT token = :t + 1000000 AS shown, state FROM distlock.holder('raise:a');
SELECT distlock.is_current('raise:a', :t) AS old, distlock.is_current('raise:a', :t + 1000000) AS new;
SELECT distlock.fence('raise:a', :t);
SELECT distlock.renew('raise:a', :t) IS NULL AS lost, distlock.release('raise:a', :t);
SELECT distlock.fence('raise:a', :t + 1000000) > 0 AS fenced;
-- Never back; the same is no change.
SELECT distlock.raise_token('raise:a', :t + 1000000, :t) = :t + 1000000 AS kept;
SELECT distlock.raise_token('raise:a', :t + 1000000, :t + 1000000) = :t + 1000000 AS kept;
-- Nobody gets a lower one afterwards, for no lock.
SELECT distlock.try_acquire('raise:b') > :t + 1000000 AS higher;
SELECT distlock.release('raise:a', :t + 1000000);
SELECT distlock.raise_token('raise:a', :t + 1000000, :t + 2000000) IS NULL AS lost;
SELECT distlock.try_acquire('raise:a') > :t + 1000000 AS higher;

-- A day ahead of the clock at most, over any number of calls.
SELECT distlock.try_acquire('raise:c') AS t \gset
SELECT distlock.raise_token('raise:c', :t, 9007199254740991);
SELECT distlock.raise_token('raise:c', :t, :t + 87000000000);
SELECT distlock.raise_token('raise:c', :t, NULL);
SELECT distlock.raise_token('raise:c', NULL, :t);
SELECT distlock.raise_token('raise:c', 7, 8) IS NULL AS foreign;

-- Rolled back, the grant has its token again.
BEGIN;
SELECT distlock.raise_token('raise:c', :t, :t + 1000000) > :t AS raised;
SELECT distlock.fence('raise:c', :t + 1000000) > 0 AS fenced;
ROLLBACK;
SELECT distlock.fence('raise:c', :t) = :t AS fenced;

-- A write under the old token is stale within the same transaction too.
CREATE TABLE raise_report (id int, fence bigint);
SELECT distlock.protect('raise_report', 'raise:c', token_column => 'fence');
BEGIN;
INSERT INTO raise_report VALUES (1, :t);
SELECT distlock.raise_token('raise:c', :t, :t + 1000000) > :t AS raised;
INSERT INTO raise_report VALUES (2, :t + 1000000);
INSERT INTO raise_report VALUES (3, :t);
ROLLBACK;
DROP TABLE raise_report;

DELETE FROM distlock.lease WHERE name LIKE 'raise:%';
