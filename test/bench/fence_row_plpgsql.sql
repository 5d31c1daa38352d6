-- The token by set_config in the same statement: one round trip, like all the others.
\set id random(1, 10000)
UPDATE t SET v = v + 1 WHERE id = :id AND set_config('bench.token', :token::text, true) IS NOT NULL;
