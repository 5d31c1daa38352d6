\echo Use "CREATE EXTENSION distlock" to load this file. \quit

-- Plain CREATE throughout: the script fails when somebody has planted a schema or an object.
CREATE SCHEMA distlock;
COMMENT ON SCHEMA distlock IS
'Lock service: leases, fencing tokens, and a trigger that refuses stale writers. GRANT USAGE ON SCHEMA distlock TO role is the one grant an application needs.';
ALTER SCHEMA distlock OWNER TO @extowner@;

-- ---------------------------------------------------------------------------------------------
-- Storage.  Read and written by the library alone; nobody else has a right on it.
-- ---------------------------------------------------------------------------------------------

-- No index but the key: one on a time would make every renewal leave its page.
CREATE TABLE distlock.lease (
    token         bigint      NOT NULL,
    grants        bigint      NOT NULL,
    acquired_at   timestamptz NOT NULL,
    acquired_boot bigint      NOT NULL,
    renewed_at    timestamptz NOT NULL,
    renewed_boot  bigint      NOT NULL,
    expires_at    timestamptz NOT NULL,
    expires_boot  bigint      NOT NULL,
    released_at   timestamptz,
    ttl           bigint      NOT NULL,
    min_hold      bigint      NOT NULL,
    lock_delay    bigint      NOT NULL,
    takeovers     bigint      NOT NULL,
    boot_id       uuid        NOT NULL,
    role          oid         NOT NULL,
    slot          integer     NOT NULL,
    capacity      integer     NOT NULL,
    mode          "char"      NOT NULL,
    name          text COLLATE pg_catalog."C" NOT NULL,
    session_pid   integer,
    request_id    uuid,
    owner         text,
    metadata      jsonb,
    CONSTRAINT lease_pkey PRIMARY KEY (name, slot),
    CONSTRAINT lease_name_length CHECK (pg_catalog.octet_length(name) BETWEEN 1 AND 512),
    CONSTRAINT lease_token_range CHECK (token > 0 AND token < 9007199254740992),
    CONSTRAINT lease_held_expires CHECK (released_at IS NOT NULL OR pg_catalog.isfinite(expires_at)),
    CONSTRAINT lease_slot_range CHECK (slot >= 0)
) WITH (fillfactor = 70);
ALTER TABLE distlock.lease ALTER COLUMN name SET STORAGE PLAIN;
COMMENT ON TABLE distlock.lease IS
'One row per slot of a lock, held or free. Written only by the functions of distlock; read it through view distlock.locks.';
COMMENT ON COLUMN distlock.lease.token IS 'Fencing token of the last grant of this slot.';
COMMENT ON COLUMN distlock.lease.grants IS 'Number of grants since the row was made.';
COMMENT ON COLUMN distlock.lease.acquired_at IS 'When the last grant was made, by the wall clock.';
COMMENT ON COLUMN distlock.lease.acquired_boot IS 'The same as acquired_at on CLOCK_BOOTTIME, microseconds.';
COMMENT ON COLUMN distlock.lease.renewed_at IS 'When the lease was last granted or renewed; of a released row, since when it is over.';
COMMENT ON COLUMN distlock.lease.renewed_boot IS 'The same as renewed_at on CLOCK_BOOTTIME, microseconds.';
COMMENT ON COLUMN distlock.lease.expires_at IS 'When the lease ends; of a released row, from when on it may be taken.';
COMMENT ON COLUMN distlock.lease.expires_boot IS 'The same as expires_at on CLOCK_BOOTTIME, microseconds.';
COMMENT ON COLUMN distlock.lease.released_at IS 'When it was released; NULL while it is held or expired.';
COMMENT ON COLUMN distlock.lease.ttl IS 'Length of the lease that was asked for, microseconds.';
COMMENT ON COLUMN distlock.lease.min_hold IS 'Shortest time that the grant is kept, even when released, microseconds.';
COMMENT ON COLUMN distlock.lease.lock_delay IS 'Time after an expiry during which nobody may take the lock, microseconds.';
COMMENT ON COLUMN distlock.lease.takeovers IS 'Number of grants that followed an expiry instead of a release.';
COMMENT ON COLUMN distlock.lease.boot_id IS 'The boot of the machine to which the *_boot columns belong.';
COMMENT ON COLUMN distlock.lease.role IS 'The role that acquired.';
COMMENT ON COLUMN distlock.lease.slot IS '0 for an exclusive lock; 1 and up for shared holders and semaphore permits.';
COMMENT ON COLUMN distlock.lease.capacity IS 'How many exclusive holders the lock has room for.';
COMMENT ON COLUMN distlock.lease.mode IS 'x = exclusive, s = shared, p = permit or header of a semaphore.';
COMMENT ON COLUMN distlock.lease.name IS 'The lock''s name, compared byte by byte.';
COMMENT ON COLUMN distlock.lease.session_pid IS 'The session that a session-bound grant ends with; NULL for others.';
COMMENT ON COLUMN distlock.lease.request_id IS 'Identifies the acquiring request for a retry; NULL when none was given.';
COMMENT ON COLUMN distlock.lease.owner IS 'A label for people; never compared.';
COMMENT ON COLUMN distlock.lease.metadata IS 'Whatever the holder wants to tell others.';

