"""What the functions return and the views show must arrive as the language's own types."""

import datetime
import threading

import scenario
import tap

INSTANT = datetime.datetime
OPTIONAL = type(None)

LOCKS = {
    "name": str, "slot": int, "token": int, "state": str, "mode": str, "capacity": int, "owner": str,
    "role": str, "metadata": None, "since": INSTANT, "renewed_at": INSTANT, "expires_at": INSTANT,
    "remaining_ms": int, "grants": int, "takeovers": int, "session_pid": OPTIONAL, "pinned_by": OPTIONAL,
}
WAITERS = {
    "name": str, "pid": int, "owner": str, "mode": str, "since": INSTANT, "position": int,
    "waiting_for_pid": OPTIONAL,
}
PROTECTED = {
    "schema_name": str, "table_name": str, "trigger_name": str, "lock": str, "mode": str, "token_column": str,
    "firing": str, "problems": list,
}


def types(row):
    return {column: type(value) for column, value in row.items()}


def readable(app, other):
    """One application's view of all results; the other one is there to wait and to look."""
    lock = "types:1"
    values = {"lock": lock}
    values["token"] = app.scalar("""
        SELECT distlock.try_acquire(name => :lock, ttl => CAST('10 min' AS interval), owner => 'me',
                                    metadata => CAST('{"host": "here"}' AS jsonb))""", lock=lock)
    tap.equal(type(values["token"]), int, "try_acquire returns an integer")
    taken = app.scalar("SELECT distlock.try_acquire(:lock)", lock=lock)
    tap.equal(taken, None, "try_acquire of a held lock returns None")
    functions = {"renew": INSTANT, "is_current": bool}
    for function, expected in functions.items():
        value = app.scalar(f"SELECT distlock.{function}(:lock, :token)", **values)
        tap.equal(type(value), expected, f"{function} returns {expected.__name__}")
    expiry = app.scalar("SELECT distlock.renew(:lock, :token)", **values)
    tap.ok(expiry.tzinfo is not None, "renew's instant has a time zone")

    with app.transaction():
        scenario.fence(app, lock, values["token"])
        pids = other.scalar("SELECT pinned_by FROM distlock.locks WHERE name = :lock", lock=lock)
        tap.equal(pids, [app.scalar("SELECT pg_backend_pid()")], "pinned_by is a list of integers")

    waiter = threading.Thread(target=wait, args=(other, lock))
    waiter.start()
    rows = tap.until(lambda: app.rows("SELECT * FROM distlock.waiters WHERE owner = 'other'"), "other waits")
    tap.equal(types(rows[0]), WAITERS, "rows of view waiters")
    held = {"rows of view locks": "SELECT * FROM distlock.locks WHERE name = :lock",
            "rows of holder()": "SELECT * FROM distlock.holder(:lock)"}
    for what, sql in held.items():
        tap.equal(types(app.rows(sql, lock=lock)[0]), dict(LOCKS, metadata=app.json), what)
    tap.equal(scenario.release(app, lock, values["token"]), "released", "release returns text")
    waiter.join()
    rows = app.rows("SELECT * FROM distlock.protected_tables WHERE table_name = 'orm_report'")
    tap.equal(types(rows[0]), PROTECTED, "rows of view protected_tables")
    tap.equal(rows[0]["problems"], [], "the table's protection has no problems")


def wait(app, lock):
    token = app.scalar("SELECT distlock.acquire(name => :lock, owner => 'other')", lock=lock)
    scenario.release(app, lock, token)
