SELECT distlock.try_acquire('one name', '30 s', durable => false) AS token \gset
SELECT distlock.release('one name', :token);
\set i :i + 1
\if :i = :end
SELECT bench.sample_cpu();
\endif