CREATE TABLE distlock.prefix_grant (
    prefix text COLLATE pg_catalog."C" NOT NULL,
    role   regrole NOT NULL,
    CONSTRAINT prefix_grant_pkey PRIMARY KEY (prefix, role)
);
ALTER TABLE distlock.prefix_grant ALTER COLUMN prefix SET STORAGE PLAIN;
COMMENT ON TABLE distlock.prefix_grant IS
'Which roles the lock names with a prefix are kept to. Change it with distlock.grant_prefix and revoke_prefix.';
COMMENT ON COLUMN distlock.prefix_grant.prefix IS 'How the names begin; empty covers all names.';
COMMENT ON COLUMN distlock.prefix_grant.role IS 'Members of this role may use them.';

CREATE TABLE distlock.job (
    job       text COLLATE pg_catalog."C" NOT NULL,
    last_slot timestamptz NOT NULL,
    CONSTRAINT job_pkey PRIMARY KEY (job)
);
ALTER TABLE distlock.job ALTER COLUMN job SET STORAGE PLAIN;
COMMENT ON TABLE distlock.job IS
'The last finished slot of each job; outlives the history of runs and is dumped, so that a slot never runs again.';
COMMENT ON COLUMN distlock.job.job IS 'The job''s name, which is also its lock''s.';
COMMENT ON COLUMN distlock.job.last_slot IS 'The last slot that was finished; older ones are refused.';

CREATE TABLE distlock.run (
    job         text COLLATE pg_catalog."C" NOT NULL,
    slot        timestamptz NOT NULL,
    attempt     integer NOT NULL,
    token       bigint NOT NULL,
    owner       text,
    started_at  timestamptz NOT NULL,
    finished_at timestamptz,
    ok          boolean,
    result      jsonb,
    CONSTRAINT run_pkey PRIMARY KEY (job, slot)
);
ALTER TABLE distlock.run ALTER COLUMN job SET STORAGE PLAIN;
COMMENT ON TABLE distlock.run IS
'The newest 100 runs of each job; read it through view distlock.runs.';
COMMENT ON COLUMN distlock.run.job IS 'The job''s name.';
COMMENT ON COLUMN distlock.run.slot IS 'The time that the run was scheduled for.';
COMMENT ON COLUMN distlock.run.attempt IS '1 for the first run of the slot.';
COMMENT ON COLUMN distlock.run.token IS 'Fencing token of the run.';
COMMENT ON COLUMN distlock.run.owner IS 'The label that the caller gave itself; NULL = none.';
COMMENT ON COLUMN distlock.run.started_at IS 'When the run began.';
COMMENT ON COLUMN distlock.run.finished_at IS 'When end_run was called; NULL before.';
COMMENT ON COLUMN distlock.run.ok IS 'What end_run said; NULL before.';
COMMENT ON COLUMN distlock.run.result IS 'What end_run was given; NULL = nothing.';

CREATE TABLE distlock.mark (
    resource  text COLLATE pg_catalog."C" NOT NULL,
    token     bigint NOT NULL,
    raiser    bigint NOT NULL,
    raised_at timestamptz NOT NULL,
    CONSTRAINT mark_pkey PRIMARY KEY (resource, token, raiser)
);
ALTER TABLE distlock.mark ALTER COLUMN resource SET STORAGE PLAIN;
COMMENT ON TABLE distlock.mark IS
'High-water marks: the highest token of another lock service seen for a resource. Kept for ever, and dumped.';
COMMENT ON COLUMN distlock.mark.resource IS 'What the token was presented for.';
COMMENT ON COLUMN distlock.mark.token IS 'The highest one seen; lower ones are refused.';
COMMENT ON COLUMN distlock.mark.raiser IS
'The transaction that wrote the row. Several that raised the mark to one token at once have a row each, until the next raise.';
COMMENT ON COLUMN distlock.mark.raised_at IS 'When it was first seen.';

SELECT pg_catalog.pg_extension_config_dump('distlock.prefix_grant', '');
SELECT pg_catalog.pg_extension_config_dump('distlock.job', '');
SELECT pg_catalog.pg_extension_config_dump('distlock.mark', '');
GRANT SELECT, INSERT ON distlock.prefix_grant, distlock.job, distlock.mark TO @extowner@;

CREATE SEQUENCE distlock.token_seq AS bigint MINVALUE 1 MAXVALUE 9007199254740991 NO CYCLE;
COMMENT ON SEQUENCE distlock.token_seq IS
'The last fencing token. Tokens are max(last + 1, microseconds since 2026-01-01), taken by the library; never call nextval or setval on it, use distlock.advance_token.';
SELECT pg_catalog.pg_extension_config_dump('distlock.token_seq', '');
-- A database owner without superuser can dump the whole database, and restore it.
GRANT SELECT, UPDATE ON SEQUENCE distlock.token_seq TO @extowner@;

-- A publication FOR ALL TABLES includes ours: the subscriber has locks of its own.
CREATE FUNCTION distlock.ignore_replicated() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'distlock_ignore_replicated';
COMMENT ON FUNCTION distlock.ignore_replicated() IS
'Drops rows of distlock''s own tables that arrive by logical replication.';
CREATE TRIGGER ignore_replicated BEFORE INSERT OR UPDATE OR DELETE ON distlock.lease
    FOR EACH ROW EXECUTE FUNCTION distlock.ignore_replicated();
