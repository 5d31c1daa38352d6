"""Prints "ok" and "not ok" lines, and ends with a status that says whether all were ok."""

import sys
import time

count = 0
failures = 0


def ok(passed, what, *facts):
    global count, failures
    count += 1
    print(f"{'ok' if passed else 'not ok'} {count} - {what}", flush=True)
    if not passed:
        failures += 1
        for fact in facts:
            print(f"#   {fact!r}", flush=True)


def equal(got, expected, what):
    ok(got == expected, what, ("got", got), ("expected", expected))


def until(condition, what, seconds=20):
    """Waits for the database to be in some state; returns what the condition returned."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise SystemExit(f"not within {seconds} s: {what}")


def done():
    print(f"1..{count}")
    sys.exit(1 if failures or not count else 0)
