"""The fence under other loads: many clients, a million rows by INSERT ... SELECT, COPY and UPDATE, ten
thousand locks in one transaction; beside no trigger, an empty C trigger, a good PL/pgSQL fence (FOR SHARE
of the lock's row), and the predicate "WHERE fence <= token" that people write by hand.
"""

import os

from fence import ROWS, build_empty_trigger
from measure import CLIENTS, alternate, interleave, of, row, sql

LOCKS = 10000
SCHEMA = "fence_statements"  # and with a number behind it, of variants that are there at once
TICK = 1 / os.sysconf("SC_CLK_TCK")
TRIGGER = "CREATE TRIGGER fence BEFORE INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION {}"
PROTECT = "SELECT distlock.protect('t', '{}', token_column => 'fence')"
PROTECTION = {
    "no trigger": "",
    "predicate": "",
    "empty C trigger": TRIGGER.format("bench.empty_trigger()"),
    "PL/pgSQL fence": TRIGGER.format("bench.plpgsql_fence('bench fence')"),
    "PL/pgSQL fence, lock of the row": TRIGGER.format("bench.plpgsql_row_fence()"),
    "distlock": PROTECT.format("bench fence"),
    "distlock, template": PROTECT.format("bench fence {one}"),  # a template, and yet one lock for all rows
    "distlock, lock of the row": PROTECT.format("bench fence:{id}"),
}

# A fence with a lock for each row, as one would write it.
ROW_FENCE = """
    CREATE FUNCTION bench.plpgsql_row_fence() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        current_token bigint;
    BEGIN
        SELECT token INTO current_token FROM bench.lease WHERE name = 'bench fence:' || NEW.id FOR SHARE;
        IF current_token IS DISTINCT FROM NEW.fence THEN
            RAISE EXCEPTION 'stale token';
        END IF;
        NEW.fence := NULL;
        RETURN NEW;
    END $$"""


def fresh_table(variant, count, fillfactor=100, schema=SCHEMA):
    sql(f"""
        SET client_min_messages = warning;
        DROP SCHEMA IF EXISTS {schema} CASCADE;
        CREATE SCHEMA {schema}
            CREATE TABLE t (id int PRIMARY KEY, v bigint NOT NULL, one int NOT NULL DEFAULT 1, fence bigint)
            WITH (fillfactor = {fillfactor});
        SET search_path = {schema};
        INSERT INTO t SELECT i, 0 FROM generate_series(1, {count}) AS i;
        {PROTECTION[variant]}""")
    sql(f"VACUUM (ANALYZE) {schema}.t; CHECKPOINT")


class Tokens:
    """The locks that all variants use, in the lease table of each peer."""

    def __init__(self):
        self.names = ["bench fence", "bench fence 1"]
        self.values = {name: sql(f"SELECT distlock.try_acquire('{name}', '6 h')") for name in self.names}
        for name, token in self.values.items():
            sql(f"INSERT INTO bench.lease (name, token, expires_at) VALUES ('{name}', {token}, 'infinity')")
        sql(f"""
            CREATE TABLE bench.fence_token AS
            SELECT i AS id, distlock.try_acquire('bench fence:' || i, '6 h') AS token FROM generate_series(1, {LOCKS}) AS i;
            ANALYZE bench.fence_token;
            INSERT INTO bench.lease (name, token, expires_at) SELECT 'bench fence:' || id, token, 'infinity' FROM bench.fence_token""")

    def present(self, variant):
        """What comes before the statement in its transaction."""
        if variant == "PL/pgSQL fence":
            return f"SELECT set_config('bench.token', '{self.values['bench fence']}', true);"
        if variant.startswith("distlock"):
            name = "bench fence 1" if variant == "distlock, template" else "bench fence"
            return f"SELECT distlock.fence('{name}', {self.values[name]});"
        return ""


def timed(before, statement):
    """Seconds of the clock and of the backend's processor for a transaction."""
    sample = "SELECT bench.sample_cpu(); SELECT extract(epoch FROM clock_timestamp()) AS now \\gset {}\n"
    out = sql(f"SET search_path = {SCHEMA}; DELETE FROM bench.cpu;\n" + sample.format("begun_")
              + f"BEGIN;\n{before}\n{statement}\nCOMMIT;\n" + sample.format("ended_")
              + "SELECT :ended_now - :begun_now, max(ticks) - min(ticks) FROM bench.cpu;")
    clock, ticks = out.splitlines()[-1].split("|")
    return float(clock), max(1, int(ticks)) * TICK


