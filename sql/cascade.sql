-- Foreign-key cascades write too: they run as the table's owner, and the fence asks for the outer user's tokens (B80).
\set VERBOSITY sqlstate
SET client_min_messages = warning;
CREATE TABLE cascade_customer (id int PRIMARY KEY);
CREATE TABLE cascade_order (id int PRIMARY KEY, customer int REFERENCES cascade_customer ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE cascade_note (id int PRIMARY KEY, customer int REFERENCES cascade_customer ON DELETE SET NULL ON UPDATE NO ACTION);
CREATE TABLE cascade_default (id int PRIMARY KEY, customer int DEFAULT 0 REFERENCES cascade_customer ON DELETE SET DEFAULT);
INSERT INTO cascade_customer VALUES (0), (1), (2), (3), (4);
INSERT INTO cascade_order VALUES (10, 1), (11, 1), (20, 2), (40, 4);
INSERT INTO cascade_note VALUES (30, 3);
INSERT INTO cascade_default VALUES (30, 3);
SELECT distlock.protect(t, 'cascade:{id}') FROM (VALUES ('cascade_order'::regclass), ('cascade_note'), ('cascade_default')) AS p (t);
SELECT distlock.try_acquire('cascade:10') AS t10, distlock.try_acquire('cascade:11') AS t11, distlock.try_acquire('cascade:30') AS t30 \gset

-- From a parent that is not protected: the children's locks are needed, each.
DELETE FROM cascade_customer WHERE id = 1;
UPDATE cascade_customer SET id = 5 WHERE id = 1;
DELETE FROM cascade_customer WHERE id = 3;
BEGIN;
SELECT distlock.fence('cascade:10', :t10) = :t10 AS fenced;
SAVEPOINT s;
DELETE FROM cascade_customer WHERE id = 1;
ROLLBACK TO s;
SELECT distlock.fence('cascade:11', :t11) = :t11 AS fenced;
UPDATE cascade_customer SET id = 5 WHERE id = 1;
DELETE FROM cascade_customer WHERE id = 5;
COMMIT;
SELECT id FROM cascade_order ORDER BY id;
BEGIN;
SELECT distlock.fence('cascade:30', :t30) = :t30 AS fenced;
DELETE FROM cascade_customer WHERE id = 3;
COMMIT;
SELECT n.customer AS set_null, d.customer AS set_default FROM cascade_note AS n JOIN cascade_default AS d USING (id);
-- TRUNCATE of the parent takes the children with it.
TRUNCATE cascade_customer CASCADE;
SELECT count(*) AS customers FROM cascade_customer;

-- Tables and writers are different roles: it is the writer's membership that counts, inside the cascade too.
CREATE ROLE regress_distlock_owner;
CREATE ROLE regress_distlock_writer;
CREATE ROLE regress_distlock_other;
GRANT USAGE ON SCHEMA distlock TO regress_distlock_writer, regress_distlock_other;
ALTER TABLE cascade_customer OWNER TO regress_distlock_owner;
ALTER TABLE cascade_order OWNER TO regress_distlock_owner;
GRANT ALL ON cascade_customer, cascade_order TO regress_distlock_writer, regress_distlock_other;
SET ROLE regress_distlock_writer;
SELECT distlock.try_acquire('cascade:20') AS t20 \gset
DELETE FROM cascade_customer WHERE id = 2;
BEGIN;
SELECT distlock.fence('cascade:20', :t20) = :t20 AS fenced;
DELETE FROM cascade_customer WHERE id = 2;
ROLLBACK;
SET ROLE regress_distlock_other;
BEGIN;
SELECT distlock.fence('cascade:20', :t20);
ROLLBACK;
DELETE FROM cascade_customer WHERE id = 2;
RESET ROLE;
-- The owner's role does not need the schema for that.
SET ROLE regress_distlock_owner;
DELETE FROM cascade_customer WHERE id = 2;
RESET ROLE;
SELECT id FROM cascade_customer ORDER BY id;

-- A protected parent, the child not: the parent's lock is enough.
SELECT distlock.unprotect('cascade_order');
SELECT distlock.protect('cascade_customer', 'cascade:customer:{id}');
SELECT distlock.try_acquire('cascade:customer:2') AS c2 \gset
DELETE FROM cascade_customer WHERE id = 2;
BEGIN;
SELECT distlock.fence('cascade:customer:2', :c2) = :c2 AS fenced;
DELETE FROM cascade_customer WHERE id = 2;
COMMIT;
SELECT id FROM cascade_order ORDER BY id;
-- Referencing a protected row is no write to it.
INSERT INTO cascade_order VALUES (41, 4);

DROP TABLE cascade_order, cascade_note, cascade_default, cascade_customer;
REVOKE USAGE ON SCHEMA distlock FROM regress_distlock_writer, regress_distlock_other;
DROP ROLE regress_distlock_owner, regress_distlock_writer, regress_distlock_other;
DELETE FROM distlock.lease WHERE name LIKE 'cascade:%';
