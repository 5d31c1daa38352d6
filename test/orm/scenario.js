// The story of scenario.py for the mappers of Node.js, told by the same kind of members:
//
//     Error                          what the mapper throws when the server refuses a statement
//     writers                        the ways of writing a row back, by name: functions of a session and a row;
//                                    whole says of each whether it writes columns that have not changed
//     transaction(work)              calls work(session); everything within is one transaction
//     autocommit                     the session that commits each statement
//     scalar(session, sql, values)   one statement with $1, $2 and its one value
//     load(session, id), create(session, columns), remove(session, row)
//     sqlstate(error), facts(error)  how an application learns why it was refused
//     sent                           the statements that the mapper has sent
//
// bigint arrives as text in JavaScript; a token may go back as it came, and is below 2^53.
'use strict';
const tap = require('./tap');

const COLUMNS = ['title', 'body', 'pages', 'edited', 'fence'];
const WAIT = '20 s';

function acquire(app, lock, ttl) {
    const sql = 'SELECT distlock.acquire(name => $1, ttl => CAST($2 AS interval), wait => CAST($3 AS interval))';
    return app.scalar(app.autocommit, sql, [lock, ttl, WAIT]);
}

function fence(app, session, lock, token) {
    return app.scalar(session, 'SELECT distlock.fence($1, $2)', [lock, token]);
}

function release(app, lock, token) {
    return app.scalar(app.autocommit, 'SELECT distlock.release($1, $2)', [lock, token]);
}

class Story {
    constructor(a, b, writer, style, id) {
        Object.assign(this, { a, b, writer, style, id, lock: `report:${id}` });
    }

    ok(passed, what, ...facts) {
        tap.ok(passed, `${this.writer}, ${this.style}: ${what}`, ...facts);
    }

    equal(got, expected, what) {
        tap.equal(got, expected, `${this.writer}, ${this.style}: ${what}`);
    }

    // One unit of work of this story's style.
    unit(app, work) {
        return this.style === 'transaction' ? app.transaction(work) : work(app.autocommit);
    }

    write(app, row) {
        return this.unit(app, (session) => app.writers[this.writer].write(session, row));
    }

    async stored() {
        const row = await this.b.load(this.b.autocommit, this.id);
        return [row.body, row.fence];
    }

    // The action is refused for that reason, at the first try, and nobody tried again.
    async refused(sqlstate, app, what, action) {
        const before = app.sent.length;
        try {
            await action();
        } catch (error) {
            if (!(error instanceof app.Error)) throw error;
            const tries = app.sent.slice(before).filter((sql) => /^(INSERT|UPDATE|DELETE)/.test(sql));
            this.ok(app.sqlstate(error) === sqlstate && tries.length <= 1, `${what}: ${sqlstate}`,
                app.sqlstate(error), error.message, tries);
            return error;
        }
        this.ok(false, `${what}: ${sqlstate}`, 'it was not refused');
        return null;
    }

    async tell() {
        await this.takeOver();
        await this.writeLate();
        await this.launder();
        await this.writeUnderFence();
        await this.create();
        await this.remove();
        this.equal(await release(this.b, this.lock, this.new), 'released', 'B releases');
        this.equal(await release(this.a, this.lock, this.old), 'superseded', 'A learns that it was superseded');
    }

    async takeOver() {
        this.old = await acquire(this.a, this.lock, '300 ms');
        this.stale = await this.a.load(this.a.autocommit, this.id);
        this.new = await acquire(this.b, this.lock, '10 min');
        this.ok(BigInt(this.new) > BigInt(this.old), "B is granted the lock after A's lease, with a higher token");
        this.ok(Number.isSafeInteger(Number(this.new)), 'a token is a safe integer');
        const row = await this.b.load(this.b.autocommit, this.id);
        Object.assign(row, { body: 'by B', fence: this.new });
        await this.write(this.b, row);
        this.equal(await this.stored(), ['by B', null], 'B writes under its token, which is not kept');
    }

