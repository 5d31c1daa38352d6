\if :token = 0
INSERT INTO bench.lease (name, token, expires_at) VALUES ('renew:' || :client_id || ':' || :run, nextval('bench.token'), clock_timestamp() + interval '1 h') RETURNING token \gset
\endif
UPDATE bench.lease SET expires_at = clock_timestamp() + interval '1 h' WHERE name = 'renew:' || :client_id || ':' || :run AND token = :token AND expires_at > clock_timestamp();
