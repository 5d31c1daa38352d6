-- What the demo's application has: a queue of jobs, and the reports that the workers write.
CREATE EXTENSION distlock;

CREATE TABLE sale (report_id int NOT NULL, amount int NOT NULL);
INSERT INTO sale SELECT 7 + n % 3, n FROM generate_series(1, 3000) AS n;

-- Two buttons were pressed for report 7: nothing wrong with a queue that delivers at least once.
CREATE TABLE job (id int PRIMARY KEY, report_id int NOT NULL, taken_by text, outcome text);
INSERT INTO job VALUES (1, 7), (2, 7), (3, 8), (4, 9);

-- The column `fence` carries the token of a write to the trigger; it is never stored.
CREATE TABLE report (
    id int PRIMARY KEY, total bigint, written_by text, writes int NOT NULL DEFAULT 0, fence bigint
);
INSERT INTO report (id) VALUES (7), (8), (9);
SELECT distlock.protect('report', 'report:{id}', token_column => 'fence') AS report_is_protected;

-- The same table without the trigger, to see what it is good for.
CREATE TABLE report_unprotected (LIKE report INCLUDING ALL);
INSERT INTO report_unprotected (id) VALUES (7), (8), (9);

CREATE TABLE nightly_run (night text, instance text, fence bigint);
SELECT distlock.protect('nightly_run', 'nightly-billing:{night}', token_column => 'fence');

-- The application's role: of distlock it needs this one grant.
CREATE ROLE app LOGIN;
GRANT USAGE ON SCHEMA distlock TO app;
GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO app;
