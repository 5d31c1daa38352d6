-- One role writes and holds the locks; the tables and the SECURITY DEFINER functions belong to another.
SET client_min_messages = warning;
CREATE ROLE matrix_app LOGIN;
CREATE ROLE matrix_owner;
GRANT USAGE ON SCHEMA distlock TO matrix_app, matrix_owner;
GRANT SET ON PARAMETER distlock.evict_after TO matrix_app;
CREATE SCHEMA matrix;
GRANT ALL ON SCHEMA matrix TO PUBLIC;
CREATE TABLE matrix.source AS SELECT 5 + i % 3 AS i FROM generate_series(1, 300) AS i;
GRANT SELECT ON matrix.source TO PUBLIC;
CREATE FUNCTION matrix.as_definer(statement text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    EXECUTE statement;
    RETURN current_user;
END $$;
ALTER FUNCTION matrix.as_definer OWNER TO matrix_owner;
CREATE FUNCTION matrix.write(target regclass, value int, token bigint) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('UPDATE %s SET v = $1, fence = $2 WHERE id = 1', target) USING value, token;
    RETURN 'written';
END $$;
