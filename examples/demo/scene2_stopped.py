"""A worker is stopped past its lease, another takes over, and the first comes back with an old result."""


def play(stage):
    stage.title("Scene 2. A worker is stopped in the middle of its work")
    stage.tell("Report 7 is to be computed anew. worker-1 takes its lock for 3 seconds and computes.")
    first = stage.worker("worker-1", "rewrite", 7, "3s")
    second = stage.worker("worker-2", "rewrite", 7, "30s")
    # Both are up before the three seconds begin, however slow the machine.
    first.expect("ready")
    second.expect("ready")
    first.nod()
    old = first.expect("computed")
    first.stop()
    stage.does("worker-1", f"got report:7, token {old['token']}; computed a total of {old['total']}")
    stage.does("worker-1", "is stopped before it can write (SIGSTOP, as a full machine or a long garbage "
                           "collection would): it does not know that time goes on")

    stage.tell("A late sale comes in, so a report written from now on has another total. worker-2 wants the lock "
               "and waits in the server, first come, first served:")
    stage.sql("INSERT INTO sale VALUES (7, 1000000) RETURNING 1")
    second.nod()
    stage.until("SELECT EXISTS (SELECT FROM distlock.waiters WHERE name = 'report:7')")
    stage.show_locks()

    new = second.expect("computed")
    stage.tell("Three seconds are over, nobody had to notice that worker-1 is gone:")
    stage.does("worker-2", f"got report:7, token {new['token']}; computed a total of {new['total']}")
    second.nod()
    second.expect("wrote")
    stage.does("worker-2", "wrote the report")
    stage.show_locks()
    stage.promise("the newer token is the higher one", new["token"] > old["token"])

    stage.tell("worker-1 is continued (SIGCONT). It still believes it holds the lock, and writes its old total:")
    first.resume()
    first.nod()
    refusal = first.expect("refused")
    stage.does("worker-1", "its write is refused by the server:")
    stage.show_refusal(refusal)
    stage.promise("the late write was refused with LK001", refusal["sqlstate"] == "LK001")

    first.nod()
    answer = first.expect("released")["answer"]
    stage.does("worker-1", f"gives up its lock and is told: {answer}")
    stage.promise("worker-1 could not release the lock that is worker-2's now", answer == "superseded"
                  and stage.value("SELECT token FROM distlock.locks WHERE name = 'report:7'") == new["token"])
    second.nod()
    stage.does("worker-2", f"gives back its lock: {second.expect('released')['answer']}")

    totals = "SELECT total, written_by FROM {} WHERE id = 7"
    kept = stage.sql(totals.format("report"))[0]
    lost = stage.sql(totals.format("report_unprotected"))[0]
    stage.tell("Both workers wrote the same to a table without the fence, under the same lock:")
    stage.does("report", f"has the total {kept[0]}, by {kept[1]}")
    stage.does("without", f"has the total {lost[0]}, by {lost[1]}: the newer result is lost, and nothing failed")
    stage.promise("the newer result is intact", kept == (new["total"], "worker-2"))
    stage.promise("it was the fence that saved it, not luck", lost == (old["total"], "worker-1"))
    stage.tell("This is why a lease alone is not enough: no worker can know that it was not stopped between its "
               "last look at the clock and its write. The fence looks inside the transaction that writes.")
    for worker in (first, second):
        worker.leave()