    async writeLate() {
        const { a } = this;
        Object.assign(this.stale, { body: 'late', fence: this.old });
        const error = await this.refused('LK001', a, "A's stale row with A's token", () => this.write(a, this.stale));
        if (a.writers[this.writer].whole) {
            const written = a.sent.filter((sql) => /^(INSERT|UPDATE)/.test(sql)).pop();
            this.ok(COLUMNS.every((column) => written.includes(`"${column}"`)), 'it was the whole row', written);
        }
        const { detail, table, trigger } = a.facts(error);
        this.ok(detail.includes(this.new) && table === 'orm_report' && trigger === '~distlock_fence',
            'the error names the current token, the table and the trigger', detail, table, trigger);
        this.equal(await this.stored(), ['by B', null], "B's result is intact");
        await this.refused('LK001', a, "fence() with A's token",
            () => a.transaction((session) => fence(a, session, this.lock, this.old)));
    }

    async launder() {
        const row = await this.a.load(this.a.autocommit, this.id);
        this.equal(row.fence, null, 'A reads no token that it could present');
        row.body = 'laundered';
        await this.refused('LK002', this.a, 'A reads the row again and writes it back', () => this.write(this.a, row));
        this.equal(await this.stored(), ['by B', null], "B's result is still intact");
    }

    async writeUnderFence() {
        const { b } = this;
        await b.transaction(async (session) => {
            this.equal(await fence(b, session, this.lock, this.new), this.new, 'fence() returns the token');
            const row = await b.load(session, this.id);
            row.body = 'by B, again';
            await b.writers[this.writer].write(session, row);
        });
        this.equal(await this.stored(), ['by B, again', null], 'B reads and writes the whole row under fence()');
        const row = await b.load(b.autocommit, this.id);
        row.body = 'without';
        await this.refused('LK002', b, 'B in a later transaction without its token', () => this.write(b, row));
    }

    async create() {
        const { a, b } = this;
        const columns = { id: this.id + 1000, title: 'new', body: 'new', pages: 2, edited: this.stale.edited };
        const lock = `report:${columns.id}`;
        const token = await acquire(b, lock, '10 min');
        const create = (app, fenceValue) =>
            this.unit(app, (session) => app.create(session, { ...columns, fence: fenceValue }));
        await this.refused('LK002', b, 'a new row without a token', () => create(b, null));
        await this.refused('LK001', a, "a new row with another lock's token", () => create(a, this.old));
        await create(b, token);
        this.equal((await b.load(b.autocommit, columns.id)).fence, null, 'a new row with its token');
        await b.transaction(async (session) => {
            await fence(b, session, lock, token);
            await b.remove(session, await b.load(session, columns.id));
            await b.create(session, { ...columns, fence: null });
        });
        this.equal((await b.load(b.autocommit, columns.id)).body, 'new', 'deleted and created again under fence()');
        await release(b, lock, token);
    }

    async remove() {
        const { a, b } = this;
        const removeUnder = (app, token) => app.transaction(async (session) => {
            await fence(app, session, this.lock, token);
            await app.remove(session, await app.load(session, this.id));
        });
        await this.refused('LK002', a, 'A deletes the row',
            () => this.unit(a, async (session) => a.remove(session, await a.load(session, this.id))));
        await this.refused('LK001', a, 'A deletes the row under its token', () => removeUnder(a, this.old));
        await removeUnder(b, this.new);
        const count = await b.scalar(b.autocommit, 'SELECT count(*)::int FROM orm_report WHERE id = $1', [this.id]);
        this.equal(count, 0, 'B deletes the row under its token');
    }
}

async function tell(a, b) {
    let id = 0;
    for (const writer of Object.keys(a.writers)) {
        for (const style of ['autocommit', 'transaction']) await new Story(a, b, writer, style, ++id).tell();
    }
}

module.exports = { COLUMNS, acquire, fence, release, tell };
