"""Django's models against a protected table."""

import contextlib
import sys

import django
from django.conf import settings
from django.db import DatabaseError, connections, models, transaction

import results
import scenario
import tap

# Two aliases are two applications with connections of their own; libpq's environment says where to.
DATABASE = {"ENGINE": "django.db.backends.postgresql", "NAME": "postgres"}
settings.configure(DATABASES={"default": DATABASE, "rival": dict(DATABASE)}, USE_TZ=True,
                   DEFAULT_AUTO_FIELD="django.db.models.AutoField")
django.setup()


class Report(models.Model):
    id = models.IntegerField(primary_key=True)
    title = models.TextField()
    body = models.TextField(null=True)
    pages = models.IntegerField()
    edited = models.DateTimeField()
    fence = models.BigIntegerField(null=True)

    class Meta:
        app_label = "reports"
        db_table = "orm_report"
        managed = False


class Lock(models.Model):
    """The view, read as any other model; the quotes name its schema."""
    name = models.TextField(primary_key=True)
    token = models.BigIntegerField()
    state = models.TextField()
    owner = models.TextField(null=True)
    metadata = models.JSONField(null=True)
    expires_at = models.DateTimeField()
    remaining_ms = models.BigIntegerField()

    class Meta:
        app_label = "reports"
        db_table = 'distlock"."locks'
        managed = False


def save(app, row):
    row.save(using=app.alias)


def update(app, row):
    values = {column: getattr(row, column) for column in scenario.COLUMNS}
    Report.objects.using(app.alias).filter(pk=row.pk).update(**values)


def bulk_update(app, row):
    Report.objects.using(app.alias).bulk_update([row], scenario.COLUMNS)


class App:
    Error = DatabaseError
    json = str
    writers = {"save()": save, "update()": update, "bulk_update()": bulk_update}

    def __init__(self, alias):
        self.alias = alias
        self.sent = []
        connections[alias].execute_wrappers.append(self.note)

    def note(self, execute, sql, params, many, context):
        self.sent.append(sql)
        return execute(sql, params, many, context)

    def transaction(self):
        return transaction.atomic(using=self.alias)

    @contextlib.contextmanager
    def execute(self, sql, values):
        for name in values:
            sql = sql.replace(f":{name}", f"%({name})s")
        with connections[self.alias].cursor() as cursor:
            cursor.execute(sql, values)
            yield cursor

    def scalar(self, sql, **values):
        with self.execute(sql, values) as cursor:
            return cursor.fetchone()[0]

    def rows(self, sql, **values):
        with self.execute(sql, values) as cursor:
            names = [column.name for column in cursor.description]
            return [dict(zip(names, row)) for row in cursor]

    def load(self, row_id):
        return Report.objects.using(self.alias).get(pk=row_id)

    def create(self, **columns):
        Report.objects.using(self.alias).create(**columns)

    def delete(self, row):
        row.delete(using=self.alias)

    @staticmethod
    def sqlstate(error):
        return error.__cause__.diag.sqlstate

    @staticmethod
    def facts(error):
        diag = error.__cause__.diag
        return diag.message_detail, diag.table_name, diag.constraint_name


def view_as_model(app):
    token = app.scalar("""SELECT distlock.acquire(name => 'model:1', metadata => '{"host": "here"}')""")
    lock = Lock.objects.using(app.alias).get(name="model:1")
    tap.equal((lock.token, lock.state, lock.owner, lock.metadata), (token, "held", None, {"host": "here"}),
              "view locks as a model")
    scenario.release(app, "model:1", token)
    tap.equal(Lock.objects.using(app.alias).filter(name="model:1").count(), 0, "a free lock is no row of it")


def token_in_memory(app):
    token = scenario.acquire(app, "report:20", "10 min")
    row = app.load(20)
    row.fence = token
    save(app, row)
    tap.equal(row.fence, token, "the object in memory keeps the token")
    save(app, row)
    tap.equal(app.load(20).fence, None, "so it can be saved again")
    scenario.release(app, "report:20", token)


print(f"# Django {django.__version__}")
a, b = App("default"), App("rival")
scenario.tell(a, b)
if sys.argv[1:] != ["story"]:
    results.readable(a, b)
    view_as_model(a)
    token_in_memory(a)
tap.done()
