\set n :client_id * 1000 + random(1, 100)
SELECT distlock.try_acquire('cycle:' || :n, '30 s') AS token \gset
SELECT distlock.release('cycle:' || :n, :token)