ALTER TABLE distlock.lease ENABLE REPLICA TRIGGER ignore_replicated;
CREATE TRIGGER ignore_replicated BEFORE INSERT OR UPDATE OR DELETE ON distlock.prefix_grant
    FOR EACH ROW EXECUTE FUNCTION distlock.ignore_replicated();
ALTER TABLE distlock.prefix_grant ENABLE REPLICA TRIGGER ignore_replicated;
CREATE TRIGGER ignore_replicated BEFORE INSERT OR UPDATE OR DELETE ON distlock.job
    FOR EACH ROW EXECUTE FUNCTION distlock.ignore_replicated();
ALTER TABLE distlock.job ENABLE REPLICA TRIGGER ignore_replicated;
CREATE TRIGGER ignore_replicated BEFORE INSERT OR UPDATE OR DELETE ON distlock.run
    FOR EACH ROW EXECUTE FUNCTION distlock.ignore_replicated();
ALTER TABLE distlock.run ENABLE REPLICA TRIGGER ignore_replicated;
CREATE TRIGGER ignore_replicated BEFORE INSERT OR UPDATE OR DELETE ON distlock.mark
    FOR EACH ROW EXECUTE FUNCTION distlock.ignore_replicated();
ALTER TABLE distlock.mark ENABLE REPLICA TRIGGER ignore_replicated;

-- ---------------------------------------------------------------------------------------------
-- Acquire, renew, release
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION distlock.try_acquire(
    name text, ttl interval DEFAULT NULL, wait interval DEFAULT '0',
    owner text DEFAULT NULL, mode text DEFAULT 'exclusive', capacity integer DEFAULT 1,
    min_hold interval DEFAULT '0', lock_delay interval DEFAULT '0', metadata jsonb DEFAULT NULL,
    request_id uuid DEFAULT NULL, session_bound boolean DEFAULT false, durable boolean DEFAULT true)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_try_acquire';
COMMENT ON FUNCTION distlock.try_acquire IS
'Takes the lock if it can be had within wait (default: at once). Returns the fencing token, or NULL when it was not got: then nothing was taken or written.
ttl: length of the lease; NULL = distlock.default_ttl. wait: at most distlock.max_wait. owner: a label for people, never compared. request_id: makes a retry safe; while its grant lives, the same one gets the same token and a full lease. durable => false: does not wait for the flush. A NULL option means its default; a NULL wait is an error here.
Errors: 22023 and 22004 bad or NULL argument, 25001 would wait in a transaction that holds a lock of distlock, 25006 read-only, 42501 not permitted.';

CREATE FUNCTION distlock.acquire(
    name text, ttl interval DEFAULT NULL, wait interval DEFAULT NULL,
    owner text DEFAULT NULL, mode text DEFAULT 'exclusive', capacity integer DEFAULT 1,
    min_hold interval DEFAULT '0', lock_delay interval DEFAULT '0', metadata jsonb DEFAULT NULL,
    request_id uuid DEFAULT NULL, session_bound boolean DEFAULT false, durable boolean DEFAULT true)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_acquire';
COMMENT ON FUNCTION distlock.acquire IS
'Like try_acquire, but waits for distlock.max_wait when wait is NULL, and raises 55P03 when the lock was not got. Waiters are served in the order of arrival. lock_timeout does not count, statement_timeout and cancellation do.';

CREATE PROCEDURE distlock.acquire_long(
    name text, ttl interval DEFAULT NULL, wait interval DEFAULT NULL,
    owner text DEFAULT NULL, mode text DEFAULT 'exclusive', capacity integer DEFAULT 1,
    min_hold interval DEFAULT '0', lock_delay interval DEFAULT '0', metadata jsonb DEFAULT NULL,
    request_id uuid DEFAULT NULL, session_bound boolean DEFAULT false, durable boolean DEFAULT true,
    INOUT token bigint DEFAULT NULL)
LANGUAGE c AS 'MODULE_PATHNAME', 'distlock_acquire_long';
COMMENT ON PROCEDURE distlock.acquire_long IS
'Like acquire, for waits of minutes to days: while it waits it holds no snapshot and no transaction id, so vacuum goes on. wait NULL = for ever. token: the grant''s, committed; NULL when it was not got within wait. Commits first what the caller''s session had open, so it cannot run inside a transaction block (25001).';

CREATE FUNCTION distlock.acquire_all(
    names text[], ttl interval DEFAULT NULL, wait interval DEFAULT NULL,
    owner text DEFAULT NULL, mode text DEFAULT 'exclusive', capacity integer DEFAULT 1,
    min_hold interval DEFAULT '0', lock_delay interval DEFAULT '0', metadata jsonb DEFAULT NULL,
    request_id uuid DEFAULT NULL, session_bound boolean DEFAULT false, durable boolean DEFAULT true)
RETURNS TABLE (name text, token bigint)
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_acquire_all';
COMMENT ON FUNCTION distlock.acquire_all IS
'Takes all the locks or none, a token each, in an order that cannot deadlock with other calls. While it waits for one it holds none. wait NULL = distlock.max_wait; 55P03 when they were not got. The options count for each lock.';

