"""A nightly job is fired on five instances at once."""


def play(stage):
    stage.title("Scene 3. A nightly job fired on five instances at once")
    night = stage.value("SELECT current_date::text")
    instances = [stage.worker(f"instance-{n}", "nightly", night) for n in range(1, 6)]
    for instance in instances:
        instance.expect("ready")
    stage.tell("Five instances of an application have the same timer. It is midnight for all of them:")
    for instance in instances:
        instance.nod()
    tokens = [instance.expect("fired")["token"] for instance in instances]
    for instance, token in zip(instances, tokens):
        stage.does(instance.name, "not mine tonight" if token is None else f"runs the job, token {token}")
        instance.leave()
    stage.show_locks()
    ran = stage.sql("SELECT instance FROM nightly_run WHERE night = %s", night)
    winners = [(instance.name,) for instance, token in zip(instances, tokens) if token is not None]
    stage.promise("the job ran on exactly one instance", len(ran) == 1 and ran == winners)
    stage.tell("The lease is kept for an hour, so an instance whose clock is late does not run the job again.")
