-- The first transaction of a client takes its lock, all others renew it.
\if :token = 0
SELECT distlock.try_acquire('renew:' || :client_id || ':' || :run, '1 h') AS token \gset
\endif
SELECT distlock.renew('renew:' || :client_id || ':' || :run, :token);