CREATE FUNCTION distlock.renew(name text, token bigint, ttl interval DEFAULT NULL)
RETURNS timestamptz
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_renew';
COMMENT ON FUNCTION distlock.renew IS
'Lets the lease run in full again from now; returns its new end, or NULL when the lease is lost (expired, taken over or released): then stop working. ttl NULL = the lease''s own length, which never shortens it; another ttl counts for this renewal only.
Errors: 55P03 an open transaction is in the way for more than 1 s (the lease is not lost by that), 42501 acquired by another role.';

CREATE FUNCTION distlock.renew_many(names text[], tokens bigint[], ttl interval DEFAULT NULL)
RETURNS TABLE (name text, token bigint, expires_at timestamptz)
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_renew_many';
COMMENT ON FUNCTION distlock.renew_many IS
'Renews several leases in one call. expires_at: the new end; NULL when that lease is lost; the old end, unchanged, when somebody''s open transaction was in the way: renew that one again. One busy row never stops the others.';

CREATE FUNCTION distlock.release(name text, token bigint) RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_release';
COMMENT ON FUNCTION distlock.release IS
'Gives the lock back. Returns released; expired (the lease was over, nobody had taken the lock, it is free now); superseded (somebody else has been granted it since); or not_held. The last two change nothing. May be repeated.
Errors: 55P03 an open transaction is in the way for more than 1 s, 42501 acquired by another role.';

CREATE FUNCTION distlock.downgrade(name text, token bigint) RETURNS timestamptz
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_downgrade';
COMMENT ON FUNCTION distlock.downgrade IS
'Exclusive becomes shared, without a gap and under the same token; returns the end of the lease, NULL when it is lost.';

CREATE FUNCTION distlock.set_capacity(name text, capacity integer) RETURNS integer
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_set_capacity';
COMMENT ON FUNCTION distlock.set_capacity IS
'Sets the number of permits of a semaphore, 1 to 10000; returns the previous one, NULL when the lock was not known. A lower one admits nobody until the living permits are below it; callers must name the new one.
Errors: 55P03 held as an exclusive or shared lock, or a grant is under way for more than 1 s.';

CREATE FUNCTION distlock.raise_token(name text, token bigint, to_token bigint) RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_raise_token';
COMMENT ON FUNCTION distlock.raise_token IS
'The holder''s grant gets the token to_token, if that is higher; returns the token it has then, NULL when the lease is lost. Writes back the highest token of a majority of servers. At most a day ahead of the clock (22023).';

CREATE FUNCTION distlock.force_release(name text, token bigint) RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_force_release';
COMMENT ON FUNCTION distlock.force_release IS
'For administrators: releases somebody else''s lease. The token (see view distlock.locks) makes sure that it is the one you looked at. Written to the server log. Returns the same as release.';
REVOKE ALL ON FUNCTION distlock.force_release FROM PUBLIC;
GRANT EXECUTE ON FUNCTION distlock.force_release TO @extowner@ WITH GRANT OPTION;

-- ---------------------------------------------------------------------------------------------
-- The fence
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION distlock.fence(name text, token bigint) RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_fence';
COMMENT ON FUNCTION distlock.fence IS
'Returns the token if it is the lock''s current grant, and keeps it so to the end of the transaction: nobody else is granted the lock before. Call it in the transaction that writes.
Errors: LK001 stale token, 55P03 a grant is under way for more than 1 s, 42501 acquired by another role, 25006 standby.';

CREATE FUNCTION distlock.is_current(name text, token bigint) RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_is_current';
COMMENT ON FUNCTION distlock.is_current IS
'Whether the token is the lock''s current grant, as of now; takes no locks. For services outside the database that are handed a token: they should remember the highest token seen as well.';

CREATE FUNCTION distlock.high_water(resource text, token bigint) RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_high_water';
COMMENT ON FUNCTION distlock.high_water IS
'For tokens of a lock service elsewhere (another database, etcd, ZooKeeper, Consul): remembers the highest one seen for the resource and returns it. Counts for triggers in mode high_water in this transaction.
Errors: LK001 lower than the mark, 55P03 a writer with the old token has its transaction open for more than 1 s.';

CREATE FUNCTION distlock.fence_check() RETURNS trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'distlock_fence_check';
COMMENT ON FUNCTION distlock.fence_check IS
'BEFORE trigger that refuses writes under a stale token (LK001) or without one (LK002). Arguments: lock template, mode, token column. Created by distlock.protect.';

CREATE FUNCTION distlock.protect(
    rel regclass, lock text, mode text DEFAULT 'live', token_column text DEFAULT NULL,
    always boolean DEFAULT false)
RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_protect';
COMMENT ON FUNCTION distlock.protect IS
'Puts the fence on a table: every INSERT, UPDATE, DELETE and TRUNCATE then needs the current token of its lock. lock: a name, or a template such as report:{id}, where {column} is the row''s value of an integer, text or uuid column.
mode: live (the token must be the current grant), live_strict (and not expired), high_water (the token, from another lock service, must not be lower than the highest one seen), row (the row itself remembers its last token). token_column: a nullable bigint column without default that carries the token into the write; NULL = callers use distlock.fence. always: fires under session_replication_role = replica too.
Returns created, unchanged or replaced. Errors: 22023 what cannot be protected that way, 42501 not the table''s owner.';

