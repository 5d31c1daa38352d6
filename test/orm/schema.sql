-- The protected table of these tests, afresh, and the role that the applications connect as.
SET client_min_messages = warning;
SELECT 'CREATE ROLE app LOGIN' WHERE to_regrole('app') IS NULL \gexec
GRANT USAGE ON SCHEMA distlock TO app;
DROP TABLE IF EXISTS orm_report;
CREATE TABLE orm_report (
    id integer PRIMARY KEY,
    title text NOT NULL,
    body text,
    pages integer NOT NULL,
    edited timestamptz NOT NULL,
    fence bigint
);
GRANT SELECT, INSERT, UPDATE, DELETE ON orm_report TO app;
INSERT INTO orm_report
    SELECT id, 'report ' || id, 'draft', 1, '2026-02-03 04:05:06+00' FROM generate_series(1, 20) AS id;
SELECT distlock.protect('orm_report', 'report:{id}', token_column => 'fence');
-- What an interrupted test left.
SELECT distlock.force_release(name, token) FROM distlock.locks;
