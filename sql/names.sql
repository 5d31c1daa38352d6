-- Lock names: 1 to 512 bytes, compared byte by byte, never cut or normalised (B51, S-102).
\set VERBOSITY sqlstate
CREATE FUNCTION pg_temp.attempt(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
    EXECUTE statement INTO answer;
    RETURN coalesce(answer, 'NULL');
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;

-- Empty, too long and NULL are refused by every function.
SELECT call, pg_temp.attempt(format(call, quote_literal(''))) AS empty,
       pg_temp.attempt(format(call, quote_literal(repeat('x', 513)))) AS "513 bytes",
       pg_temp.attempt(format(call, quote_literal(repeat('é', 257)))) AS "514 bytes",
       pg_temp.attempt(format(call, 'NULL')) AS "null"
FROM (VALUES ('SELECT distlock.try_acquire(%s)'), ('SELECT distlock.acquire(%s)'), ('SELECT distlock.renew(%s, 1)'),
             ('SELECT distlock.release(%s, 1)'), ('SELECT distlock.force_release(%s, 1)'), ('SELECT distlock.fence(%s, 1)'),
             ('SELECT distlock.is_current(%s, 1)'), ('SELECT count(*) FROM distlock.holder(%s)')) AS calls (call);
-- Bytes count, not characters.
SELECT distlock.try_acquire('é') > 0 AS one_character, distlock.try_acquire('x') > 0 AS one_byte;
SELECT distlock.try_acquire('names:' || repeat('x', 506)) AS long \gset
SELECT distlock.try_acquire('names:' || repeat('é', 253)) > 0 AS got;
SELECT octet_length(name) AS bytes, length(name) AS characters FROM distlock.locks WHERE length(name) > 200 ORDER BY 2;
SELECT distlock.renew('names:' || repeat('x', 506), :long) IS NOT NULL AS renewed,
       distlock.release('names:' || repeat('x', 506), :long);

-- Each of these is a lock of its own: the pairs differ in case, blanks, form of an accent, or in the last of many bytes,
-- and the last two collide in hashtext (B48, S-101).
CREATE TEMP TABLE names (n serial, name text);
INSERT INTO names (name) VALUES ('names:a'), ('names:A'), ('names:a '), (' names:a'), (E'names:a\t'), (E'names:a\n'),
    (E'names:\u00e9'), (E'names:e\u0301'), (E'names:\uFEFF'), (E'names:\u200b'), ('names:'), ('names:%'), ('names:_'),
    ('names:"a"'), ('names:''a'''), ('names:\a'), ('names:{a}'), ('names:a/b'), ('names:日本語'), (E'names:\U0001F512'),
    ('names:' || repeat('x', 63) || '1'), ('names:' || repeat('x', 63) || '2'),
    ('names:' || repeat('x', 505) || '1'), ('names:' || repeat('x', 505) || '2'),
    ('job:6955'), ('job:43347');
SELECT hashtext('job:6955') = hashtext('job:43347') AS hashtext_collides;
ALTER TABLE names ADD token bigint;
UPDATE names SET token = distlock.try_acquire(name);
SELECT count(*) AS names, count(token) AS got, count(DISTINCT token) AS tokens FROM names;
-- Each is found by its own name, and by no other one.
SELECT count(*) AS busy FROM names WHERE distlock.try_acquire(name) IS NULL;
SELECT count(*) AS as_given FROM names AS n JOIN distlock.locks AS l ON l.name = n.name COLLATE "C" AND l.token = n.token;
SELECT count(*) AS current FROM names AS n, names AS m WHERE distlock.is_current(n.name, m.token);
SELECT distlock.release(name, token) AS answer, count(*) FROM names GROUP BY 1;
SELECT count(*) AS left_over FROM names AS n, LATERAL distlock.holder(n.name);

-- The database's collation does not matter.
SELECT count(*) AS collations, array_agg(DISTINCT collname::text) AS "of" FROM pg_attribute AS a JOIN pg_collation AS c ON c.oid = a.attcollation
WHERE a.attrelid = 'distlock.lease'::regclass AND a.attname = 'name';

-- A name of another type is converted as SQL does it: nothing is cut on the way but by the type itself.
SELECT distlock.try_acquire('names:b'::varchar) > 0 AS varchar, distlock.try_acquire('names:c'::name) > 0 AS name,
       distlock.try_acquire('names:d  '::character(12)) > 0 AS char;
SELECT '<' || name || '>' AS name FROM distlock.locks WHERE name ~ '^names:[bcd]' ORDER BY 1;

DELETE FROM distlock.lease WHERE name LIKE '%names:%' OR name IN ('é', 'x', 'job:6955', 'job:43347');