CREATE FUNCTION distlock.unprotect(rel regclass) RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_unprotect';
COMMENT ON FUNCTION distlock.unprotect IS
'Removes what protect created; false when there was nothing.';

-- ---------------------------------------------------------------------------------------------
-- Looking at locks
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION distlock.lock_rows()
RETURNS TABLE (name text, slot integer, token bigint, state text, mode text, capacity integer,
    owner text, role text, metadata jsonb, since timestamptz, renewed_at timestamptz,
    expires_at timestamptz, remaining_ms bigint, grants bigint, takeovers bigint,
    session_pid integer, pinned_by integer[])
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_lock_rows';
COMMENT ON FUNCTION distlock.lock_rows IS 'Underlies view distlock.locks.';

CREATE VIEW distlock.locks AS SELECT * FROM distlock.lock_rows();
COMMENT ON VIEW distlock.locks IS
'Every lock that is not free, as of now (not of the transaction''s snapshot). Works on a standby.';
COMMENT ON COLUMN distlock.locks.name IS 'The lock''s name.';
COMMENT ON COLUMN distlock.locks.slot IS '0 for an exclusive lock; 1 and up for shared holders and semaphore permits.';
COMMENT ON COLUMN distlock.locks.token IS 'Fencing token of the grant.';
COMMENT ON COLUMN distlock.locks.state IS
'held; expired (over, not released, anybody may take it); min_hold (released, but kept for its minimum time); lock_delay (expired, and not yet to be taken).';
COMMENT ON COLUMN distlock.locks.mode IS 'exclusive or shared; permits of a semaphore are exclusive.';
COMMENT ON COLUMN distlock.locks.capacity IS 'How many exclusive holders there may be; above 1 a semaphore.';
COMMENT ON COLUMN distlock.locks.owner IS 'The label that the holder gave itself; NULL = none.';
COMMENT ON COLUMN distlock.locks.role IS 'The role that acquired; NULL when it has been dropped.';
COMMENT ON COLUMN distlock.locks.metadata IS 'What the holder wants to tell others; NULL = nothing.';
COMMENT ON COLUMN distlock.locks.since IS 'When the grant was made.';
COMMENT ON COLUMN distlock.locks.renewed_at IS 'When the lease was last granted or renewed; in state min_hold, since when it is released.';
COMMENT ON COLUMN distlock.locks.expires_at IS 'When the lease ends; in state min_hold, when the lock may be taken.';
COMMENT ON COLUMN distlock.locks.remaining_ms IS
'Milliseconds until the lease ends, or until the lock may be taken in states min_hold and lock_delay; 0 when expired.';
COMMENT ON COLUMN distlock.locks.grants IS 'Grants of this slot since its row was made.';
COMMENT ON COLUMN distlock.locks.takeovers IS 'How many of them followed an expiry instead of a release.';
COMMENT ON COLUMN distlock.locks.session_pid IS 'The session that a session-bound grant ends with; NULL for others.';
COMMENT ON COLUMN distlock.locks.pinned_by IS
'Processes whose open transactions keep a grant of this lock waiting; NULL = none.';

CREATE FUNCTION distlock.holder(name text) RETURNS SETOF distlock.locks
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_holder';
COMMENT ON FUNCTION distlock.holder IS
'The rows of view distlock.locks for one lock; none when it is free.';

CREATE FUNCTION distlock.leader(name text)
RETURNS TABLE (term bigint, owner text, metadata jsonb, since timestamptz, expires_at timestamptz)
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_leader';
COMMENT ON FUNCTION distlock.leader IS
'Who holds the lock as a leader: one row, or none. term is the fencing token; metadata what the holder gave, for example its address.';

CREATE PROCEDURE distlock.watch(
    name text, after_token bigint DEFAULT 0, wait interval DEFAULT NULL,
    INOUT token bigint DEFAULT NULL)
LANGUAGE c AS 'MODULE_PATHNAME', 'distlock_watch';
COMMENT ON PROCEDURE distlock.watch IS
'Waits until the lock''s token is another than after_token, holding no snapshot; 0 = nobody holds it. token: the new one; NULL when nothing changed within wait (NULL = for ever). 25001 inside a transaction block.';

-- ---------------------------------------------------------------------------------------------
-- Run once
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION distlock.begin_run(
    job text, slot timestamptz, ttl interval DEFAULT NULL, owner text DEFAULT NULL,
    request_id uuid DEFAULT NULL)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_begin_run';
COMMENT ON FUNCTION distlock.begin_run IS
'The fencing token when this caller is to run that slot of the job; NULL when somebody else runs the job or the slot is finished. The run holds the lock named like its job: renew(job, token) and fence(job, token) work. A crashed run can be begun again once its lease is over (attempt + 1).
Errors: 22023 the slot is older than the last finished one, or more than a day ahead.';

CREATE FUNCTION distlock.end_run(
    job text, slot timestamptz, token bigint, ok boolean DEFAULT true, result jsonb DEFAULT NULL)
RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_end_run';
COMMENT ON FUNCTION distlock.end_run IS
'Ends a run and releases its lock; false when the run is no longer this caller''s. ok => false leaves the slot to be begun again.';

CREATE FUNCTION distlock.run_rows()
RETURNS TABLE (job text, slot timestamptz, state text, attempt integer, token bigint, owner text,
    started_at timestamptz, finished_at timestamptz, result jsonb)
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_run_rows';
COMMENT ON FUNCTION distlock.run_rows IS 'Underlies view distlock.runs.';

CREATE VIEW distlock.runs AS
SELECT * FROM distlock.run_rows();
COMMENT ON VIEW distlock.runs IS 'The newest runs of each job.';
COMMENT ON COLUMN distlock.runs.job IS 'The job''s name, which is also its lock''s.';
COMMENT ON COLUMN distlock.runs.slot IS 'The time that the run was scheduled for.';
COMMENT ON COLUMN distlock.runs.state IS
'running; finished; failed (ended with ok => false; the slot can be begun again); lost (its lease ran out; the slot can be begun again).';
COMMENT ON COLUMN distlock.runs.attempt IS '1 for the first run of the slot.';
COMMENT ON COLUMN distlock.runs.token IS 'Fencing token of the last attempt.';
COMMENT ON COLUMN distlock.runs.owner IS 'The label that the caller gave itself; NULL = none.';
COMMENT ON COLUMN distlock.runs.started_at IS 'When the last attempt began.';
COMMENT ON COLUMN distlock.runs.finished_at IS 'When end_run was called; NULL before.';
COMMENT ON COLUMN distlock.runs.result IS 'What end_run was given; NULL = nothing.';

CREATE FUNCTION distlock.queue_rows()
RETURNS TABLE (name text, classid oid, objid oid, pinned_by integer[])
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_queue_rows';
COMMENT ON FUNCTION distlock.queue_rows IS
'Underlies view distlock.waiters: how the queue of each lock appears in pg_locks.';

CREATE FUNCTION distlock.waiter_rows()
RETURNS TABLE (pid integer, mode text, owner text, since timestamptz)
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_waiter_rows';
COMMENT ON FUNCTION distlock.waiter_rows IS
'Underlies view distlock.waiters: what waiting sessions tell of themselves.';

-- 210 = 0xD2, the class of the queues; the head of a queue has its lock, the others wait for it.
CREATE VIEW distlock.waiters AS
SELECT q.name, l.pid, w.owner, w.mode,
       coalesce(w.since, l.waitstart) AS since,
       l.position,
       CASE WHEN l.position = 1 THEN q.pinned_by[1] ELSE l.ahead END AS waiting_for_pid
FROM (SELECT l.classid, l.objid, l.pid, l.waitstart,
             (row_number() OVER queue)::integer AS position,
             lag(l.pid) OVER queue AS ahead
      FROM pg_catalog.pg_locks AS l
      WHERE l.locktype = 'advisory' AND l.objsubid = 210 AND l.mode = 'ExclusiveLock'
        AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d
                          WHERE d.datname = pg_catalog.current_database())
      WINDOW queue AS (PARTITION BY l.classid, l.objid
                       ORDER BY l.granted DESC, l.waitstart, l.pid)) AS l
JOIN (SELECT DISTINCT ON (q.name) q.name, q.classid, q.objid, q.pinned_by
      FROM distlock.queue_rows() AS q
      ORDER BY q.name, q.pinned_by IS NULL) AS q ON q.classid = l.classid AND q.objid = l.objid
LEFT JOIN distlock.waiter_rows() AS w ON w.pid = l.pid;
COMMENT ON VIEW distlock.waiters IS
'Sessions waiting for a lock, in the order in which they will be served, as of now.';
COMMENT ON COLUMN distlock.waiters.name IS 'The lock''s name.';
COMMENT ON COLUMN distlock.waiters.pid IS 'The waiting session''s process.';
COMMENT ON COLUMN distlock.waiters.owner IS 'The label that the waiter gave itself (its first 128 bytes); NULL = none, or track_activities is off.';
COMMENT ON COLUMN distlock.waiters.mode IS 'What it asks for; NULL when track_activities is off.';
COMMENT ON COLUMN distlock.waiters.since IS 'Since when it waits.';
COMMENT ON COLUMN distlock.waiters.position IS '1 = next to be served.';
COMMENT ON COLUMN distlock.waiters.waiting_for_pid IS
'The session ahead of it in the queue; for the first one a session whose open transaction is in the way, NULL when it waits for the lease to end.';

CREATE FUNCTION distlock.trigger_arguments(tgargs bytea) RETURNS text[]
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'distlock_trigger_arguments';
COMMENT ON FUNCTION distlock.trigger_arguments IS
'Underlies view distlock.protected_tables: the arguments of a trigger as pg_trigger keeps them.';

CREATE FUNCTION distlock.trigger_fault(rel oid, tgargs bytea) RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_trigger_fault';
COMMENT ON FUNCTION distlock.trigger_fault IS
'Underlies view distlock.protected_tables: what is wrong with a fence trigger''s arguments as its table is now; NULL = nothing.';

