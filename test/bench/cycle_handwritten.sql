\set n :client_id * 1000 + random(1, 100)
INSERT INTO bench.lease AS l (name, token, expires_at) VALUES ('cycle:' || :n, nextval('bench.token'), clock_timestamp() + interval '30 s') ON CONFLICT (name) DO UPDATE SET token = EXCLUDED.token, expires_at = clock_timestamp() + interval '30 s' WHERE l.expires_at < clock_timestamp() RETURNING token \gset
UPDATE bench.lease SET expires_at = '-infinity' WHERE name = 'cycle:' || :n AND token = :token;
