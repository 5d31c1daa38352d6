-- The settings: their defaults, who may set what, what they do, and values that were set before the library was loaded.
\set VERBOSITY sqlstate
CREATE ROLE regress_distlock_settings;
GRANT USAGE ON SCHEMA distlock TO regress_distlock_settings;

-- Loads the library.
SELECT distlock.is_current('settings:none', 1);
SELECT name, setting, unit, context, boot_val = reset_val AS unchanged, short_desc <> '' AND extra_desc <> '' AS described
FROM pg_settings WHERE name LIKE 'distlock.%' ORDER BY name;

-- Anybody sets what concerns his own calls; the rest is the administrator's, or that of whom he lets.
SET ROLE regress_distlock_settings;
SET distlock.default_ttl = '5s';
SET distlock.max_wait = '5s';
SET distlock.max_ttl = '2d';
SET distlock.evict_after = -1;
SET distlock.retention = 0;
SET distlock.require_sync_standby = on;
SET LOCAL distlock.max_ttl = '2d';
SELECT set_config('distlock.max_ttl', '2d', false);
RESET ROLE;
GRANT SET ON PARAMETER distlock.max_ttl TO regress_distlock_settings;
SET ROLE regress_distlock_settings;
SET distlock.max_ttl = '2d';
SELECT distlock.try_acquire('settings:long', '2 days') > 0 AS got;
SHOW distlock.default_ttl;
RESET distlock.max_ttl;
RESET distlock.default_ttl;
RESET distlock.max_wait;
RESET ROLE;
REVOKE SET ON PARAMETER distlock.max_ttl FROM regress_distlock_settings;

-- Out of range, no number, no such setting.
SET distlock.default_ttl = '9ms';
SET distlock.default_ttl = 'soon';
SET distlock.default_ttl = -1;
SET distlock.max_ttl = 0;
SET distlock.max_wait = -1;
SET distlock.evict_after = -2;
SET distlock.retention = -1;
SET distlock.max_ttl = '25d';
SET distlock.require_sync_standby = 'perhaps';
SET distlock.no_such_setting = 1;

-- default_ttl counts when no ttl is given, max_ttl for every one.
SET distlock.default_ttl = '5s';
SELECT distlock.try_acquire('settings:a') AS token \gset
SELECT expires_at - since AS lease FROM distlock.holder('settings:a');
SET distlock.max_ttl = '10s';
SELECT distlock.renew('settings:a', :token, '11 s');
SELECT distlock.renew('settings:a', :token, '10 s') IS NOT NULL AS renewed;
SELECT distlock.try_acquire('settings:b', '11 s');
-- A lease that was longer than today's limit is renewed as it was made: the row's ttl counts (S-66).
RESET distlock.max_ttl;
SELECT distlock.try_acquire('settings:b', '1 h') AS token \gset
SET distlock.max_ttl = '10s';
SELECT distlock.renew('settings:b', :token) > now() + interval '50 min' AS in_full;
RESET distlock.max_ttl;
RESET distlock.default_ttl;

-- max_wait bounds every wait, and is the wait of acquire.
SET distlock.max_wait = '100ms';
SELECT distlock.acquire('settings:b');
SELECT distlock.acquire('settings:b', wait => '101 ms');
SELECT distlock.try_acquire('settings:b', wait => '101 ms');
SELECT distlock.try_acquire('settings:b', wait => '100 ms') IS NULL AS busy;
SET distlock.max_wait = 0;
SELECT distlock.acquire('settings:b');
SELECT distlock.try_acquire('settings:b', wait => '1 ms');
SELECT distlock.try_acquire('settings:c') > 0 AS got;
RESET distlock.max_wait;

-- require_sync_standby: no grant without a synchronous standby; who holds may go on.
SET distlock.require_sync_standby = on;
SELECT distlock.try_acquire('settings:d');
SELECT distlock.acquire('settings:d');
SELECT distlock.renew('settings:b', :token) IS NOT NULL AS renewed, distlock.fence('settings:b', :token) = :token AS fenced,
       distlock.release('settings:b', :token);
RESET distlock.require_sync_standby;

-- Set in a connection before anything has loaded the library, a value is taken or refused when it is loaded.
\c
SET distlock.default_ttl = '7s';
SET distlock.max_wait = '50ms';
SELECT distlock.try_acquire('settings:e') AS token \gset
SELECT expires_at - since AS lease FROM distlock.holder('settings:e');
SELECT distlock.acquire('settings:e');
-- What makes no sense is dropped with a warning.
\c
SET distlock.default_ttl = 'soon';
SET distlock.max_ttl = '-5';
SET distlock.no_such_setting = 1;
SELECT distlock.try_acquire('settings:f') > 0 AS got;
SHOW distlock.default_ttl;
SHOW distlock.max_ttl;
SELECT expires_at - since AS lease FROM distlock.holder('settings:f');
SELECT distlock.try_acquire('settings:g', '2 days');
-- So is what the role may not set: it cannot give itself longer leases that way.
\c
SET ROLE regress_distlock_settings;
SET distlock.max_ttl = '20d';
SET distlock.evict_after = -1;
SET distlock.retention = 0;
SELECT distlock.try_acquire('settings:g', '2 days');
SHOW distlock.max_ttl;
SHOW distlock.evict_after;
SHOW distlock.retention;
RESET ROLE;
-- Nor by its own role setting.
SET ROLE regress_distlock_settings;
ALTER ROLE regress_distlock_settings SET distlock.max_ttl = '20d';
RESET ROLE;
ALTER ROLE regress_distlock_settings SET distlock.default_ttl = '3s';
SELECT unnest(setconfig) AS kept FROM pg_db_role_setting WHERE setrole = 'regress_distlock_settings'::regrole ORDER BY 1;

DELETE FROM distlock.lease WHERE name LIKE 'settings:%';
REVOKE USAGE ON SCHEMA distlock FROM regress_distlock_settings;
DROP ROLE regress_distlock_settings;
