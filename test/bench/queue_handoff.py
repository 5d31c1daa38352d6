"""Waiting: hand-off, order, wake-ups, idle cost, takeover, and what a thousand waiters do to strangers.

A section of test/bench/run, or alone: test/bench/queue_handoff.py.  It makes a server of its own, since a
thousand waiters need as many connections.  Peers: pg_advisory_lock, and a client that polls every 50 ms.

A hand-off is taken from the moment a holder's release is sent to the moment the next holder's answer is
read, by one process that watches all connections: the release itself is part of it, and so is the time
that the process needs to read.
"""

import os
import selectors
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
CLUSTER = os.path.join(HERE, "../cluster")
SETTINGS = """
max_connections = 1100
fsync = on
synchronous_commit = on
autovacuum = off
statement_timeout = 0
"""
WAITERS = int(os.environ.get("BENCH_WAITERS", "100"))
CROWD = int(os.environ.get("BENCH_CROWD", "1000"))
POLL = 0.05


class Connection:
    """One libpq connection, asked without waiting for the answer."""

    def __init__(self, server):
        from psycopg import pq

        self.pg = pq.PGconn.connect(" ".join(f"{k[2:].lower().replace('database', 'dbname')}={v}"
                                             for k, v in server.items()).encode())
        if self.pg.status != pq.ConnStatus.OK:
            sys.exit(self.pg.error_message.decode())
        self.pid = self.pg.backend_pid

    def send(self, text):
        self.pg.send_query(text.encode())

    def done(self):
        """The first column of the last row, once the whole answer is there; None before."""
        self.pg.consume_input()
        if self.pg.is_busy():
            return None
        value = b""
        while (result := self.pg.get_result()) is not None:
            if result.error_message:
                sys.exit(result.error_message.decode())
            if result.ntuples:
                value = result.get_value(0, 0) or b""
        return value

    def ask(self, text):
        self.send(text)
        while (value := self.done()) is None:
            time.sleep(0.0002)
        return value.decode()


def switches(pids):
    """Voluntary context switches of these processes: every wake-up ends in one."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/status") as status:
            total += sum(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt"))
    return total


def cpu_seconds(pids):
    """On the processor, to the nanosecond: ticks would count every short wake-up as a whole one."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/schedstat") as stat:
            total += int(stat.read().split()[0])
    return total / 1e9


# Prepared in each session, as in the other sections.
PREPARE = """
    SET plan_cache_mode = force_generic_plan;
    PREPARE lease_lock AS SELECT distlock.acquire('queue', '1h', '60s');
    PREPARE lease_unlock(bigint) AS SELECT distlock.release('queue', $1);
    PREPARE advisory_lock AS SELECT pg_advisory_lock(1);
    PREPARE advisory_unlock AS SELECT pg_advisory_unlock(1)"""
LEASE = ("EXECUTE lease_lock", "EXECUTE lease_unlock({})")
ADVISORY = ("EXECUTE advisory_lock", "EXECUTE advisory_unlock")
POLLING = ("SELECT distlock.try_acquire('polled', '1h')", "SELECT distlock.release('polled', {})")


def queue_up(connections, kind, waiting):
    """The first connection gets the lock, the others stand in its queue in their order."""
    token = connections[0].ask(kind[0])
    for i, connection in enumerate(connections[1:], 1):
        connection.send(kind[0])
        while int(waiting()) < i:
            time.sleep(0.0005)
    return token


def hand_round(connections, kind, token):
    """Everybody releases as soon as it has the lock; hand-offs in seconds, and who came when."""
    selector = selectors.DefaultSelector()
    for i, connection in enumerate(connections[1:], 1):
        selector.register(connection.pg.socket, selectors.EVENT_READ, i)
    latencies, order = [], []
    holder, sent = 0, time.monotonic()
    connections[0].send(kind[1].format(token))
    while len(order) < len(connections) - 1:
        for key, _ in selector.select(10):
            value = connections[key.data].done()
            if value is None:
                continue
            now = time.monotonic()
            latencies.append(now - sent)
            order.append(key.data)
            selector.unregister(key.fd)
            while connections[holder].done() is None:  # the reply to its release
                pass
            holder, sent = key.data, time.monotonic()
            connections[holder].send(kind[1].format(value.decode()))
    while connections[holder].done() is None:
        pass
    return latencies, order


def flushes(connection):
    """What a commit that is flushed takes, asked in the same way: no durable hand-off can be faster."""
    times = []
    for _ in range(50):
        began = time.monotonic()
        connection.ask("INSERT INTO flushed DEFAULT VALUES")
        times.append(time.monotonic() - began)
    return times


