"""Two workers pick up the same report; one of them writes it."""


def play(stage):
    stage.title("Scene 1. Two workers pick up the same report")
    stage.tell("Three worker processes share a queue of four jobs. Report 7 is in it twice. Before a worker "
               "starts on a report, it tries to take the lock of that report, for 30 seconds at most.")
    workers = [stage.worker(f"worker-{n}", "queue") for n in (1, 2, 3)]
    tries = [worker.expect("tried") for worker in workers]
    for worker, facts in zip(workers, tries):
        tell_try(stage, worker, facts)

    stage.tell("Who holds what, as anyone can look it up in the view distlock.locks:")
    stage.show_locks()
    contenders = [facts for facts in tries if facts["lock"] == "report:7"]
    winners = [facts for facts in contenders if facts["token"] is not None]
    stage.promise("two workers picked up report 7 at the same time, and exactly one got its lock",
                  len(contenders) == 2 and len(winners) == 1)

    stage.tell("Now they go on until the queue is empty.")
    for worker in workers:
        worker.nod()
    for worker in workers:
        finish(stage, worker)

    outcomes = dict(stage.sql("SELECT outcome, count(*) FROM job GROUP BY outcome"))
    stage.promise("of four jobs three were done and the double one was skipped",
                  outcomes == {"written": 3, "skipped": 1})
    stage.promise("each report was written once", stage.value("SELECT bool_and(writes = 1) FROM report"))
    stage.promise("nothing is locked any more", not stage.sql("SELECT FROM distlock.locks"))


def tell_try(stage, worker, facts):
    if facts["token"] is None:
        stage.does(worker.name, f"job {facts['job']}: {facts['lock']} is somebody else's just now, skips it")
    else:
        stage.does(worker.name, f"job {facts['job']}: got {facts['lock']}, token {facts['token']}")


def finish(stage, worker):
    while True:
        step, facts = worker.hear()
        if step == "tried":
            tell_try(stage, worker, facts)
            worker.nod()
        elif step == "wrote":
            stage.does(worker.name, f"wrote {facts['lock']}, total {facts['total']}; gave the lock back "
                                    f"({facts['released']})")
        else:
            worker.leave()
            return