def measure_bulk(tokens, scratch):
    data = os.path.join(scratch, "rows.csv")
    statements = {  # the statement, and how many rows are there before
        "UPDATE": ("UPDATE t SET v = v + 1;", ROWS),
        "INSERT ... SELECT": (f"INSERT INTO t (id, v) SELECT i, 0 FROM generate_series(1, {ROWS}) AS i;", 0),
        "COPY": (f"\\copy t (id, v) FROM '{data}' (FORMAT csv)", 0),
    }
    with open(data, "w") as out:
        out.writelines(f"{i},0\n" for i in range(1, ROWS + 1))
    variants = ["no trigger", "empty C trigger", "PL/pgSQL fence", "distlock", "distlock, template"]
    for name, (statement, count) in statements.items():
        cpu = {v: [] for v in variants}

        def one(variant, statement=statement, count=count, cpu=cpu):
            fresh_table(variant, count)
            clock, processor = timed(tokens.present(variant), statement)
            cpu[variant].append(ROWS / processor)
            return ROWS / clock

        what = f"{name}, {ROWS:,} rows"
        clock = interleave(what, {v: lambda v=v: one(v) for v in variants})
        for ours, limit in (("distlock", 1.05), ("distlock, template", 1.15)):
            label = what + ours.removeprefix("distlock")
            for peer in variants[:3]:
                target = round(1 / limit, 3) if peer == "empty C trigger" else None
                row(label, peer, clock[ours], clock[peer], target=target, unit="rows/s")
            row(label + ", by CPU time", "empty C trigger", cpu[ours], cpu["empty C trigger"],
                target=round(1 / limit, 3), unit="rows/CPU s")


def measure_clients(tokens):
    variants = {"no trigger": "plain", "PL/pgSQL fence": "plpgsql", "predicate": "predicate", "distlock": "plain"}
    targets = {"no trigger": 0.9, "PL/pgSQL fence": 1.3, "predicate": None}
    for clients in CLIENTS:
        pgbenches = {}
        for number, (variant, script) in enumerate(variants.items()):
            schema = f"{SCHEMA}_{number}"
            fresh_table(variant, 10000, 70, schema)
            pgbenches[variant] = dict(script=f"fence_row_{script}.sql", clients=clients,
                                      settings=f"-csearch_path={schema}", token=tokens.values["bench fence"])
        what = of("single-row UPDATE", clients)
        rates = alternate(what, pgbenches)
        for peer, target in targets.items():
            row(what, peer, rates["distlock"], rates[peer], target=target)
        row("  no trigger in its place", "PL/pgSQL fence", rates["no trigger"], rates["PL/pgSQL fence"])
    for number in range(len(variants)):
        sql(f"SET client_min_messages = warning; DROP SCHEMA {SCHEMA}_{number} CASCADE")


def measure_many_locks():
    variants = ["no trigger", "PL/pgSQL fence, lock of the row", "distlock, lock of the row"]

    def one(variant):
        fresh_table(variant, LOCKS)
        clock, _ = timed("", "UPDATE t SET v = v + 1, fence = x.token FROM bench.fence_token AS x WHERE x.id = t.id;")
        return LOCKS / clock

    what = f"{LOCKS:,} locks in one transaction"
    rates = interleave(what, {v: lambda v=v: one(v) for v in variants})
    for peer in variants[:2]:
        row(what, peer, rates[variants[2]], rates[peer], unit="rows/s")


def measure(scratch):
    if sql("SELECT to_regproc('bench.empty_trigger') IS NULL") == "t":
        build_empty_trigger(scratch)
    sql(ROW_FENCE)
    tokens = Tokens()
    measure_clients(tokens)
    measure_bulk(tokens, scratch)
    measure_many_locks()
    sql(f"SET client_min_messages = warning; DROP SCHEMA {SCHEMA} CASCADE; "
        "DROP TABLE bench.fence_token; DELETE FROM bench.lease WHERE name LIKE 'bench fence%'; "
        "SELECT count(distlock.release(name, token)) FROM distlock.locks WHERE name LIKE 'bench fence%'")
