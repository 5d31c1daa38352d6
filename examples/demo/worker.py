"""One worker process of the demo: worker.py NAME TASK ARGUMENT...

It does what an application would do; `step` is the only thing that is there for the demo: it reports where
we are and waits for a nod.
"""

import json
import sys

import psycopg

WRITE = "UPDATE {} SET total = %s, written_by = %s, writes = writes + 1, fence = %s WHERE id = %s"


def report(name, **facts):
    print(json.dumps([name, facts]), flush=True)


def step(name, **facts):
    report(name, **facts)
    if not sys.stdin.readline():
        sys.exit("the demo has ended")


def one(db, query, *parameters):
    return db.execute(query, parameters).fetchone()


def compute(db, report_id):
    """The expensive part."""
    return one(db, "SELECT sum(amount) FROM sale WHERE report_id = %s", report_id)[0]


def take_job(db, me):
    return one(db, """
        UPDATE job SET taken_by = %s
        WHERE id = (SELECT id FROM job WHERE taken_by IS NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING id, report_id""", me)


def finish_job(db, job, outcome):
    db.execute("UPDATE job SET outcome = %s WHERE id = %s", (outcome, job))


def refusal(error):
    return dict(sqlstate=error.diag.sqlstate, message=error.diag.message_primary,
                detail=error.diag.message_detail, hint=error.diag.message_hint)


def queue(db, me):
    """Works through the queue until it is empty."""
    while job := take_job(db, me):
        job, report_id = job
        lock = f"report:{report_id}"
        token = one(db, "SELECT distlock.try_acquire(%s, ttl => '30s', owner => %s)", lock, me)[0]
        step("tried", job=job, lock=lock, token=token)
        if token is None:
            finish_job(db, job, "skipped")
            continue
        total = compute(db, report_id)
        db.execute(WRITE.format("report"), (total, me, token, report_id))
        finish_job(db, job, "written")
        answer = one(db, "SELECT distlock.release(%s, %s)", lock, token)[0]
        report("wrote", lock=lock, total=total, released=answer)
    report("empty")


def rewrite(db, me, report_id, ttl):
    """Takes the lock of one report, waiting for it if need be, computes and writes."""
    lock = f"report:{report_id}"
    step("ready")
    token = one(db, "SELECT distlock.acquire(%s, ttl => %s, wait => '20s', owner => %s)", lock, ttl, me)[0]
    total = compute(db, report_id)
    step("computed", token=token, total=total)  # a pause here may be long: a full disk, a swapped-out process
    db.execute(WRITE.format("report_unprotected"), (total, me, None, report_id))
    try:
        db.execute(WRITE.format("report"), (total, me, token, report_id))
        step("wrote")
    except psycopg.Error as error:
        step("refused", **refusal(error))
    report("released", answer=one(db, "SELECT distlock.release(%s, %s)", lock, token)[0])


def unfinished(db, me, report_id, ttl):
    """Like rewrite, but it is stopped with its transaction open."""
    lock = f"report:{report_id}"
    token = one(db, "SELECT distlock.acquire(%s, ttl => %s, owner => %s)", lock, ttl, me)[0]
    try:
        with db.transaction():
            db.execute(WRITE.format("report"), (-1, me, token, report_id))
            step("uncommitted", token=token)
        report("committed")
    except psycopg.Error as error:
        report("lost", message=str(error).strip().splitlines()[0])


def nightly(db, me, night):
    """Fired by a timer on every instance; one of them is to run."""
    step("ready")
    # Not released at the end: the lease is to outlast the differences between the instances' timers.
    token = one(db, "SELECT distlock.try_acquire(%s, ttl => '1h', owner => %s)", f"nightly-billing:{night}", me)[0]
    if token is not None:
        db.execute("INSERT INTO nightly_run (night, instance, fence) VALUES (%s, %s, %s)", (night, me, token))
    report("fired", token=token)


def main(me, task, *arguments):
    with psycopg.connect(user="app", application_name=me, autocommit=True) as db:
        {"queue": queue, "rewrite": rewrite, "unfinished": unfinished, "nightly": nightly}[task](db, me, *arguments)


main(*sys.argv[1:])
