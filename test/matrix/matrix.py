"""Makes SQL of the tables `statements` and `outcomes`, runs it and compares; see README.md."""

import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import psycopg

HERE = os.path.dirname(os.path.abspath(__file__))
FOREIGN_LOCK = "foreign"
ROW_TOKEN = 1000  # of the row and of the mark, in the modes row and high_water
NUMBERS = {"lower": ROW_TOKEN - 1, "equal": ROW_TOKEN, "higher": ROW_TOKEN + 1}
# The state of a lock, by credential; each state has locks of its own.
STATES = {"none": "held", "current": "held", "foreign": "held", "released": "released",
          "superseded": "superseded", "late": "expired", "beyond": "expired"}
EVICT_AFTER = {"late": "1h", "beyond": "1ms"}

KINDS = {
    "plain": dict(create="CREATE TABLE"),
    "unlogged": dict(create="CREATE UNLOGGED TABLE"),
    "temporary": dict(create="CREATE TEMPORARY TABLE", temporary="TEMPORARY"),
    "partitioned": dict(create="CREATE TABLE", partitioning=" PARTITION BY LIST (part)", parts="""
        CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1);
        CREATE TABLE t_2 (gone int, fence bigint, v int, p_default int DEFAULT 0, p_null int, p_cascade int,
            grp int NOT NULL DEFAULT 1, part int NOT NULL DEFAULT 1, id int NOT NULL) PARTITION BY RANGE (id);
        ALTER TABLE t_2 DROP COLUMN gone;
        ALTER TABLE t ATTACH PARTITION t_2 FOR VALUES IN (2);
        CREATE TABLE t_2_1 PARTITION OF t_2 FOR VALUES FROM (1) TO (100);
        INSERT INTO t (id, part, v, p_default) VALUES (2, 2, 1, NULL);"""),
    "inherited": {"create": "CREATE TABLE", "from": "base", "parts": """
        CREATE TABLE t (LIKE base INCLUDING ALL, FOREIGN KEY (p_cascade) REFERENCES p_cascade ON DELETE CASCADE ON UPDATE CASCADE,
            FOREIGN KEY (p_null) REFERENCES p_null ON DELETE SET NULL,
            FOREIGN KEY (p_default) REFERENCES p_default ON DELETE SET DEFAULT);
        ALTER TABLE t INHERIT base;"""},
}


def lines(name):
    with open(os.path.join(HERE, name)) as file:
        return [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]


def read_outcomes():
    """(mode, reach, effect, credential) -> (outcome by fence(), outcome by column); None = not possible."""
    outcomes, mode, credentials = {}, None, []
    for line in lines("outcomes"):
        words = line.split("#")[0].split()
        if words[0] == "mode:":
            mode, credentials = words[1], words[2:-1]
            continue
        for reach, effect in product(["table", "row"] if words[0] == "any" else words[:1], words[1].split(",")):
            for credential, cell in zip(credentials, words[2:], strict=True):
                both = [None if way == "-" else way.split("|") for way in cell.split("/")]
                outcomes[mode, reach, effect, credential] = (both[0], both[-1])
    return outcomes


def read_statements():
    statements = []
    for line in lines("statements"):
        what, effect, kinds, sql = line.split("|", 3)
        effect, *same = effect.split()
        statements.append(dict(what=what, effect=effect, same=bool(same), sql=sql,
                               kinds=list(KINDS) if kinds == "all" else kinds.split()))
    return statements


def protections():
    """What protect() is called with, but for the lock: mode, reach of the lock, token column."""
    for mode, reach, column in product(["live", "live_strict", "high_water"], ["table", "row"], [False, True]):
        yield mode, reach, column
    yield "row", "table", True


