"""Runs the Python of doc/clients.md as it stands there, each library's with the parts that all share."""

import os
import re

import psycopg

import tap

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../doc/clients.md")


def blocks(heading):
    """The code under that heading."""
    with open(PAGE, encoding="utf-8") as page:
        part = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", page.read(), re.M | re.S)[1]
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", part, re.M | re.S))


def run(code, what, names):
    exec(compile(code, f"doc/clients.md: {what}", "exec"), names)


def sql(query, *values):
    return ADMIN.execute(query, values).fetchone()


def body():
    return sql("SELECT body FROM report WHERE id = 1")[0]


def steal(lock, token):
    """The lease comes to an end, somebody else takes the lock."""
    sql("SELECT distlock.force_release(%s, %s)", lock, token)
    return sql("SELECT distlock.try_acquire(%s)", lock)[0]


def raises(error, action):
    try:
        action()
    except error as caught:
        return caught
    return None


def check(library):
    names = {"__name__": "reports"}
    for part in ("A lease with a heartbeat", library):
        run(blocks(part), part, names)
    lease_of, query, publish = names["Lease"], names["query"], names["publish"]

    def ok(passed, what):
        tap.ok(passed, f"{library}: {what}")

    with lease_of(query, "report:1", ttl=2) as lease:
        tap.until(lambda: sql("SELECT renewed_at > since + interval '2 s' FROM distlock.holder('report:1')")[0],
                  "the heartbeat carries the lease past its first ttl")
        lease.check()
        ok(raises(names["Busy"], lambda: lease_of(query, "report:1").__enter__()), "another one finds it busy")
        ok(publish(lease, 1, f"by {library}") and body() == f"by {library}", "the holder publishes")
        if "publish_at_once" in names:
            names["publish_at_once"](lease, 1, "at once")
            ok(body() == "at once", "the holder publishes in one statement")
        before = body()
        rival = steal("report:1", lease.token)
        ok(publish(lease, 1, "late") is False and body() == before, "a late result is thrown away")
        if "publish_at_once" in names:
            error = raises(psycopg.DatabaseError, lambda: names["publish_at_once"](lease, 1, "late"))
            ok(error.sqlstate == "LK001" and body() == before, "a late statement is refused")
        tap.until(lambda: raises(names["Lost"], lease.check), "the heartbeat learns that the lease is lost")
    ok(sql("SELECT token FROM distlock.holder('report:1')") == (rival,), "the loser's release changes nothing")
    sql("SELECT distlock.release('report:1', %s)", rival)

    run(blocks("Use"), "Use", names)
    ok(body() == names["compute"](1), "the whole of it publishes")
    ok(sql("SELECT count(*) FROM distlock.holder('report:1')") == (0,), "and releases")


def configure_django():
    import django
    from django.conf import settings
    database = {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}
    settings.configure(DATABASES={"default": database}, USE_TZ=True)
    django.setup()


if __name__ == "__main__":
    ADMIN = psycopg.connect(user="postgres", autocommit=True)
    configure_django()
    for name in ("psycopg", "SQLAlchemy", "Django"):
        check(name)
    tap.done()
