// Sequelize's models against a protected table.
'use strict';
const { DatabaseError, DataTypes, QueryTypes, Sequelize } = require('sequelize');
const results = require('./results');
const scenario = require('./scenario');
const tap = require('./tap');

class App {
    Error = DatabaseError;
    autocommit = undefined; // a session here is a transaction, or none
    sent = [];

    constructor() {
        const { PGHOST, PGPORT, PGUSER, PGDATABASE } = process.env;
        this.sequelize = new Sequelize(PGDATABASE, PGUSER, undefined, {
            dialect: 'postgres', host: PGHOST, port: PGPORT,
            logging: (line) => this.sent.push(line.replace(/^Executing \([^)]*\): /, '')),
        });
        this.Report = this.sequelize.define('Report', {
            id: { type: DataTypes.INTEGER, primaryKey: true },
            title: { type: DataTypes.TEXT, allowNull: false },
            body: DataTypes.TEXT,
            pages: { type: DataTypes.INTEGER, allowNull: false },
            edited: { type: DataTypes.DATE, allowNull: false },
            fence: DataTypes.BIGINT,
        }, { tableName: 'orm_report', timestamps: false });
    }

    writers = {
        'save() of all fields': {
            whole: true,
            write: (transaction, row) => row.save({ transaction, fields: scenario.COLUMNS }),
        },
        'Model.update()': {
            whole: true,
            write: (transaction, row) => {
                const { id, ...columns } = row.get();
                return this.Report.update(columns, { where: { id }, transaction });
            },
        },
        'Model.upsert()': {
            whole: true,
            write: (transaction, row) => this.Report.upsert(row.get(), { transaction }),
        },
    };

    transaction(work) {
        return this.sequelize.transaction(work);
    }

    rows(transaction, sql, bind = []) {
        return this.sequelize.query(sql, { bind, transaction, type: QueryTypes.SELECT });
    }

    async scalar(transaction, sql, bind) {
        return Object.values((await this.rows(transaction, sql, bind))[0])[0];
    }

    load(transaction, id) {
        return this.Report.findByPk(id, { transaction });
    }

    create(transaction, columns) {
        return this.Report.create(columns, { transaction });
    }

    remove(transaction, row) {
        return row.destroy({ transaction });
    }

    sqlstate(error) {
        return error.original.code;
    }

    facts(error) {
        const { detail, table, constraint } = error.original;
        return { detail, table, trigger: constraint };
    }
}

async function tokenInMemory(app) {
    const token = await scenario.acquire(app, 'report:20', '10 min');
    const row = await app.load(app.autocommit, 20);
    row.fence = token;
    await row.save();
    tap.equal(row.fence, token, 'the object in memory keeps the token');
    await scenario.release(app, 'report:20', token);
}

tap.run(async () => {
    console.log(`# Sequelize ${Sequelize.version}`);
    const [a, b] = [new App(), new App()];
    await scenario.tell(a, b);
    if (process.argv[2] === 'story') return;
    await results.readable(a, b);
    await tokenInMemory(a);
});
