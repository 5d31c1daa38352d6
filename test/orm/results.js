// What the functions return and the views show must arrive as something JavaScript can use.  bigint arrives
// as text, as it always does with pg.
'use strict';
const scenario = require('./scenario');
const tap = require('./tap');

const LOCKS = {
    name: 'string', slot: 'number', token: 'string', state: 'string', mode: 'string', capacity: 'number',
    owner: 'string', role: 'string', metadata: 'Object', since: 'Date', renewed_at: 'Date', expires_at: 'Date',
    remaining_ms: 'string', grants: 'string', takeovers: 'string', session_pid: 'null', pinned_by: 'null',
};
const WAITERS = {
    name: 'string', pid: 'number', owner: 'string', mode: 'string', since: 'Date', position: 'number',
    waiting_for_pid: 'null',
};
const PROTECTED = {
    schema_name: 'string', table_name: 'string', trigger_name: 'string', lock: 'string', mode: 'string',
    token_column: 'string', firing: 'string', problems: 'Array',
};

function kind(value) {
    if (value === null) return 'null';
    return typeof value === 'object' ? value.constructor.name : typeof value;
}

function kinds(row) {
    return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, kind(value)]));
}

// One application's view of all results; the other one is there to wait and to look.
async function readable(app, other) {
    const lock = 'types:1';
    const scalar = (sql, values) => app.scalar(app.autocommit, sql, values);
    const rows = (sql, values) => app.rows(app.autocommit, sql, values);
    const token = await scalar(`
        SELECT distlock.try_acquire(name => $1, ttl => '10 min', owner => 'me', metadata => $2)`,
        [lock, JSON.stringify({ host: 'here' })]);
    tap.ok(kind(token) === 'string' && /^[0-9]+$/.test(token), 'try_acquire returns an integer as text', token);
    tap.equal(await scalar('SELECT distlock.try_acquire($1)', [lock]), null, 'try_acquire of a held lock returns null');
    const functions = { renew: 'Date', is_current: 'boolean' };
    for (const [name, expected] of Object.entries(functions)) {
        const value = await scalar(`SELECT distlock.${name}($1, $2)`, [lock, token]);
        tap.equal(kind(value), expected, `${name} returns a ${expected}`);
    }
    tap.equal(await scalar('SELECT distlock.is_current($1, $2)', [lock, Number(token)]), true,
        'a token is the same as a number');
    await app.transaction(async (session) => {
        await scenario.fence(app, session, lock, token);
        const sql = 'SELECT pinned_by FROM distlock.locks WHERE name = $1';
        tap.equal(await other.scalar(other.autocommit, sql, [lock]),
            [await app.scalar(session, 'SELECT pg_backend_pid()', [])], 'pinned_by is an array of numbers');
    });

    const waiting = wait(other, lock);
    const find = () => rows("SELECT * FROM distlock.waiters WHERE owner = 'other'", []);
    const waiters = await tap.until(async () => { const found = await find(); return found.length && found; },
        'other waits');
    tap.equal(kinds(waiters[0]), WAITERS, 'rows of view waiters');
    const held = {
        'rows of view locks': 'SELECT * FROM distlock.locks WHERE name = $1',
        'rows of holder()': 'SELECT * FROM distlock.holder($1)',
    };
    for (const [what, sql] of Object.entries(held)) tap.equal(kinds((await rows(sql, [lock]))[0]), LOCKS, what);
    tap.equal(await scenario.release(app, lock, token), 'released', 'release returns text');
    await waiting;
    const [table] = await rows("SELECT * FROM distlock.protected_tables WHERE table_name = 'orm_report'", []);
    tap.equal(kinds(table), PROTECTED, 'rows of view protected_tables');
    tap.equal(table.problems, [], "the table's protection has no problems");
}

async function wait(app, lock) {
    const sql = "SELECT distlock.acquire(name => $1, owner => 'other')";
    await scenario.release(app, lock, await app.scalar(app.autocommit, sql, [lock]));
}

module.exports = { readable };
