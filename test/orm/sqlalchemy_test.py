"""SQLAlchemy's session and its update statements against a protected table."""

import contextlib
import sys

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, declarative_base
from sqlalchemy.orm.attributes import flag_modified

import results
import scenario
import tap

Base = declarative_base()


class Report(Base):
    __tablename__ = "orm_report"
    id = sa.Column(sa.Integer, primary_key=True, autoincrement=False)
    title = sa.Column(sa.Text, nullable=False)
    body = sa.Column(sa.Text)
    pages = sa.Column(sa.Integer, nullable=False)
    edited = sa.Column(sa.DateTime(timezone=True), nullable=False)
    fence = sa.Column(sa.BigInteger)


def values(row):
    return {column: getattr(row, column) for column in scenario.COLUMNS}


def merge(app, row):
    """A detached object is merged, every attribute marked as changed."""
    with app.session() as session:
        merged = session.merge(row)
        for column in scenario.COLUMNS:
            flag_modified(merged, column)
        session.flush()


def update(app, row):
    with app.session() as session:
        session.execute(sa.update(Report).where(Report.id == row.id).values(values(row)))


def upsert(app, row):
    with app.session() as session:
        statement = insert(Report).values(id=row.id, **values(row))
        taken = {column: statement.excluded[column] for column in scenario.COLUMNS}
        session.execute(statement.on_conflict_do_update(index_elements=["id"], set_=taken))


class App:
    Error = sa.exc.DBAPIError
    json = dict
    writers = {"session.merge": merge, "update().values": update, "insert().on_conflict_do_update": upsert}

    def __init__(self):
        self.engine = sa.create_engine("postgresql+psycopg2://")
        self.autocommit = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        self.open = None
        self.sent = []
        sa.event.listen(self.engine, "before_cursor_execute",
                        lambda _c, _cursor, statement, *_: self.sent.append(statement))

    @contextlib.contextmanager
    def session(self):
        """The open transaction's session, or one that commits each statement."""
        if self.open:
            yield self.open
        else:
            with Session(self.autocommit, future=True) as session, session.begin():
                yield session

    @contextlib.contextmanager
    def transaction(self):
        try:
            with Session(self.engine, future=True) as self.open, self.open.begin():
                yield
        finally:
            self.open = None

    def scalar(self, sql, **parameters):
        with self.session() as session:
            return session.execute(sa.text(sql), parameters).scalar()

    def rows(self, sql, **parameters):
        with self.session() as session:
            return [dict(row) for row in session.execute(sa.text(sql), parameters).mappings()]

    def load(self, row_id):
        with self.session() as session:
            row = session.get(Report, row_id)
            session.expunge(row)
            return row

    def create(self, **columns):
        with self.session() as session:
            session.add(Report(**columns))
            session.flush()

    def delete(self, row):
        with self.session() as session:
            session.delete(session.get(Report, row.id))
            session.flush()

    @staticmethod
    def sqlstate(error):
        return error.orig.diag.sqlstate

    @staticmethod
    def facts(error):
        diag = error.orig.diag
        return diag.message_detail, diag.table_name, diag.constraint_name


def reflected(app):
    """The views as SQLAlchemy finds them in the catalog."""
    for view in ("locks", "waiters", "protected_tables"):
        table = sa.Table(view, sa.MetaData(), schema="distlock", autoload_with=app.engine)
        unknown = [column.name for column in table.columns if isinstance(column.type, sa.types.NullType)]
        tap.ok(table.columns and not unknown, f"view {view} is reflected", unknown)


def token_in_memory(app):
    token = scenario.acquire(app, "report:20", "10 min")
    with Session(app.engine, future=True) as session:
        row = session.get(Report, 20)
        row.fence = token
        session.flush()
        tap.equal(row.fence, token, "the object in memory keeps the token within the transaction")
        session.commit()
        tap.equal(row.fence, None, "and not beyond")
    scenario.release(app, "report:20", token)


print(f"# SQLAlchemy {sa.__version__}")
a, b = App(), App()
scenario.tell(a, b)
if sys.argv[1:] != ["story"]:
    results.readable(a, b)
    reflected(a)
    token_in_memory(a)
tap.done()
