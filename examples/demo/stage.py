"""What the scenes share: worker processes that report each step and wait for a nod, and plain talk on the screen.

A worker goes on only when the scene nods, so each run tells the same story; who wins a lock is decided by
the server alone.
"""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import psycopg

HERE = os.path.dirname(os.path.abspath(__file__))


class Broken(Exception):
    """A promise was not kept."""


class Worker:
    """A real process with a connection of its own."""

    def __init__(self, name, task, *arguments):
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "worker.py"), name, task, *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def hear(self):
        """The next step the worker reports: its name, and the facts."""
        line = self.process.stdout.readline()
        if not line:
            raise Broken(f"{self.name} ended unexpectedly")
        step, facts = json.loads(line)
        return step, facts

    def expect(self, expected):
        step, facts = self.hear()
        if step != expected:
            raise Broken(f"{self.name} was to report {expected!r} and reported {step!r}: {facts}")
        return facts

    def nod(self):
        self.process.stdin.write("go on\n")
        self.process.stdin.flush()

    def stop(self):
        """Returns once the kernel says that the process has stopped."""
        self.process.send_signal(signal.SIGSTOP)
        _, status = os.waitpid(self.process.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            raise Broken(f"{self.name} ended instead of stopping")

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def leave(self):
        self.process.stdin.close()
        self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Stage:
    def __init__(self):
        self.db = psycopg.connect(autocommit=True)
        self.workers = []

    def worker(self, name, task, *arguments):
        self.workers.append(Worker(name, task, *arguments))
        return self.workers[-1]

    def close(self):
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.kill()

    def sql(self, query, *parameters):
        return self.db.execute(query, parameters).fetchall()

    def value(self, query, *parameters):
        return self.sql(query, *parameters)[0][0]

    def until(self, query, *parameters):
        """Looks at the database until the query says true."""
        deadline = time.monotonic() + 30
        while not self.value(query, *parameters):
            if time.monotonic() > deadline:
                raise Broken(f"never became true: {query}")
            time.sleep(0.02)

    def title(self, text):
        print(f"\n{text}\n{'-' * len(text)}")

    def tell(self, text):
        print(textwrap.fill(text, 100), flush=True)

    def does(self, who, text):
        lead = f"  {who:<10} "
        print(textwrap.fill(text, 100, initial_indent=lead, subsequent_indent=" " * len(lead)), flush=True)

    def show_locks(self):
        """The view an operator would look at."""
        rows = self.sql("SELECT name, owner, token, state, remaining_ms FROM distlock.locks ORDER BY name")
        print(f"\n      {'lock':<28}{'owner':<12}{'token':<18}{'state':<10}seconds left")
        for name, owner, token, state, remaining_ms in rows:
            print(f"      {name:<28}{owner:<12}{token:<18}{state:<10}{(remaining_ms or 0) / 1000:.1f}")
        if not rows:
            print("      (nothing is locked)")
        for name, owner, position in self.sql("SELECT name, owner, position FROM distlock.waiters"):
            print(f"      {name:<28}{owner:<12}waits, {position} in line")
        print(flush=True)

    def show_refusal(self, refusal):
        for part in ("sqlstate", "message", "detail", "hint"):
            if refusal[part]:
                lead = f"      {part + ':':<10}"
                print(textwrap.fill(refusal[part], 100, initial_indent=lead, subsequent_indent=" " * len(lead)))
        print(flush=True)

    def promise(self, text, kept):
        """What must be true now; the demo fails if it is not."""
        print(f"  {'kept' if kept else 'BROKEN'}: {text}", flush=True)
        if not kept:
            raise Broken(text)
