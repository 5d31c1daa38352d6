"""A backend that runs a million cycles: what it holds at the start, half-way and at the end."""

import os

from measure import fact, pgbench, say, sql

STATEMENTS = int(os.environ.get("BENCH_STATEMENT_CYCLES", "200000"))  # acquire and release sent one by one
LOOP = int(os.environ.get("BENCH_LOOP_CYCLES", "1000000"))  # a hundred in a statement
ALLOWED_KB = 256  # a leak of two bytes a cycle would be seen in either


def grows(what, script, transactions):
    say(what)
    pgbench(f"{script}.sql", transactions=transactions, settings="-csynchronous_commit=off",
            i=0, start=transactions // 20, middle=transactions // 2, end=transactions)
    # RssAnon is memory of its own; VmRSS also counts the shared buffers it has touched.
    for column, label in (("contexts_kb", "memory contexts"), ("anonymous_kb", "RssAnon"), ("rss_kb", "VmRSS")):
        start, middle, end = (int(n) for n in sql(
            f"SELECT {column} FROM bench.memory WHERE sample = '{script}' ORDER BY id").split())
        judged = column != "rss_kb"
        fact(f"{what}: {label}", f"{start:,} / {middle:,} / {end:,} kB",
             end - start <= ALLOWED_KB if judged else None, f"<= +{ALLOWED_KB} kB" if judged else "",
             "growth", f"{end - start:+,} kB")


def measure():
    grows(f"{STATEMENTS:,} cycles in statements", "memory_statements", STATEMENTS)
    grows(f"{LOOP:,} cycles in a loop", "memory_loop", LOOP // 100)
