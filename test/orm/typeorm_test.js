// TypeORM's repositories against a protected table.
'use strict';
const { AbstractLogger, DataSource, EntitySchema, QueryFailedError } = require('typeorm');
const results = require('./results');
const scenario = require('./scenario');
const tap = require('./tap');

const Report = new EntitySchema({
    name: 'Report',
    tableName: 'orm_report',
    columns: {
        id: { type: 'integer', primary: true },
        title: { type: 'text' },
        body: { type: 'text', nullable: true },
        pages: { type: 'integer' },
        edited: { type: 'timestamptz' },
        fence: { type: 'bigint', nullable: true },
    },
});

class Log extends AbstractLogger {
    constructor(sent) {
        super(['query']);
        this.sent = sent;
    }

    logQuery(sql) {
        this.sent.push(sql);
    }

    writeLog() {}
}

class App {
    Error = QueryFailedError;
    sent = [];

    async connect() {
        const { PGHOST, PGPORT, PGUSER, PGDATABASE } = process.env;
        this.source = new DataSource({
            type: 'postgres', host: PGHOST, port: Number(PGPORT), username: PGUSER, database: PGDATABASE,
            entities: [Report], logger: new Log(this.sent), installExtensions: false,
        });
        await this.source.initialize();
        this.autocommit = this.source.manager; // a session here is an entity manager
        return this;
    }

    writers = {
        // Reads the row and writes what differs: all of it is written where all of it differs.
        'save()': {
            whole: false,
            write: (manager, row) => manager.save(Report, row),
        },
        'update()': {
            whole: true,
            write: (manager, { id, ...columns }) => manager.update(Report, { id }, columns),
        },
        'upsert()': {
            whole: true,
            write: (manager, row) => manager.upsert(Report, row, ['id']),
        },
    };

    transaction(work) {
        return this.source.transaction(work);
    }

    rows(manager, sql, values) {
        return manager.query(sql, values);
    }

    async scalar(manager, sql, values) {
        return Object.values((await this.rows(manager, sql, values))[0])[0];
    }

    load(manager, id) {
        return manager.findOneByOrFail(Report, { id });
    }

    create(manager, columns) {
        return manager.insert(Report, columns);
    }

    remove(manager, row) {
        return manager.remove(Report, row);
    }

    sqlstate(error) {
        return error.driverError.code;
    }

    facts(error) {
        const { detail, table, constraint } = error.driverError;
        return { detail, table, trigger: constraint };
    }
}

async function tokenInMemory(app) {
    const token = await scenario.acquire(app, 'report:20', '10 min');
    const row = await app.load(app.autocommit, 20);
    row.fence = token;
    await app.autocommit.save(Report, row);
    tap.equal(row.fence, token, 'the object in memory keeps the token');
    await scenario.release(app, 'report:20', token);
}

tap.run(async () => {
    console.log(`# TypeORM ${require('./package.json').dependencies.typeorm}`);
    const [a, b] = [await new App().connect(), await new App().connect()];
    await scenario.tell(a, b);
    if (process.argv[2] === 'story') return;
    await results.readable(a, b);
    await tokenInMemory(a);
});
