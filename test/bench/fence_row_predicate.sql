-- What people write by hand: the row keeps the highest token.
\set id random(1, 10000)
UPDATE t SET v = v + 1, fence = :token WHERE id = :id AND (fence IS NULL OR fence <= :token);
