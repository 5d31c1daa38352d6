"""What every section uses: SQL, pgbench, variants in turns, and the rows of the table."""

import bisect
import glob
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = float(os.environ.get("BENCH_SECONDS", "3"))
# New sessions spend their first seconds on filling caches and on page faults, one for each page of
# the shared memory that they touch for the first time.  Pooled connections live for hours.
WARM_UP = int(os.environ.get("BENCH_WARM_UP", "3"))
SLICE = 0.5  # seconds of one variant at a time
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
CLIENTS = [int(n) for n in os.environ.get("BENCH_CLIENTS", "1 8 32").split()]

rows = []  # of the table printed at the end


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(command, **options):
    """Runs a command to its end and returns its output; its complaint is ours."""
    done = subprocess.run(command, text=True, capture_output=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done.stdout


def sql(text):
    return run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1"], input=text).strip()


def command(script, clients, length, protocol="prepared", **variables):
    return (["pgbench", "-n", "-M", protocol, "-c", str(clients), "-j", str(min(clients, 2))]
            + length + [f"-D{name}={value}" for name, value in variables.items()] + ["-f", os.path.join(HERE, script)])


def pgbench(script, transactions, clients=1, settings="", **variables):
    """Transactions per second of so many of one script in this folder, each client's."""
    output = run(command(script, clients, ["-t", str(transactions)], **variables),
                 env=dict(os.environ, PGOPTIONS=settings))
    return float(re.search(r"^tps = ([0-9.]+)", output, re.M).group(1))


def amount(number):
    return f"{number:,.0f}" if number >= 100 else f"{number:,.1f}"


def of(what, clients):
    return f"{what}, {clients} client{'s' * (clients > 1)}"


def interleave(what, variants):
    """Runs the variants A B C A B C ..., so that whatever drifts on the machine drifts for all."""
    rates = {name: [] for name in variants}
    for _ in range(ROUNDS):
        for name, measure in variants.items():
            rates[name].append(measure())
    say(f"{what}: " + ", ".join(f"{name} {statistics.median(r):,.0f}" for name, r in rates.items()))
    return rates


class Paused:
    """A pgbench that runs only when told to; its log says when each of its transactions ended."""

    def __init__(self, folder, number, script, clients=1, settings="", **options):
        self.log = os.path.join(folder, str(number))
        self.spans = []
        # It ends by the signal of its own alarm, long before the alarm.
        length = ["-T", "86400", "-l", f"--log-prefix={self.log}"]
        self.process = subprocess.Popen(command(script, clients, length, **options), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, env=dict(os.environ, PGOPTIONS=settings))

    def run(self, seconds):
        began = time.time()
        self.process.send_signal(signal.SIGCONT)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGSTOP)
        self.spans.append((began, time.time()))
        time.sleep(0.02)  # the server ends what it has begun

    def end(self):
        """Ends it, and returns what it complains of."""
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(signal.SIGALRM)
        complaint = self.process.communicate()[1]
        return f"{' '.join(self.process.args)}:\n{complaint}" if self.process.returncode != 0 else ""

    def rates(self, rounds):
        """Transactions per second in each of the rounds that the last spans make up."""
        ends = []
        for name in glob.glob(self.log + ".*"):
            with open(name) as log:
                ends += [int(epoch) + int(us) / 1e6 for *_, epoch, us in map(str.split, log)]
        ends.sort()
        spans = [self.spans[1:][i::rounds] for i in range(rounds)]  # the first was the warm-up
        return [sum(bisect.bisect(ends, b) - bisect.bisect(ends, a) for a, b in part) / sum(b - a for a, b in part)
                for part in spans]


def alternate(what, variants):
    """Runs the variants, each a dictionary of what pgbench takes, at the same time but one at a time,
    in slices so short that the machine is the same for all.  A round is every n-th slice."""
    with tempfile.TemporaryDirectory(prefix="distlock_bench_log.") as folder:
        paused = {}
        try:
            for number, (name, options) in enumerate(variants.items()):
                paused[name] = Paused(folder, number, **options)
                paused[name].run(1 + WARM_UP)
            for i in range(ROUNDS * max(1, round(SECONDS / SLICE))):
                for one in list(paused.values())[::(-1) ** i]:
                    one.run(SLICE)
        finally:
            complaints = [one.end() for one in paused.values()]
        if any(complaints):
            sys.exit("\n".join(filter(None, complaints)))
        rates = {name: one.rates(ROUNDS) for name, one in paused.items()}
    if not all(map(all, rates.values())):
        sys.exit(f"{what}: the disk or the machine stood still, no transaction ended in a round: {rates}")
    say(f"{what}: " + ", ".join(f"{name} {statistics.median(r):,.0f}" for name, r in rates.items()))
    return rates


def row(what, peer, ours, theirs, target=None, unit="tps"):
    """One line of the table; a ratio is taken within each round, then the median of the rounds."""
    ratios = sorted(a / b for a, b in zip(ours, theirs))
    ratio = statistics.median(ratios)
    verdict = "" if target is None else ("reached" if ratio >= target else "MISSED")
    rows.append((
        what, f"{amount(statistics.median(ours))} {unit}", peer, f"{amount(statistics.median(theirs))} {unit}",
        f"{ratio:.2f}", f"{ratios[0]:.2f}-{ratios[-1]:.2f}",
        "" if target is None else f">= {target}", verdict,
    ))


def fact(what, value, reached=None, target="", peer="", theirs=""):
    """A line that is no ratio."""
    verdict = "" if reached is None else ("reached" if reached else "MISSED")
    rows.append((what, value, peer, theirs, "", "", target, verdict))


def print_table():
    head = ("what", "distlock", "peer", "peer's", "ratio", "rounds", "target", "")
    widths = [max(len(line[i]) for line in [head] + rows) for i in range(len(head))]
    right = {1, 3, 4, 5}
    for line in [head, tuple("-" * w for w in widths)] + rows:
        print("  ".join(
            cell.rjust(w) if i in right else cell.ljust(w)
            for i, (cell, w) in enumerate(zip(line, widths))
        ).rstrip())
