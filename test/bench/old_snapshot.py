"""Cycles on one name while another session holds an old snapshot, so that no dead row can go.

Nobody waits for the disk here (durable => false, synchronous_commit = off): what is measured is the
search among dead rows. In turns, a window of cycles each; the hand-written SQL gets a fifth of
them, since it falls far enough in few.
"""

import os
import statistics
import subprocess
import time

from measure import SECONDS, fact, pgbench, row, say, sql

CYCLES = int(os.environ.get("BENCH_SNAPSHOT_CYCLES", "200000"))
WINDOW = {"distlock": max(1, CYCLES // 20), "handwritten": max(1, CYCLES // 100)}
LONGEST = 40 * SECONDS  # the end of one that became too slow to reach CYCLES


def window(name):
    """Cycles a second, and cycles a second of the backend's processor time."""
    cycles = WINDOW[name]
    rate = pgbench(f"one_name_{name}.sql", transactions=cycles, settings="-csynchronous_commit=off", i=0, end=cycles)
    ticks = max(1, int(sql("DELETE FROM bench.cpu RETURNING ticks")))
    return rate, cycles * os.sysconf("SC_CLK_TCK") / ticks


def measure():
    sql("TRUNCATE bench.cpu")
    sql("VACUUM")
    before = {name: window(name) for name in WINDOW}
    psql = subprocess.Popen(["psql", "-XqAt"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    psql.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT 'snapshot taken';\n")
    psql.stdin.flush()
    psql.stdout.readline()
    windows = {name: [] for name in WINDOW}
    began = time.monotonic()
    while len(windows["distlock"]) * WINDOW["distlock"] < CYCLES and time.monotonic() - began < LONGEST:
        for name in WINDOW:
            windows[name].append(window(name))
    psql.communicate()  # ends its input, and so the session
    sql("VACUUM")

    done = {name: len(windows[name]) * WINDOW[name] for name in WINDOW}
    for kind, unit in ((0, "tps"), (1, "per CPU s")):
        rates = {name: [w[kind] for w in windows[name]] for name in WINDOW}
        for name in WINDOW:
            say(f"old snapshot, {name}, {unit}: {before[name][kind]:,.0f} before; with it "
                + " ".join(f"{rate:,.0f}" for rate in rates[name]))
        last, kept = {}, {}
        for name in WINDOW:
            last[name] = statistics.median(rates[name][-3:])
            kept[name] = last[name] / statistics.median(rates[name][:3])
        what = f"old snapshot, {done['distlock']:,} cycles on one name, {unit}"
        fact(f"{what}: last/first", f"{kept['distlock']:.2f}",
             kept["distlock"] >= 0.8 and done["distlock"] >= CYCLES, f">= 0.8 after {CYCLES:,}",
             f"hand-written SQL, {done['handwritten']:,} cycles", f"{kept['handwritten']:.2f}")
        row("  at the end", "hand-written SQL", rates["distlock"][-3:], rates["handwritten"][-3:], unit=unit)
        row("  at the end", "distlock before", [last["distlock"]], [before["distlock"][kind]], unit=unit)
