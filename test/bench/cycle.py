"""Acquire and release on distinct names, against the best hand-written SQL and advisory locks.

All of them wait for the disk where they write: the answer of distlock and of the hand-written
statements is durable. Advisory locks write nothing, and forget everything in a crash.
"""

from measure import CLIENTS, interleave, of, pgbench, row


def measure():
    for clients in CLIENTS:
        what = of("cycle", clients)
        rates = interleave(what, {
            name: lambda script=f"cycle_{name}.sql": pgbench(script, clients)
            for name in ("distlock", "handwritten", "advisory")
        })
        row(what, "hand-written SQL", rates["distlock"], rates["handwritten"], target=1.5)
        row(what, "advisory lock", rates["distlock"], rates["advisory"])