CREATE VIEW distlock.protected_tables AS
WITH fence AS (
    SELECT t.oid, t.tgrelid, t.tgname, t.tgenabled, t.tgtype,
           distlock.trigger_arguments(t.tgargs) AS args,
           t.tgtype::integer & 32 <> 0 AS on_truncate,
           t.tgargs,
           t.tgqual IS NOT NULL OR t.tgattr::text <> '' AS conditional
    FROM pg_catalog.pg_trigger AS t
    JOIN pg_catalog.pg_proc AS p ON p.oid = t.tgfoid
    JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
    WHERE n.nspname = 'distlock' AND p.proname = 'fence_check'),
shape AS (
    SELECT a.attrelid AS oid,
           string_agg(a.attname::text || ' ' || a.atttypid || ' ' || a.atttypmod, ',' ORDER BY a.attnum) AS columns
    FROM pg_catalog.pg_attribute AS a
    WHERE a.attnum > 0 AND NOT a.attisdropped
    GROUP BY a.attrelid
    HAVING count(*) > 1),
-- One for all protected tables that look alike.
original AS (
    SELECT min(f.tgrelid) AS oid, nullif(f.args[3], '')::name AS token_column, s.columns,
           c.relpersistence = 't' AS temporary
    FROM fence AS f
    JOIN pg_catalog.pg_class AS c ON c.oid = f.tgrelid
    JOIN shape AS s ON s.oid = f.tgrelid
    WHERE NOT f.on_truncate AND NOT c.relispartition
    GROUP BY 2, 3, 4),
-- Not what looks like a protected table on purpose: partitions and children, and the parents of protected ones.
bare AS (
    SELECT c.oid, c.relpersistence = 't' AS temporary
    FROM pg_catalog.pg_class AS c
    WHERE c.relkind IN ('r', 'p')
      AND NOT EXISTS (SELECT FROM fence AS f WHERE f.tgrelid = c.oid)
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits AS h WHERE h.inhrelid = c.oid)
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits AS h JOIN fence AS f ON f.tgrelid = h.inhrelid
                      WHERE h.inhparent = c.oid)),
-- With a token column: the copy has it, and all the others.  Without: just the same columns in the same order.
-- A temporary table is no copy of a permanent one: bulk loads are prepared in such.
lookalike AS (
    SELECT b.oid, o.oid AS original
    FROM original AS o
    JOIN pg_catalog.pg_attribute AS k ON k.attname = o.token_column AND k.atttypid = 'bigint'::regtype
    JOIN bare AS b ON b.oid = k.attrelid AND b.temporary <= o.temporary
    WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_attribute AS a
                      WHERE a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped
                        AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute AS x
                                        WHERE x.attrelid = k.attrelid AND x.attname = a.attname
                                          AND x.atttypid = a.atttypid))
    UNION ALL
    SELECT b.oid, o.oid
    FROM original AS o
    JOIN shape AS s ON s.columns = o.columns
    JOIN bare AS b ON b.oid = s.oid AND b.temporary <= o.temporary
    WHERE o.token_column IS NULL)
SELECT n.nspname::text AS schema_name, c.relname::text AS table_name,
       f.tgname::text AS trigger_name, f.args[1] AS lock,
       coalesce(f.args[2], 'live') AS mode, nullif(f.args[3], '') AS token_column,
       CASE f.tgenabled WHEN 'O' THEN 'origin' WHEN 'A' THEN 'always'
                        WHEN 'R' THEN 'replica' ELSE 'disabled' END AS firing,
       array_remove(ARRAY[
           CASE WHEN f.tgenabled = 'D' THEN 'the trigger is disabled: no write is checked'
                WHEN f.tgenabled = 'R' THEN 'the trigger fires under session_replication_role = replica only' END,
           CASE WHEN f.on_truncate
                THEN 'only TRUNCATE is checked: no row trigger (dropped, or a detached partition)' END,
           distlock.trigger_fault(f.tgrelid, f.tgargs),
           CASE WHEN f.conditional
                THEN 'the trigger does not fire on every write: it has a WHEN or UPDATE OF clause' END,
           CASE WHEN NOT f.on_truncate AND f.tgtype::integer & 28 <> 28
                THEN 'the trigger does not fire on all of INSERT, UPDATE and DELETE' END,
           CASE WHEN NOT EXISTS (SELECT FROM fence AS u
                                 WHERE u.tgrelid = f.tgrelid AND u.on_truncate
                                   AND u.tgenabled IN ('O', 'A'))
                THEN 'TRUNCATE is not checked: no enabled TRUNCATE trigger' END,
           (SELECT 'partition without TRUNCATE trigger: ' || string_agg(i.relid::text, ', ' ORDER BY i.relid::text)
            FROM pg_catalog.pg_partition_tree(f.tgrelid) AS i
            WHERE i.relid <> f.tgrelid
              AND NOT EXISTS (SELECT FROM fence AS u WHERE u.tgrelid = i.relid AND u.on_truncate)
            HAVING count(*) > 0),
           (SELECT 'unprotected inheritance child: ' || string_agg(h.inhrelid::regclass::text, ', ' ORDER BY h.inhrelid::regclass::text)
            FROM pg_catalog.pg_inherits AS h
            WHERE h.inhparent = f.tgrelid
              AND NOT EXISTS (SELECT FROM fence AS u
                              WHERE u.tgrelid = h.inhrelid AND NOT u.on_truncate)
            HAVING count(*) > 0),
           (SELECT 'BEFORE trigger that runs after the fence and could change the row: '
                   || string_agg(quote_ident(b.tgname), ', ' ORDER BY b.tgname)
            FROM pg_catalog.pg_trigger AS b
            WHERE b.tgrelid = f.tgrelid AND NOT b.tgisinternal AND b.tgenabled <> 'D'
              AND b.tgtype::integer & 1 = 1 AND b.tgtype::integer & 66 = 2
              AND b.tgtype::integer & 20 <> 0
              AND b.tgname::text COLLATE pg_catalog."C" > f.tgname::text COLLATE pg_catalog."C"
              AND NOT EXISTS (SELECT FROM fence AS u WHERE u.oid = b.oid)
            HAVING count(*) > 0)
       ], NULL) AS problems
