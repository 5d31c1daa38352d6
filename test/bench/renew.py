"""Renewals: the rate beside the hand-written UPDATE, the share of HOT updates, WAL a renewal."""

import itertools
import sys

from measure import alternate, fact, of, pgbench, row, sql

COUNTERS = """SELECT n_tup_upd, n_tup_hot_upd, pg_current_wal_insert_lsn() - '0/0'
              FROM pg_catalog.pg_stat_all_tables WHERE relid = '{}'::regclass"""
RENEWALS = 5000
run_number = itertools.count()  # a lock of a run before is still held


def renewals(name, clients):
    return dict(script=f"renew_{name}.sql", clients=clients, token=0, run=next(run_number))


def updates(name, table):
    """HOT share in per cent and WAL bytes an update over RENEWALS renewals by one client."""
    sql("VACUUM; CHECKPOINT")
    pgbench(**renewals(name, 1), transactions=500)  # the page images that follow a checkpoint
    before = [int(n) for n in sql(COUNTERS.format(table)).split("|")]
    pgbench(**renewals(name, 1), transactions=RENEWALS)
    after = [int(n) for n in sql(COUNTERS.format(table)).split("|")]
    updated, hot, wal = (b - a for a, b in zip(before, after))
    if updated < RENEWALS:
        sys.exit(f"{name}: {updated} of {RENEWALS} renewals changed a row")
    return 100.0 * hot / updated, wal / updated


def measure():
    for clients in (1, 8):
        what = of("renew", clients)
        rates = alternate(what, {name: renewals(name, clients) for name in ("distlock", "handwritten")})
        row(what, "hand-written SQL", rates["distlock"], rates["handwritten"])

    hot, wal = updates("distlock", "distlock.lease")
    their_hot, their_wal = updates("handwritten", "bench.lease")
    fact("renew, HOT share", f"{hot:.2f} %", hot >= 99, ">= 99 %", "hand-written SQL", f"{their_hot:.2f} %")
    fact("renew, WAL a renewal", f"{wal:,.0f} bytes", None, "", "hand-written SQL", f"{their_wal:,.0f} bytes")