def poll_round(connections, kind):
    """The same with clients that try every 50 ms, at times of their own."""
    due = [(time.monotonic() + POLL * i / len(connections), i) for i in range(1, len(connections))]
    token, latencies = connections[0].ask(kind[0]), []
    connections[0].ask(kind[1].format(token))
    released = time.monotonic()
    while due:
        at, i = min(due)
        due.remove((at, i))
        time.sleep(max(0, at - time.monotonic()))
        token = connections[i].ask(kind[0])
        if not token:
            due.append((at + POLL, i))
            continue
        latencies.append(time.monotonic() - released)
        time.sleep(0.01)  # the work, so that the others' tries find it busy
        connections[i].ask(kind[1].format(token))
        released = time.monotonic()
    return latencies


def ms(seconds):
    return f"{seconds * 1000:.2f} ms"


def p99(values):
    return statistics.quantiles(values, n=100)[98]


def handoff(server, bench):
    connections = [Connection(server) for _ in range(WAITERS + 1)]
    look = Connection(server)
    for connection in connections:
        connection.ask(PREPARE)
    look.ask("CREATE TABLE flushed ()")

    def in_queue(objsubid):
        return lambda: look.ask(f"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = {objsubid} "
                                f"AND mode = 'ExclusiveLock' {'AND NOT granted' if objsubid == 1 else ''}")

    rounds = {"lease": [], "advisory": [], "polling": [], "flush": []}
    in_order, woken = True, []
    for round_number in range(bench.ROUNDS + 1):
        token = queue_up(connections, LEASE, in_queue(210))
        pids = [c.pid for c in connections[1:]]
        time.sleep(0.2)
        before = switches(pids)
        latencies, order = hand_round(connections, LEASE, token)
        woken.append((switches(pids) - before) / len(order))
        in_order &= order == sorted(order)
        queue_up(connections, ADVISORY, in_queue(1))
        advisory = hand_round(connections, ADVISORY, "")[0]
        if round_number == 0:
            continue  # the sessions' first statements, which fill their caches
        rounds["lease"] += latencies
        rounds["advisory"] += advisory
        rounds["flush"] += flushes(look)
        rounds["polling"] += poll_round(connections[:11], POLLING)
    lease, peer, polled = (rounds[k] for k in ("lease", "advisory", "polling"))
    what = f"hand-off, {WAITERS} waiters"
    bench.fact(f"{what}, p50", ms(statistics.median(lease)), statistics.median(lease) <= 0.001, "<= 1 ms",
               "pg_advisory_lock", ms(statistics.median(peer)))
    bench.fact(f"{what}, p99", ms(p99(lease)), p99(lease) <= 0.010, "<= 10 ms", "pg_advisory_lock", ms(p99(peer)))
    bench.fact(f"{what}, p50", ms(statistics.median(lease)), None, "", "one INSERT, flushed",
               ms(statistics.median(rounds["flush"])))
    bench.fact(f"{what}, p50", ms(statistics.median(lease)), None, "", "10 clients polling each 50 ms",
               ms(statistics.median(polled)))
    bench.fact(f"{what}: order of arrival", "kept" if in_order else "BROKEN", in_order)
    # Each waiter is woken to become head, then once by the release; its own release and reply cost a few more.
    bench.fact(f"{what}: context switches a hand-off", f"{statistics.median(woken):.1f}", statistics.median(woken) <= 10,
               "does not grow with the waiters")

    token = queue_up(connections, LEASE, in_queue(210))
    pids = [c.pid for c in connections[1:]]
    time.sleep(1)
    before, cpu = switches(pids), cpu_seconds(pids)
    time.sleep(10)
    idle, cpu = switches(pids) - before, cpu_seconds(pids) - cpu
    bench.fact(f"{WAITERS} idle waiters for 10 s: CPU", f"{cpu * 1000:.1f} ms", cpu <= 0.05, "about 0")
    bench.fact(f"{WAITERS} idle waiters for 10 s: wake-ups", f"{idle}", idle <= 3 * WAITERS, "their clients are looked after each 10 s")
    # One release wakes one: the others' count stands still.
    before = [switches([pid]) for pid in pids]
    connections[0].ask(LEASE[1].format(token))
    while connections[1].done() is None:
        time.sleep(0.001)
    time.sleep(0.2)
    others = sum(switches([pid]) - b > 0 for pid, b in zip(pids, before))
    bench.fact("one release: waiters that woke", str(others), others <= 2, "the next, and the new head")
    for connection in connections + [look]:
        connection.pg.finish()