FROM fence AS f
JOIN pg_catalog.pg_class AS c ON c.oid = f.tgrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE NOT f.on_truncate
   OR NOT EXISTS (SELECT FROM fence AS u WHERE u.tgrelid = f.tgrelid AND NOT u.on_truncate)
UNION ALL
-- A hint, no more.
SELECT n.nspname::text, c.relname::text, NULL, NULL, NULL, NULL, NULL,
       ARRAY['no fence, but the columns of a protected table: a copy of '
             || string_agg(l.original::regclass::text, ', ' ORDER BY l.original::regclass::text)
             || '? (LIKE and CREATE TABLE AS do not copy triggers)']
FROM lookalike AS l
JOIN pg_catalog.pg_class AS c ON c.oid = l.oid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
GROUP BY n.nspname, c.oid, c.relname;
COMMENT ON VIEW distlock.protected_tables IS
'Tables with a fence, one row per row trigger, and what is wrong with their protection; and tables without one that look like copies of them.';
COMMENT ON COLUMN distlock.protected_tables.schema_name IS 'Schema of the table.';
COMMENT ON COLUMN distlock.protected_tables.table_name IS 'Name of the table.';
COMMENT ON COLUMN distlock.protected_tables.trigger_name IS 'The trigger that checks its rows, or its TRUNCATE when there is none; NULL (as lock, mode, token_column and firing) = the table has no fence, but looks like a copy of one that has.';
COMMENT ON COLUMN distlock.protected_tables.lock IS 'The lock''s name or template.';
COMMENT ON COLUMN distlock.protected_tables.mode IS 'live, live_strict, high_water or row.';
COMMENT ON COLUMN distlock.protected_tables.token_column IS 'The column that carries tokens; NULL = callers use distlock.fence.';
COMMENT ON COLUMN distlock.protected_tables.firing IS
'origin (not under session_replication_role = replica), always, replica, or disabled.';
COMMENT ON COLUMN distlock.protected_tables.problems IS 'In words; empty = none found.';

GRANT SELECT ON distlock.locks, distlock.waiters, distlock.runs, distlock.protected_tables TO PUBLIC;

-- ---------------------------------------------------------------------------------------------
-- Administration
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION distlock.prune(older_than interval) RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_prune';
COMMENT ON FUNCTION distlock.prune IS
'For administrators: removes the rows of locks that have been free for longer than that (NULL = distlock.retention) and returns their number. Not needed in normal operation: acquiring transactions do it little by little. One call removes no more than half of what the server''s lock table holds; repeat until it returns 0.';
REVOKE ALL ON FUNCTION distlock.prune FROM PUBLIC;
GRANT EXECUTE ON FUNCTION distlock.prune TO @extowner@ WITH GRANT OPTION;

CREATE FUNCTION distlock.advance_token(at_least bigint) RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_advance_token';
COMMENT ON FUNCTION distlock.advance_token IS
'For administrators: makes every later token larger than this one; forward only. Returns the last token that counts as handed out.';
REVOKE ALL ON FUNCTION distlock.advance_token FROM PUBLIC;
GRANT EXECUTE ON FUNCTION distlock.advance_token TO @extowner@ WITH GRANT OPTION;

CREATE FUNCTION distlock.grant_prefix(prefix text, role regrole) RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_grant_prefix';
COMMENT ON FUNCTION distlock.grant_prefix IS
'For administrators: keeps lock names that begin with the prefix to members of the role; several roles may share a prefix, and the empty prefix covers all names. False when it was so already.';
REVOKE ALL ON FUNCTION distlock.grant_prefix FROM PUBLIC;
GRANT EXECUTE ON FUNCTION distlock.grant_prefix TO @extowner@ WITH GRANT OPTION;

CREATE FUNCTION distlock.revoke_prefix(prefix text, role regrole) RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'distlock_revoke_prefix';
COMMENT ON FUNCTION distlock.revoke_prefix IS
'For administrators: takes back what grant_prefix gave; false when there was nothing.';
REVOKE ALL ON FUNCTION distlock.revoke_prefix FROM PUBLIC;
GRANT EXECUTE ON FUNCTION distlock.revoke_prefix TO @extowner@ WITH GRANT OPTION;
