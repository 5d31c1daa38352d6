\set id random(1, 10000)
UPDATE t SET v = v + 1, fence = :token WHERE id = :id;
