"""A worker is stopped with its transaction open: its pins must not keep the lock for ever."""


def play(stage):
    stage.title("Scene 4. A worker is stopped with its transaction open")
    stage.sql("SELECT set_config('distlock.evict_after', '2s', false)")
    before = stage.sql("SELECT * FROM report WHERE id = 8")
    stage.tell("worker-1 takes report:8 for 2 seconds, writes inside a transaction, and is stopped before its COMMIT. "
               "While the write is in flight nobody else can be granted the lock.")
    first = stage.worker("worker-1", "unfinished", 8, "2s")
    old = first.expect("uncommitted")["token"]
    first.stop()
    stage.show_locks()
    stage.tell("The lease runs out, and another 2 seconds (distlock.evict_after) later the one who waits for the lock "
               "has the server end the session that still pins it.")
    new = stage.value("SELECT distlock.acquire('report:8', ttl => '30s', wait => '20s', owner => 'worker-2')")
    stage.show_locks()
    stage.promise("the newer token is the higher one", new > old)
    stage.promise("the unfinished write is gone", stage.sql("SELECT * FROM report WHERE id = 8") == before)
    first.resume()
    first.nod()
    stage.does("worker-1", "is continued, and its COMMIT fails: " + first.expect("lost")["message"])
    stage.sql("SELECT distlock.release('report:8', %s)", new)
