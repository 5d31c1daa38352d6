-- A hundred cycles in one statement; the backend measures itself when its caches have filled, half-way and at the end.
\set i :i + 1
SELECT bench.cycles(100);
\if :i = :start or :i = :middle or :i = :end
SELECT bench.sample_memory('memory_loop');
\endif