class Bench:
    """The tables of one kind, the locks, and two sessions: the application's and the administrator's."""

    def __init__(self, kind):
        self.kind = kind
        self.names = {"kind": kind, "from": "t", "into": "t", "partitioning": "", "parts": "", "temporary": "",
                      **KINDS[kind]}
        options = dict(autocommit=True, prepare_threshold=None, options="-c client_min_messages=error")
        self.admin = psycopg.connect(**options)
        self.app = psycopg.connect(user="matrix_app", **options)
        self.tokens = {}
        with open(os.path.join(HERE, "fixture.sql")) as file:
            fixture = self.fill(file.read())
        if kind == "temporary":  # such tables live in the session that writes
            self.admin = self.app
            self.run(fixture + "GRANT ALL ON t TO matrix_owner")
        else:
            self.run(f"""
                CREATE SCHEMA {kind};
                SET search_path = {kind};
                {fixture}
                DO $$ DECLARE t regclass; BEGIN
                    FOR t IN SELECT oid FROM pg_class WHERE relnamespace = '{kind}'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
                    LOOP EXECUTE format('ALTER TABLE %s OWNER TO matrix_owner', t); END LOOP; END $$;
                GRANT ALL ON SCHEMA {kind} TO PUBLIC;
                GRANT ALL ON ALL TABLES IN SCHEMA {kind} TO matrix_app""")
            self.app.execute(f"SET search_path = {kind}")
        self.make_locks()

    def run(self, sql):
        return self.admin.execute(sql)

    def fill(self, text):
        return re.sub(r"\{(\w+)\}", lambda m: self.names[m[1]], text)

    def lock(self, state, reach, grp=1):
        return f"{self.kind} {state}" + (f":{grp}" if reach == "row" else "")

    def acquire(self, name, ttl="1 h"):
        token = self.app.execute("SELECT distlock.acquire(%s, %s)", (name, ttl)).fetchone()[0]
        self.tokens[name] = token
        return token

    def make_locks(self):
        self.acquire(f"{self.kind} {FOREIGN_LOCK}")
        for state, reach in product(set(STATES.values()), ["table", "row"]):
            name = self.lock(state, reach)
            self.acquire(name, "1 h" if state in ("held", "released") else "10 ms")
            if state == "released":
                self.app.execute("SELECT distlock.release(%s, %s)", (name, self.tokens[name]))
            if state == "superseded":
                self.app.execute("SELECT distlock.acquire(%s, '1 h')", (name,))
        for state in set(STATES.values()):
            self.acquire(self.lock(state, "row", 2))
        for name in {self.lock("held", "table"), self.lock("held", "row")}:
            self.app.execute("SELECT distlock.high_water(%s, %s)", (name, ROW_TOKEN))
        self.app.execute("SELECT distlock.high_water(%s, %s)", (self.lock("held", "row", 2), ROW_TOKEN + 100))
        while self.app.execute(f"SELECT count(*) FROM distlock.locks WHERE name ~ '{self.kind} expired(:1)?$' AND state = 'held'").fetchone()[0]:
            pass

    def protect(self, mode, reach, column, state):
        lock = f"{self.kind} {state}" + (":{grp}" if reach == "row" else "")
        call = f"'{lock}', '{mode}', {repr('fence') if column else 'NULL'}"
        self.run(f"SELECT distlock.unprotect('t'); UPDATE {self.names['into']} SET fence = "
                 f"{ROW_TOKEN if mode == 'row' else 'NULL'}; SELECT distlock.protect('t', {call})")
        return call


class Case:
    """One way of writing under one protection with one credential."""

    def __init__(self, bench, statement, mode, reach, credential, by_column, protection):
        self.bench, self.statement, self.mode = bench, statement, mode
        self.lock = bench.lock(STATES.get(credential, "held"), reach)
        self.other = bench.lock(STATES.get(credential, "held"), "row", 2)
        self.credential, self.by_column, self.protection = credential, by_column, protection
        self.token = NUMBERS.get(credential) or self.live_token()

    def live_token(self):
        tokens = self.bench.tokens
        return tokens[f"{self.bench.kind} {FOREIGN_LOCK}" if self.credential == "foreign" else self.lock]

    def fence(self, name, token):
        return f"SELECT distlock.{'high_water' if self.mode == 'high_water' else 'fence'}('{name}', {token})"

    def presented(self):
        if self.credential == "none" or self.by_column:
            return "SELECT 1"
        return self.fence(f"{self.bench.kind} {FOREIGN_LOCK}" if self.credential == "foreign" else self.lock, self.token)

    def sql(self):
        """The statement, and the data of COPY."""
        carried = str(self.token) if self.by_column else "NULL"
        sql = re.sub(r"\[([^]]*)\]", r"\1" if self.by_column else "", self.statement["sql"])
        values = {**self.bench.names, "token": carried, "value": carried,
                  "other": self.fence(self.other, ROW_TOKEN + 100 if self.mode == "high_water" else self.bench.tokens[self.other]),
                  "fresh": f"{self.bench.names['create']} fresh (id int, part int DEFAULT 1, grp int DEFAULT 1, v int, fence bigint); "
                           f"SELECT distlock.protect('fresh', {self.protection})",
                  "generic": "SET LOCAL plan_cache_mode = force_generic_plan",
                  "parallel": "SELECT set_config(name, wanted, true) FROM (VALUES ('force_parallel_mode', 'on'), ('debug_parallel_query', 'on'), "
                              "('parallel_setup_cost', '0'), ('parallel_tuple_cost', '0'), ('min_parallel_table_scan_size', '0')) AS s (name, wanted) "
                              "JOIN pg_settings AS known USING (name)"}
        sql, _, data = re.sub(r"\{(\w+)\}", lambda m: values[m[1]], sql).partition("<<")
        return sql, data.removesuffix(">>").replace("\\n", "\n")

    def begin(self):
        limit = EVICT_AFTER.get(self.credential)
        setting = f"SET LOCAL distlock.evict_after = '{limit}';" if limit else ""
        return f"DEALLOCATE ALL; BEGIN; {setting} SAVEPOINT credential; {self.presented()};"

    def run(self):
        """The outcome; then the target's rows if it is ok, all rows of all tables if the statement was refused."""
        cursor = self.bench.app.cursor()
        sql, data = self.sql()
        try:
            if "COPY " in sql:
                before, copy = re.fullmatch(r"(.*; )?(COPY .*)", sql).groups("")
                cursor.execute(self.begin() + before)
                with cursor.copy(copy) as stream:
                    stream.write(data)
                cursor.execute(self.target())
            else:
                cursor.execute(self.begin() + sql + ";" + self.target())
            return "ok", last_row(cursor, "ROLLBACK")
        except psycopg.Error as error:
            cursor.execute("COMMIT;" + everything(self.bench))  # a careless client
            return error.sqlstate or str(error), last_row(cursor)

    def target(self):
        return target("fresh" if "{fresh}" in self.statement["sql"] else self.bench.names["from"])


