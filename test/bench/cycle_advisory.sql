\set n :client_id * 1000 + random(1, 100)
SELECT pg_try_advisory_lock(hashtextextended('cycle:' || :n, 0));
SELECT pg_advisory_unlock(hashtextextended('cycle:' || :n, 0));
