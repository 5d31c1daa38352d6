"""Acquire and release on distinct names, against the best hand-written SQL and advisory locks.

All of them wait for the disk where they write: the answer of distlock and of the hand-written
statements is durable. Advisory locks write nothing, and forget everything in a crash.

Prepared statements are what a pooled application sends at best. With the simple protocol the server
parses and plans each statement anew, as it does for drivers that prepare nothing.
"""

from measure import CLIENTS, alternate, of, row


def measure():
    for protocol, label in (("prepared", ""), ("simple", ", not prepared")):
        for clients in CLIENTS:
            what = of("cycle", clients) + label
            rates = alternate(what, {
                name: dict(script=f"cycle_{name}.sql", clients=clients, protocol=protocol)
                for name in ("distlock", "handwritten", "advisory")
            })
            row(what, "hand-written SQL", rates["distlock"], rates["handwritten"], target=1.5)
            row(what, "advisory lock", rates["distlock"], rates["advisory"])
