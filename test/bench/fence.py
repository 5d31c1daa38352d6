"""Fenced UPDATE, one row a transaction and a million rows in one, against no trigger, an empty C
trigger and a good PL/pgSQL fence.

Each variant has a schema with a table `t`, made anew before every measurement: nobody is slowed by
the dead rows of one before.
"""

import os

from measure import HERE, alternate, interleave, of, pgbench, row, run, sql

ROWS = int(os.environ.get("BENCH_ROWS", "1000000"))
TRIGGER = "CREATE TRIGGER fence BEFORE INSERT OR UPDATE OR DELETE ON fence_{0}.t FOR EACH ROW EXECUTE FUNCTION {1}"
PROTECTION = {
    "none": "",
    "empty": TRIGGER.format("empty", "bench.empty_trigger()"),
    "plpgsql": TRIGGER.format("plpgsql", "bench.plpgsql_fence('bench table')"),
    "distlock": "SELECT distlock.protect('fence_distlock.t'::regclass, 'bench table', token_column => 'fence')",
}
PEERS = {"none": "no trigger", "empty": "empty C trigger", "plpgsql": "PL/pgSQL fence"}


def build_empty_trigger(scratch):
    """Built outside the checkout and loaded by its path: nothing is installed."""
    pgxs = run([os.environ["PG_CONFIG"], "--pgxs"]).strip()
    run(["cp", os.path.join(HERE, "empty_trigger.c"), scratch])
    run(["make", "-C", scratch, "-f", pgxs, f"PGXS={pgxs}", "MODULES=empty_trigger", "with_llvm=no"])
    sql(f"CREATE FUNCTION bench.empty_trigger() RETURNS trigger LANGUAGE c AS '{scratch}/empty_trigger.so'")


def fresh_table(variant, count, fillfactor):
    sql(f"""
        SET client_min_messages = warning;
        DROP SCHEMA IF EXISTS fence_{variant} CASCADE;
        CREATE SCHEMA fence_{variant}
            CREATE TABLE t (id int PRIMARY KEY, v bigint NOT NULL, fence bigint)
            WITH (fillfactor = {fillfactor});
        INSERT INTO fence_{variant}.t SELECT i, 0 FROM generate_series(1, {count}) AS i;
        {PROTECTION[variant]}""")
    # Hint bits and checkpoint are paid for here, not by whoever comes first.
    sql(f"VACUUM (ANALYZE) fence_{variant}.t; CHECKPOINT")


def measure(scratch):
    build_empty_trigger(scratch)
    token = sql("SELECT distlock.try_acquire('bench table', '1 h')")
    sql(f"INSERT INTO bench.lease (name, token, expires_at) VALUES ('bench table', {token}, clock_timestamp() + interval '1 h')")

    def one_row(variant, clients):
        fresh_table(variant, 10000, 70)
        return dict(script="fence_row_plpgsql.sql" if variant == "plpgsql" else "fence_row_plain.sql",
                    clients=clients, settings=f"-csearch_path=fence_{variant}", token=token)

    def bulk(variant):
        fresh_table(variant, ROWS, 100)
        script = f"fence_bulk_{variant if variant in ('plpgsql', 'distlock') else 'plain'}.sql"
        rate = pgbench(script, transactions=1, settings=f"-csearch_path=fence_{variant}", token=token)
        ticks = int(sql("DELETE FROM bench.cpu RETURNING ticks"))
        per_cpu[variant].append(ROWS * os.sysconf("SC_CLK_TCK") / ticks)
        return ROWS * rate

    for clients in (1, 8):
        what = of("fenced UPDATE, 1 row", clients)
        rates = alternate(what, {v: one_row(v, clients) for v in PROTECTION})
        for variant, peer in PEERS.items():
            row(what, peer, rates["distlock"], rates[variant])

    what = f"fenced UPDATE, {ROWS:,} rows"
    per_cpu = {variant: [] for variant in PROTECTION}  # rows a second of processor time: less noise
    rates = interleave(what, {v: lambda v=v: bulk(v) for v in PROTECTION})
    for measured, label, unit in ((rates, what, "rows/s"), (per_cpu, what + ", by CPU time", "rows/CPU s")):
        for variant, peer in PEERS.items():
            # A cost of at most 1.05 times the empty trigger's is 1/1.05 of its rate.
            row(label, peer, measured["distlock"], measured[variant],
                target=0.952 if variant == "empty" else None, unit=unit)
        row("  the empty C trigger in its place", "no trigger", measured["empty"], measured["none"], unit=unit)
    for variant in PROTECTION:
        sql(f"SET client_min_messages = warning; DROP SCHEMA fence_{variant} CASCADE")
    sql(f"SELECT distlock.release('bench table', {token})")
