"""The story that each mapper has to tell: a holder that lost its lease writes its whole row back.

A and B are two applications, each with connections of its own.  A mapper's test describes them by a class
with these members:

    Error                   what the mapper raises when the server refuses a statement
    writers                 the ways of writing a row back, by name: functions of this object and the row
    scalar(sql, **values)   one statement and its one value, in the transaction if one is open
    transaction()           a context: everything within is one transaction
    load(id)                the row as an object
    create(**columns)       a new row
    delete(row)
    sqlstate(error)         how an application learns why it was refused
    facts(error)            the same for the lock's facts: (detail, table, trigger)
    sent                    the statements that the mapper has sent
    json                    the type of a jsonb value that no model describes
"""

import contextlib
import re

import tap

COLUMNS = ("title", "body", "pages", "edited", "fence")
WAIT = "20 s"


def acquire(holder, lock, ttl):
    return holder.scalar("SELECT distlock.acquire(name => :lock, ttl => CAST(:ttl AS interval),"
                         " wait => CAST(:wait AS interval))", lock=lock, ttl=ttl, wait=WAIT)


def fence(holder, lock, token):
    return holder.scalar("SELECT distlock.fence(:lock, :token)", lock=lock, token=token)


def release(holder, lock, token):
    return holder.scalar("SELECT distlock.release(:lock, :token)", lock=lock, token=token)


class Story:
    def __init__(self, a, b, writer, style, row_id):
        self.a, self.b, self.writer, self.style, self.id = a, b, writer, style, row_id
        self.lock = f"report:{row_id}"

    def ok(self, passed, what, *facts):
        tap.ok(passed, f"{self.writer}, {self.style}: {what}", *facts)

    def equal(self, got, expected, what):
        self.ok(got == expected, what, ("got", got), ("expected", expected))

    def unit(self, holder):
        """One unit of work of this story's style."""
        return holder.transaction() if self.style == "transaction" else contextlib.nullcontext()

    def write(self, holder, row):
        with self.unit(holder):
            holder.writers[self.writer](holder, row)

    def stored(self):
        row = self.b.load(self.id)
        return row.body, row.fence

    def refused(self, sqlstate, holder, what, action):
        """The action is refused for that reason, at the first try, and nobody tried again."""
        before = len(holder.sent)
        try:
            action()
        except holder.Error as error:
            tries = [sql for sql in holder.sent[before:] if re.match("(INSERT|UPDATE|DELETE)", sql)]
            self.ok(holder.sqlstate(error) == sqlstate and len(tries) <= 1, f"{what}: {sqlstate}",
                    holder.sqlstate(error), str(error), tries)
            return error
        self.ok(False, f"{what}: {sqlstate}", "it was not refused")
        return None

    def tell(self):
        self.take_over()
        self.write_late()
        self.launder()
        self.write_under_fence()
        self.create()
        self.delete()
        self.equal(release(self.b, self.lock, self.new), "released", "B releases")
        self.equal(release(self.a, self.lock, self.old), "superseded", "A learns that it was superseded")

    def take_over(self):
        self.old = acquire(self.a, self.lock, "300 ms")
        self.stale = self.a.load(self.id)
        self.new = acquire(self.b, self.lock, "10 min")
        self.ok(self.new > self.old > 0, "B is granted the lock after A's lease, with a higher token")
        row = self.b.load(self.id)
        row.body, row.fence = "by B", self.new
        self.write(self.b, row)
        self.equal(self.stored(), ("by B", None), "B writes under its token, which is not kept")

    def write_late(self):
        self.stale.body, self.stale.fence = "late", self.old
        error = self.refused("LK001", self.a, "A's stale row with A's token",
                             lambda: self.write(self.a, self.stale))
        written = [sql for sql in self.a.sent if re.match("(INSERT|UPDATE)", sql)][-1]
        self.ok(all(column in written for column in COLUMNS), "it was the whole row", written)
        detail, table, trigger = self.a.facts(error)
        self.ok(str(self.new) in detail and (table, trigger) == ("orm_report", "~distlock_fence"),
                "the error names the current token, the table and the trigger", detail, table, trigger)
        self.equal(self.stored(), ("by B", None), "B's result is intact")

        def fenced():
            with self.a.transaction():
                fence(self.a, self.lock, self.old)
        self.refused("LK001", self.a, "fence() with A's token", fenced)

    def launder(self):
        row = self.a.load(self.id)
        self.equal(row.fence, None, "A reads no token that it could present")
        row.body = "laundered"
        self.refused("LK002", self.a, "A reads the row again and writes it back",
                     lambda: self.write(self.a, row))
        self.equal(self.stored(), ("by B", None), "B's result is still intact")

    def write_under_fence(self):
        with self.b.transaction():
            self.equal(fence(self.b, self.lock, self.new), self.new, "fence() returns the token")
            row = self.b.load(self.id)
            row.body = "by B, again"
            self.b.writers[self.writer](self.b, row)
        self.equal(self.stored(), ("by B, again", None), "B reads and writes the whole row under fence()")
        row = self.b.load(self.id)
        row.body = "without"
        self.refused("LK002", self.b, "B in a later transaction without its token",
                     lambda: self.write(self.b, row))

    def create(self):
        new = {"id": self.id + 1000, "title": "new", "body": "new", "pages": 2, "edited": self.stale.edited}
        lock = f"report:{new['id']}"
        token = acquire(self.b, lock, "10 min")

        def create(holder, **more):
            with self.unit(holder):
                holder.create(**new, **more)
        self.refused("LK002", self.b, "a new row without a token", lambda: create(self.b, fence=None))
        self.refused("LK001", self.a, "a new row with another lock's token",
                     lambda: create(self.a, fence=self.old))
        create(self.b, fence=token)
        self.equal(self.b.load(new["id"]).fence, None, "a new row with its token")
        with self.b.transaction():
            fence(self.b, lock, token)
            self.b.delete(self.b.load(new["id"]))
            self.b.create(**new, fence=None)
        self.equal(self.b.load(new["id"]).body, "new", "deleted and created again under fence()")
        release(self.b, lock, token)

    def delete(self):
        def delete(holder, token=None):
            with holder.transaction() if token else self.unit(holder):
                if token:
                    fence(holder, self.lock, token)
                holder.delete(holder.load(self.id))
        self.refused("LK002", self.a, "A deletes the row", lambda: delete(self.a))
        self.refused("LK001", self.a, "A deletes the row under its token", lambda: delete(self.a, self.old))
        delete(self.b, self.new)
        count = self.b.scalar("SELECT count(*) FROM orm_report WHERE id = :id", id=self.id)
        self.equal(count, 0, "B deletes the row under its token")


def tell(a, b):
    row_id = 0
    for writer in a.writers:
        for style in ("autocommit", "transaction"):
            row_id += 1
            Story(a, b, writer, style, row_id).tell()