def takeover(server, bench):
    one, two, look = Connection(server), Connection(server), Connection(server)
    late, bare = [], []
    for _ in range(50):
        one.ask("SELECT distlock.acquire('takeover', '200ms')")
        ends = look.ask("SELECT expires_at FROM distlock.holder('takeover')")
        token = two.ask("SELECT distlock.acquire('takeover', '1h', '10s')")
        late.append(float(look.ask(f"SELECT extract(epoch FROM since - '{ends}') FROM distlock.holder('takeover')")))
        two.ask(f"SELECT distlock.release('takeover', {token})")
        # How late the machine itself is: a bare sleep of the same length.
        bare.append(float(look.ask("SELECT extract(epoch FROM clock_timestamp() - now()) - 0.2 "
                                   "FROM (SELECT pg_sleep(0.2)) AS slept")))
    for what, pick in (("the median", statistics.median), ("the worst", max)):
        bench.fact(f"takeover after expiry, {what} of 50", ms(pick(late)), 0 <= min(late) and pick(late) <= 0.010,
                   "<= 10 ms", "pg_sleep(0.2) is late by", ms(pick(bare)))
    for connection in (one, two, look):
        connection.pg.finish()


def crowd_of(server, stranger, hold, wait, waiting):
    """CROWD sessions wait for what one holds: the slowest of a stranger's lock calls while they arrive (which
    takes longer than deadlock_timeout) and later, and the processors that the waiters use then."""
    holder = Connection(server)
    holder.ask(hold)
    waiters = [Connection(server) for _ in range(CROWD)]
    for waiter in waiters:
        waiter.send(wait)
    arriving = slowest(stranger, 5)
    while int(stranger.ask(f"SELECT count(*) FROM pg_locks WHERE {waiting}")) < CROWD:
        time.sleep(0.1)
    pids = [w.pid for w in waiters]
    cpu, began = cpu_seconds(pids), time.monotonic()
    beside = slowest(stranger, 12)
    cpu = (cpu_seconds(pids) - cpu) / (time.monotonic() - began)
    stranger.ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                 "AND backend_type = 'client backend'")
    for connection in waiters + [holder]:
        connection.pg.finish()
    while int(stranger.ask("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")) > 1:
        time.sleep(0.1)
    return beside, arriving, cpu


def slowest(stranger, seconds):
    worst, end = 0.0, time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        stranger.ask("SELECT pg_advisory_lock(7), pg_advisory_unlock(7)")
        worst = max(worst, time.monotonic() - began)
    return worst


def crowd(server, bench):
    """How long strangers' lock calls take while so many wait for one name."""
    stranger = Connection(server)
    alone = slowest(stranger, 5)
    beside, arriving, cpu = crowd_of(
        server, stranger, "SELECT distlock.acquire('crowd', '1h')",
        "SELECT distlock.try_acquire('crowd', '1h', '60s')", "objsubid = 210")
    advisory = "SELECT pg_advisory_lock(1)"
    theirs = crowd_of(server, stranger, advisory, advisory, "objsubid = 1 AND objid = 1 AND NOT granted")
    bench.fact(f"a stranger's pg_advisory_lock beside {CROWD} waiters, the worst of 12 s", ms(beside),
               beside <= max(0.02, 3 * alone), "not slowed", "alone, 5 s", ms(alone))
    bench.fact("the same", ms(beside), None, "", "they wait in pg_advisory_lock", ms(theirs[0]))
    bench.fact(f"the same while they arrive, {CROWD} sessions at once", ms(arriving), None, "",
               "they wait in pg_advisory_lock", ms(theirs[1]))
    bench.fact(f"{CROWD} idle waiters: processors used", f"{cpu:.4f}", cpu <= 0.05, "about 0",
               "they wait in pg_advisory_lock", f"{theirs[2]:.4f}")
    stranger.pg.finish()


def measure():
    import measure as bench

    scratch = tempfile.mkdtemp(prefix="distlock_bench.")
    os.chmod(scratch, 0o755)
    folder = os.path.join(scratch, "server")
    try:
        started = subprocess.run([CLUSTER, "start", folder], input=SETTINGS, text=True, check=True,
                                 stdout=subprocess.PIPE, env={k: v for k, v in os.environ.items() if not k.startswith("PG")})
        server = dict(line.split("=", 1) for line in started.stdout.split())
        first = Connection(server)
        first.ask("CREATE EXTENSION distlock")
        first.pg.finish()
        handoff(server, bench)
        takeover(server, bench)
        crowd(server, bench)
    finally:
        subprocess.run([CLUSTER, "stop", folder])
        os.rmdir(scratch)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    measure()
    sys.modules["measure"].print_table()
