// Runs the JavaScript of doc/clients.md as it stands there, each library's with the parts that all share.
'use strict';
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { Client } = require('pg');
const tap = require('./tap');

const PAGE = fs.readFileSync(path.join(__dirname, '../../doc/clients.md'), 'utf8');
const LIBRARIES = ['pg', 'Sequelize', 'TypeORM'];
const admin = new Client({ user: 'postgres' });

// The code under that heading.
function blocks(heading) {
    const start = PAGE.indexOf(`### ${heading}\n`);
    if (start < 0) throw new Error(`no heading ${heading}`);
    const end = PAGE.indexOf('\n##', start);
    return [...PAGE.slice(start, end).matchAll(/^```js\n(.*?)^```$/gms)].map((match) => match[1]).join('\n');
}

// The blocks as one module, with their functions as its exports.
function load(library) {
    const code = ['A lease with a heartbeat (Node.js)', 'Use (Node.js)', library].map(blocks).join('\n');
    const names = [...code.matchAll(/^(?:async )?function (\w+)/gm)].map((match) => match[1]);
    const made = new Module(`clients.md ${library}`);
    made.paths = module.paths;
    made._compile(`${code}\nmodule.exports = { ${names.join(', ')} };\n`, path.join(__dirname, `clients.md ${library}`));
    return made.exports;
}

async function sql(query, values) {
    const { rows: [row] } = await admin.query(query, values);
    return row && Object.values(row)[0];
}

const body = () => sql('SELECT body FROM report WHERE id = 1');

// The lease comes to an end, somebody else takes the lock.
async function steal(lock, token) {
    await sql('SELECT distlock.force_release($1, $2)', [lock, token]);
    return sql('SELECT distlock.try_acquire($1)', [lock]);
}

async function check(library) {
    const { compute, main, publish, publishAtOnce, query, withLease } = load(library);
    const ok = (passed, what) => tap.ok(passed, `${library}: ${what}`);
    let rival;
    await withLease(query, 'report:1', 2, async (lease) => {
        await tap.until(
            () => sql("SELECT renewed_at > since + interval '2 s' FROM distlock.holder('report:1')"),
            'the heartbeat carries the lease past its first ttl');
        ok(!lease.signal.aborted, 'the heartbeat keeps the lease');
        ok(await withLease(query, 'report:1', 1, () => {}) === false, 'another one finds it busy');
        ok(await publish(lease, 1, `by ${library}`) && await body() === `by ${library}`, 'the holder publishes');
        if (publishAtOnce) {
            await publishAtOnce(lease, 1, 'at once');
            ok(await body() === 'at once', 'the holder publishes in one statement');
        }
        const before = await body();
        rival = await steal('report:1', lease.token);
        ok(await publish(lease, 1, 'late') === false && await body() === before, 'a late result is thrown away');
        if (publishAtOnce) {
            const error = await publishAtOnce(lease, 1, 'late').catch((caught) => caught);
            ok(error.code === 'LK001' && await body() === before, 'a late statement is refused');
        }
        await tap.until(() => lease.signal.aborted, 'the heartbeat learns that the lease is lost');
    });
    ok(await sql("SELECT token FROM distlock.holder('report:1')") === rival, "the loser's release changes nothing");
    await sql("SELECT distlock.release('report:1', $1)", [rival]);

    await main();
    ok(await body() === await compute(1), 'the whole of it publishes');
    ok(await sql("SELECT count(*) FROM distlock.holder('report:1')") === '0', 'and releases');
}

tap.run(async () => {
    await admin.connect();
    for (const library of LIBRARIES) await check(library);
});
