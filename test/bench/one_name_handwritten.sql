INSERT INTO bench.lease AS l (name, token, expires_at) VALUES ('one name', nextval('bench.token'), clock_timestamp() + interval '30 s') ON CONFLICT (name) DO UPDATE SET token = EXCLUDED.token, expires_at = clock_timestamp() + interval '30 s' WHERE l.expires_at < clock_timestamp() RETURNING token \gset
UPDATE bench.lease SET expires_at = '-infinity' WHERE name = 'one name' AND token = :token;
\set i :i + 1
\if :i = :end
SELECT bench.sample_cpu();
\endif
