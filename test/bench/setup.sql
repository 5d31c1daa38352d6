-- The peers and what every section works on. Run once in a fresh database with distlock installed.
CREATE SCHEMA bench;

-- The lease table people write by hand, at its best: narrow, HOT updates, no index but the key.
CREATE TABLE bench.lease (
    token bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    name text COLLATE "C" PRIMARY KEY
) WITH (fillfactor = 70);
CREATE SEQUENCE bench.token;

-- A good fence in PL/pgSQL: the lock row stays share-locked to the end of the transaction, so that
-- no newer grant can commit before the write does.
CREATE FUNCTION bench.plpgsql_fence() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    current_token bigint;
BEGIN
    SELECT token INTO current_token FROM bench.lease WHERE name = TG_ARGV[0] FOR SHARE;
    IF current_token IS DISTINCT FROM pg_catalog.current_setting('bench.token', true)::bigint THEN
        RAISE EXCEPTION 'stale token';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    RETURN NEW;
END $$;

-- Memory and processor time are read inside the backend that is measured, so that nobody has to
-- find it from outside.
CREATE TABLE bench.memory (id int GENERATED ALWAYS AS IDENTITY, sample text, rss_kb bigint, anonymous_kb bigint, contexts_kb bigint);
CREATE FUNCTION bench.sample_memory(sample text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO bench.memory (sample, rss_kb, anonymous_kb, contexts_kb)
    SELECT sample,
           substring(status FROM 'VmRSS:\s+(\d+)')::bigint,
           substring(status FROM 'RssAnon:\s+(\d+)')::bigint,
           (SELECT sum(total_bytes) / 1024 FROM pg_catalog.pg_backend_memory_contexts)
    FROM pg_catalog.pg_read_file('/proc/self/status') AS status
$$;

CREATE TABLE bench.cpu (ticks bigint);
CREATE FUNCTION bench.sample_cpu() RETURNS void LANGUAGE sql AS $$
    -- User and system time, the 14th and 15th field; none before them has a space here but the name.
    INSERT INTO bench.cpu
    SELECT field[12]::bigint + field[13]::bigint
    FROM regexp_split_to_array(substring(pg_catalog.pg_read_file('/proc/self/stat') FROM '\) (.*)'), ' ') AS field
$$;

-- Many cycles inside one statement.
CREATE FUNCTION bench.cycles(cycles int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    lock_name text;
BEGIN
    FOR i IN 1..cycles LOOP
        lock_name := 'loop:' || i;
        PERFORM distlock.release(lock_name, distlock.try_acquire(lock_name, '30 s', durable => false));
    END LOOP;
END $$;
