-- One cycle, two statements; the backend measures itself when its caches have filled, half-way and at the end.
\set i :i + 1
\set n random(1, 1000)
SELECT distlock.try_acquire('memory:' || :n, '30 s', durable => false) AS token \gset
SELECT distlock.release('memory:' || :n, :token);
\if :i = :start or :i = :middle or :i = :end
SELECT bench.sample_memory('memory_statements');
\endif
