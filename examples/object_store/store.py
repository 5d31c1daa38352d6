#!/usr/bin/python3
"""An object store that refuses stale writers: PUT and GET /NAME over HTTP on a unix socket.

    store.py SOCKET DATABASE-FILE [--ask]

A PUT carries the header Fencing-Token. The highest token of each object is kept beside it; a lower one is
answered 412 and changes nothing. With --ask the lock service is asked too, as libpq's environment names it.
"""

import os
import socketserver
import sqlite3
import sys
from http.server import BaseHTTPRequestHandler

SCHEMA = "CREATE TABLE IF NOT EXISTS object (name TEXT PRIMARY KEY, body BLOB NOT NULL, token INTEGER NOT NULL)"
# One statement, so that no other write can come between the comparison and the change.
CONDITIONAL_WRITE = """
    INSERT INTO object (name, body, token) VALUES (?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET body = excluded.body, token = excluded.token
    WHERE object.token <= excluded.token"""


class Objects:
    def __init__(self, path):
        self.db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.db.execute(SCHEMA)

    def put(self, name, body, token):
        """Whether the object was written."""
        return self.db.execute(CONDITIONAL_WRITE, (name, body, token)).rowcount == 1

    def get(self, name):
        return self.db.execute("SELECT body, token FROM object WHERE name = ?", (name,)).fetchone()


class LockService:
    def __init__(self):
        import psycopg
        self.connect = lambda: psycopg.connect(autocommit=True)

    def is_current(self, name, token):
        with self.connect() as db:
            return db.execute("SELECT distlock.is_current(%s, %s)", (name, token)).fetchone()[0]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        name = self.path.lstrip("/")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        token = self.headers.get("Fencing-Token", "")
        if not token.isdigit():
            return self.answer(428, b"a write needs the header Fencing-Token\n")
        if self.server.locks and not self.server.locks.is_current(name, int(token)):
            return self.answer(412, b"the lock service says that this token is not current\n")
        if not self.server.objects.put(name, body, int(token)):
            return self.answer(412, b"the object was written under a higher token\n")
        return self.answer(200, b"written\n")

    def do_GET(self):
        found = self.server.objects.get(self.path.lstrip("/"))
        return self.answer(200, found[0], found[1]) if found else self.answer(404, b"no such object\n")

    def answer(self, status, body, token=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if token is not None:
            self.send_header("Fencing-Token", str(token))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self):  # there is none on a unix socket
        return "client"

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path, objects, locks):
        self.objects, self.locks = objects, locks
        super().__init__(path, Handler)


if __name__ == "__main__":
    if os.path.exists(sys.argv[1]):
        os.unlink(sys.argv[1])
    server = Server(sys.argv[1], Objects(sys.argv[2]), LockService() if "--ask" in sys.argv else None)
    print("ready", flush=True)
    server.serve_forever()
