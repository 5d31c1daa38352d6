"""A try on a lock that somebody holds: its rate beside SELECT 1, and that it writes nothing."""

from measure import alternate, fact, of, pgbench, row, sql

TRIES = 10000
POSITION = "SELECT pg_current_wal_insert_lsn() - '0/0', pg_snapshot_xmax(pg_current_snapshot())"


def written(script):
    """WAL bytes and transaction ids of TRIES runs."""
    before = sql(POSITION).split("|")
    pgbench(script, transactions=TRIES)
    after = sql(POSITION).split("|")
    return [int(b) - int(a) for a, b in zip(before, after)]


def measure():
    token = sql("SELECT distlock.try_acquire('held', '1 h')")
    for clients in (1, 8):
        what = of("failed try", clients)
        rates = alternate(what, {
            name: dict(script=f"{name}.sql", clients=clients) for name in ("failed_try", "select_1")
        })
        row(what, "SELECT 1", rates["failed_try"], rates["select_1"], target=0.8)

    # An idle server logs its running transactions once after a checkpoint; the second or third
    # count is free of that.
    sql("VACUUM; CHECKPOINT")
    counts = [written("failed_try.sql") for _ in range(3)]
    fact(f"WAL bytes of {TRIES:,} failed tries, three times", " / ".join(str(c[0]) for c in counts),
         min(c[0] for c in counts) == 0, "0")
    fact("transaction ids of the same", " / ".join(str(c[1]) for c in counts),
         all(c[1] == 0 for c in counts), "0")
    sql(f"SELECT distlock.release('held', {token})")
