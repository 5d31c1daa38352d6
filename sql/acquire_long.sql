-- acquire_long: a procedure for waits of minutes to days.  What it holds while it waits, and for how long, is in the isolation specs.
\set VERBOSITY sqlstate

CALL distlock.acquire_long('long:a', '1 min', owner => 'me', metadata => '{"at": "here"}') \gset
SELECT token = :token AS same, owner, metadata, expires_at - since AS lease FROM distlock.holder('long:a');
SELECT distlock.fence('long:a', :token) = :token AS fenced;
-- Not got within wait: NULL, and nothing is left.
CALL distlock.acquire_long('long:a', wait => '0');
CALL distlock.acquire_long('long:a', wait => '50 ms');
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
-- It may wait for longer than distlock.max_wait.
SET distlock.max_wait = '10 ms';
CALL distlock.acquire_long('long:a', wait => '50 ms');
RESET distlock.max_wait;
SELECT distlock.release('long:a', :token);
CALL distlock.acquire_long('long:a', '1 min', wait => '1 day', token => 7) \gset
SELECT distlock.release('long:a', :token);

-- Inside a transaction block, or where the caller could not commit: 25001, nothing taken.
BEGIN;
CALL distlock.acquire_long('long:b');
ROLLBACK;
BEGIN;
SAVEPOINT s;
CALL distlock.acquire_long('long:b');
ROLLBACK;
CREATE FUNCTION pg_temp.inside() RETURNS bigint LANGUAGE plpgsql AS
$$DECLARE t bigint; BEGIN CALL distlock.acquire_long('long:b', token => t); RETURN t; END$$;
SELECT pg_temp.inside();
DO $$DECLARE t bigint; BEGIN
    BEGIN CALL distlock.acquire_long('long:b', token => t); EXCEPTION WHEN division_by_zero THEN NULL; END;
END$$;
SELECT 1\; CALL distlock.acquire_long('long:b');
SELECT count(*) FROM distlock.holder('long:b');

-- In DO and in a procedure it commits: what came before, and the grant.
CREATE TABLE long_table (id int);
DO $$DECLARE t bigint; BEGIN
    INSERT INTO long_table VALUES (1);
    CALL distlock.acquire_long('long:c', '1 min', token => t);
    RAISE EXCEPTION 'later';
END$$;
SELECT (SELECT count(*) FROM long_table) AS kept, state FROM distlock.holder('long:c');
CREATE PROCEDURE long_procedure(INOUT got bool) LANGUAGE plpgsql AS $$DECLARE t bigint; BEGIN
    CALL distlock.acquire_long('long:d', '1 min', owner => repeat('long ', 20), metadata => to_jsonb(repeat('x', 5000)), token => t);
    got := distlock.is_current('long:d', t);
    CALL distlock.acquire_long('long:d', '1 min', wait => '10 ms', token => t);
    got := got AND t IS NULL;
END$$;
CALL long_procedure(NULL);
SELECT owner = repeat('long ', 20) AS owner, length(metadata::text) FROM distlock.holder('long:d');
DROP PROCEDURE long_procedure;
DROP TABLE long_table;

-- At any default isolation level.
SET default_transaction_isolation = 'serializable';
CALL distlock.acquire_long('long:d', wait => '50 ms');
SELECT current_setting('transaction_isolation');
RESET default_transaction_isolation;
SET default_transaction_read_only = on;
CALL distlock.acquire_long('long:e');
RESET default_transaction_read_only;

-- statement_timeout counts and leaves nothing; lock_timeout does not count.
SET statement_timeout = '100 ms';
CALL distlock.acquire_long('long:d');
RESET statement_timeout;
SET lock_timeout = '10 ms';
CALL distlock.acquire_long('long:d', wait => '100 ms');
RESET lock_timeout;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();

CALL distlock.acquire_long(NULL);
CALL distlock.acquire_long('');
CALL distlock.acquire_long('long:f', '1 ms');
CALL distlock.acquire_long('long:f', wait => '-1 s');
CALL distlock.acquire_long('long:f', wait => '1 month');
CALL distlock.acquire_long('long:f', mode => 'none');
SELECT count(*) FROM distlock.holder('long:f');

-- The other options, too.
CALL distlock.acquire_long('long:g', mode => 'shared') \gset
SELECT mode, token = :token AS same FROM distlock.holder('long:g');
CALL distlock.acquire_long('long:h', capacity => 2, session_bound => true) \gset
SELECT capacity, session_pid = pg_backend_pid() AS bound FROM distlock.holder('long:h');
SELECT distlock.release('long:h', :token);
CALL distlock.acquire_long('long:j', '2 h', min_hold => '1 h', lock_delay => '30 min', durable => false) \gset
SELECT ttl, min_hold, lock_delay FROM distlock.lease WHERE name = 'long:j' AND token = :token;
CALL distlock.acquire_long('long:i', request_id => '00000000-0000-0000-0000-000000000001') \gset
SELECT :token AS first \gset
CALL distlock.acquire_long('long:i', request_id => '00000000-0000-0000-0000-000000000001') \gset
SELECT :token = :first AS same;

DELETE FROM distlock.lease WHERE name LIKE 'long:%';