def target(table):
    """A query for the rows without their tokens, and the number of tokens in them."""
    return f"SELECT array_agg(t.tableoid || (to_jsonb(t) - 'fence')::text ORDER BY id), count(fence) FROM {table} AS t"


def everything(bench):
    tables = ["p_cascade", "p_null", "p_default", "inbox", "notice", "postponed", bench.names["from"]]
    union = " UNION ALL ".join(f"SELECT '{t} ' || x.tableoid || x::text FROM {t} AS x" for t in tables)
    return f"SELECT string_agg(r, '; ' ORDER BY r) FROM ({union}) AS a (r)"


def last_row(cursor, then=None):
    """The row of the last query in a string of several."""
    while cursor.nextset():
        pass
    row = cursor.fetchone()
    if then:
        cursor.execute(then)
    return row


def judge(case, expected, before, everything_before):
    """What is wrong with the case's outcome, or None."""
    outcome, after = case.run()
    if outcome not in expected["outcome"]:
        return f"{outcome} instead of {'|'.join(expected['outcome'])}"
    if outcome != "ok":
        return None if after == everything_before else "refused, but rows have changed"
    if case.mode != "row" and after[1] != 0:
        return "a token has stayed in a row"
    rows_before = None if "{fresh}" in case.statement["sql"] else before[0]
    if (after[0] == rows_before) == expected["change"]:
        return "passed, but changed nothing" if expected["change"] else "changed rows that it should not"
    return None


def cases_of(bench, statement, protection, outcomes):
    """Every credential that can be presented: name, by column or not, what is expected."""
    mode, reach, column = protection
    carries = column and ("[" in statement["sql"] or "{value}" in statement["sql"])
    for (m, r, effect, credential), ways in outcomes.items():
        if (m, r, effect) != (mode, reach, statement["effect"]):
            continue
        for by_column in (False, True):
            outcome = ways[by_column]
            if outcome is None or (by_column and (not carries or credential == "none")):
                continue
            write = outcomes[m, r, "update", credential][by_column] if effect == "swallowed" else ["ok"]
            yield credential, by_column, dict(outcome=outcome, change=not statement["same"] and write == ["ok"])


def run_kind(kind):
    """(statement, mode, reach, column) -> [number of cases, complaints]."""
    bench, outcomes, statements = Bench(kind), read_outcomes(), read_statements()
    results = {}
    for protection in protections():
        mode, reach, column = protection
        for state in sorted(set(STATES.values())) if mode.startswith("live") else ["held"]:
            call = bench.protect(mode, reach, column, state)
            before_all = bench.app.execute(everything(bench)).fetchone()
            before = bench.app.execute(target(bench.names["from"])).fetchone()
            for number, statement in enumerate(statements):
                if kind not in statement["kinds"]:
                    continue
                for credential, by_column, expected in cases_of(bench, statement, protection, outcomes):
                    if STATES.get(credential, "held") != state:
                        continue
                    result = results.setdefault((number, protection), [0, []])
                    result[0] += 1
                    case = Case(bench, statement, mode, reach, credential, by_column, call)
                    if complaint := judge(case, expected, before, before_all):
                        result[1].append(f"{kind}, {credential} by {'column' if by_column else 'fence()'}: {complaint}")
    return results


def main():
    statements = read_statements()
    kinds = sys.argv[1:] or list(KINDS)
    with psycopg.connect(autocommit=True) as admin:
        admin.execute(open(os.path.join(HERE, "setup.sql")).read())
    with ProcessPoolExecutor(min(os.cpu_count(), len(kinds))) as pool:
        results = list(pool.map(run_kind, kinds))
    cases = failed = 0
    for number, statement in enumerate(statements):
        for protection in protections():
            found = [r[number, protection] for r in results if (number, protection) in r]
            if not found:
                continue
            complaints = [c for f in found for c in f[1]]
            cases += sum(f[0] for f in found)
            failed += bool(complaints)
            mode, reach, column = protection
            print(f"{'not ok' if complaints else 'ok'} - {statement['what']} | {mode} | lock of the {reach}"
                  f"{' | token column' if column else ''}")
            for complaint in complaints:
                print(f"#   {complaint}")
    print(f"# {cases} cases on {len(kinds)} kinds of tables")
    sys.exit(bool(failed))


main()
