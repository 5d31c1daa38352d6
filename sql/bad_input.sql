-- Bad arguments: refused with a SQLSTATE, never clamped, and nothing is changed.
\set VERBOSITY sqlstate
CREATE FUNCTION pg_temp.attempt(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
    EXECUTE statement INTO answer;
    RETURN coalesce(answer, 'NULL');
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;
CREATE TEMP VIEW leases AS
SELECT name, slot, token, mode, capacity, owner, role, metadata, since, renewed_at, expires_at, grants, takeovers, session_pid
FROM distlock.locks WHERE name LIKE 'bad_input:%';

SELECT distlock.try_acquire('bad_input:held', '1 h', owner => 'holder', metadata => '[1]') AS held \gset
SELECT distlock.try_acquire('bad_input:other', '1 h') AS other \gset
SELECT distlock.try_acquire('bad_input:expired', '20 ms') AS expired \gset
SELECT distlock.try_acquire('bad_input:free') AS free \gset
SELECT distlock.release('bad_input:free', :free);
SELECT pg_sleep(0.05);
CREATE TEMP TABLE before AS TABLE leases;
CREATE TEMP VIEW written AS
SELECT name, ctid::text AS place, xmin::text AS made_by, xmax::text AS ended_by FROM distlock.lease WHERE name LIKE 'bad_input:%';
CREATE TEMP TABLE written_before AS TABLE written;

-- ttl (S-57): zero, negative, too short, with months, infinite by overflow, above max_ttl, no interval.
SELECT ttl, pg_temp.attempt(format('SELECT distlock.try_acquire(%L, %L)', 'bad_input:new', ttl)) AS try_acquire,
       pg_temp.attempt(format('SELECT distlock.acquire(%L, %L)', 'bad_input:new', ttl)) AS acquire,
       pg_temp.attempt(format('SELECT distlock.renew(%L, %s, %L)', 'bad_input:held', :held, ttl)) AS renew
FROM (VALUES (1, '0'), (2, '-1 s'), (3, '-1 day'), (4, '1 us'), (5, '1 ms'), (6, '9.999 ms'), (7, '1 month'), (8, '1 year'),
             (9, '1 month -30 days'), (10, '-1 month'), (11, '24:00:00.000001'), (12, '1 day 1 us'), (13, '2 days'),
             (14, '1000000 years'), (15, '2147483647 days'), (16, '-2147483648 days'), (17, '2147483647 days 2562047788 hours'),
             (18, '2562047788 hours'), (19, '-2562047788 hours'), (20, '1 day -24 hours'), (21, 'soon'), (22, '')) AS t (n, ttl)
ORDER BY n;
-- infinity is an interval since 17; before that the type refuses it.
SELECT pg_temp.attempt($$SELECT distlock.try_acquire('bad_input:new', 'infinity')$$) IN ('22023', '22007') AS refused,
       pg_temp.attempt($$SELECT distlock.try_acquire('bad_input:new', '-infinity')$$) IN ('22023', '22007') AS refused,
       pg_temp.attempt($$SELECT distlock.try_acquire('bad_input:new', wait => 'infinity')$$) IN ('22023', '22007') AS refused;
-- A default_ttl above max_ttl is not cut either.
SET distlock.default_ttl = '2d';
SELECT distlock.try_acquire('bad_input:new') > 0 AS got;
SET distlock.default_ttl = '60s';
SET distlock.max_ttl = '59s';
SELECT distlock.acquire('bad_input:new', wait => '0') > 0 AS got;
SELECT distlock.try_acquire('bad_input:new', '60 s');
RESET distlock.default_ttl;
RESET distlock.max_ttl;

-- wait: negative, with months, above max_wait.
SELECT wait, pg_temp.attempt(format('SELECT distlock.try_acquire(%L, wait => %L)', 'bad_input:new', wait)) AS try_acquire,
       pg_temp.attempt(format('SELECT distlock.acquire(%L, wait => %L)', 'bad_input:new', wait)) AS acquire
FROM (VALUES (1, '-1 us'), (2, '-1 s'), (3, '-1 month'), (4, '1 month'), (5, '60.000001 s'), (6, '61 s'), (7, '1 day'),
             (8, '2147483647 days'), (9, '2147483647 days 2562047788 hours'), (10, 'long')) AS t (n, wait)
ORDER BY n;
SELECT distlock.try_acquire('bad_input:new', wait => NULL);
-- The other lengths.
SELECT span, pg_temp.attempt(format('SELECT distlock.try_acquire(%L, min_hold => %L)', 'bad_input:new', span)) AS min_hold,
       pg_temp.attempt(format('SELECT distlock.try_acquire(%L, lock_delay => %L)', 'bad_input:new', span)) AS lock_delay,
       pg_temp.attempt(format('SELECT distlock.prune(%L)', span)) AS prune
FROM (VALUES (1, '-1 us'), (2, '1 month'), (3, '2147483647 days 2562047788 hours')) AS t (n, span)
ORDER BY n;
SELECT distlock.try_acquire('bad_input:new', '5 s', min_hold => '6 s');
SELECT distlock.try_acquire('bad_input:new', lock_delay => '25 h');

-- Options.
SELECT option, pg_temp.attempt(format('SELECT distlock.try_acquire(%L, %s)', 'bad_input:new', option)) AS answer
FROM (VALUES ('mode => ''write'''), ('mode => '''''), ('mode => ''EXCLUSIVE'''), ('capacity => 0'), ('capacity => -1'),
             ('capacity => -2147483648'), ('metadata => ''{'''), ('request_id => ''x'''), ('nonsense => 1')) AS t (option);

-- Tokens that are none: NULL is an error, all others a plain no.
SELECT what, pg_temp.attempt(format('SELECT distlock.renew(%L, %s)', name, token)) AS renew,
       pg_temp.attempt(format('SELECT distlock.release(%L, %s)', name, token)) AS release,
       pg_temp.attempt(format('SELECT distlock.force_release(%L, %s)', name, token)) AS force_release,
       pg_temp.attempt(format('SELECT distlock.fence(%L, %s)', name, token)) AS fence,
       pg_temp.attempt(format('SELECT distlock.is_current(%L, %s)', name, token)) AS is_current
FROM (VALUES (1, 'another lock''s, higher', 'bad_input:held', :'other'), (2, 'next', 'bad_input:held', :'held' || ' + 1'),
             (3, 'zero', 'bad_input:held', '0'), (4, 'negative', 'bad_input:held', '-' || :'held'),
             (5, 'largest', 'bad_input:held', '9223372036854775807'), (6, 'smallest', 'bad_input:held', '(-9223372036854775808)'),
             (7, 'NULL', 'bad_input:held', 'NULL'), (8, 'fraction', 'bad_input:held', '1.5'), (9, 'text', 'bad_input:held', '''x'''),
             (10, 'too large', 'bad_input:held', '9223372036854775808'),
             (11, 'of a free lock', 'bad_input:free', :'free'), (12, 'of a lock that never was', 'bad_input:new', :'held'),
             (13, 'another one''s, expired lock', 'bad_input:expired', :'expired' || ' + 1')) AS t (n, what, name, token)
ORDER BY n;

-- advance_token: NULL, and what would use tokens up; what lies behind changes nothing.
SELECT at_least, pg_temp.attempt(format('SELECT distlock.advance_token(%s) >= %s', at_least, :held)) AS answer
FROM (VALUES (1, 'NULL'), (2, '0'), (3, '-1'), (4, '(-9223372036854775808)'), (5, '9007199254740992'), (6, '9223372036854775807')) AS t (n, at_least)
ORDER BY n;

-- Nothing of all this has changed anything.
SELECT count(*) AS changed FROM ((TABLE before EXCEPT TABLE leases) UNION ALL (TABLE leases EXCEPT TABLE before)) AS d;
SELECT count(*) AS written FROM ((TABLE written_before EXCEPT TABLE written) UNION ALL (TABLE written EXCEPT TABLE written_before)) AS d;
SELECT distlock.renew('bad_input:held', :held) IS NOT NULL AS renewed, distlock.release('bad_input:held', :held);

-- The limits themselves are allowed.
SELECT distlock.try_acquire('bad_input:new', '10 ms', '60 s') > 0 AS got, distlock.try_acquire('bad_input:new2', '1 day', '0') > 0 AS got;

DELETE FROM distlock.lease WHERE name LIKE 'bad_input:%';
