"""Many small tasks on two slots, each with its own log and exit record on disk.

HyperQueue and Slurm get their tasks as an array, and so do we. Our second row has a job for every task, each
submitted by itself and answered when it is durable; nobody else is asked for that.
"""

import queue
import threading
import time
import uuid

from measure import summary, take_turns, wait_until
from ours import NOT_OVER, array, half_of_the_machine, small_job

TASKS = 2000
# Slower peers get fewer tasks: a rate is a rate, and nobody waits an hour for it.
TASKS_OF = {"HyperQueue": 2000, "task-spooler": 500, "pueue": 60, "Slurm": 40, "Slurm, 64 CPUs": 200}
CONNECTIONS = 4
# The most that a role has.
TASKS_AN_ARRAY = 1000
ONE_BY_ONE = "trainmaster, a job each"


def run(house, rounds):
    sides = {"trainmaster": lambda: rate_of_arrays(house.server, TASKS), ONE_BY_ONE: lambda: rate_of_jobs(house.server, TASKS)}
    makers = {"HyperQueue": hyperqueue, "task-spooler": one_by_one, "pueue": one_by_one, "Slurm": slurm, "Slurm, 64 CPUs": slurm}
    for name, maker in makers.items():
        if name in house.peers:
            sides[name] = maker(house.peers[name], TASKS_OF[name])
    values = take_turns(sides, rounds)
    return {name: {**summary(each), "tasks": TASKS_OF.get(name, TASKS)} for name, each in values.items()}


def rate_of_arrays(server, tasks):
    """From the first submission by HTTP until the server says that the last job is over."""
    api, batch = server.api(), uuid.uuid4().hex[:8]
    cpus = half_of_the_machine(api)
    began = time.perf_counter()
    specs = [array(f"true-{batch}-{number}", ["true"], cpus, TASKS_AN_ARRAY) for number in range(tasks // TASKS_AN_ARRAY)]
    jobs = [api.submit(spec, key=uuid.uuid4().hex)["id"] for spec in specs]
    wait_until(lambda: nothing_waits(api), 600, "the jobs", every_s=0.02)
    took = time.perf_counter() - began
    ended = [run["state"] for job in jobs for run in api.job(job)["runs"]]
    if ended != ["succeeded"] * tasks:
        raise RuntimeError(f"not every task succeeded: {ended.count('succeeded')} of {tasks}")
    return tasks / took


def rate_of_jobs(server, tasks):
    """Submissions by HTTP over four connections; over when the server says the last job is."""
    api = server.api()
    cpus = half_of_the_machine(api)
    batch = uuid.uuid4().hex[:8]
    began = time.perf_counter()
    submit_all(server, [small_job(f"true-{batch}-{number}", ["true"], cpus, tags=[batch]) for number in range(tasks)])
    wait_until(lambda: nothing_waits(api), 600, "the jobs", every_s=0.02)
    took = time.perf_counter() - began
    ended = [job["state"] for job in api.all_jobs(tag=batch)]
    if ended != ["succeeded"] * tasks:
        raise RuntimeError(f"not every job succeeded: {ended.count('succeeded')} of {tasks}")
    return tasks / took


def submit_all(server, specs):
    waiting = queue.SimpleQueue()
    for spec in specs:
        waiting.put(spec)
    failures = []

    def client():
        api = server.api()
        while True:
            try:
                spec = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                api.submit(spec, key=uuid.uuid4().hex)
            except Exception as error:  # Told to the one who waits below.
                failures.append(error)
                return

    threads = [threading.Thread(target=client) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def nothing_waits(api):
    return not api.page(state=NOT_OVER, limit=1)["jobs"]


def hyperqueue(peer, tasks):
    return lambda: tasks / peer.run(["true"], tasks)[0]


def one_by_one(peer, tasks):
    def once():
        began = time.perf_counter()
        for _ in range(tasks):
            peer.add("true")
        peer.wait_for_all()
        took = time.perf_counter() - began
        peer.clean()
        return tasks / took

    return once


def slurm(peer, tasks):
    def once():
        began = time.perf_counter()
        peer.submit_array("true", tasks, str(peer.home / "out-%A-%a"))
        wait_until(peer.is_idle, 600, "Slurm's queue", every_s=0.02)
        return tasks / (time.perf_counter() - began)

    return once


def rate(per_second):
    return f"{per_second:.0f}/s" if per_second >= 100 else f"{per_second:.1f}/s"


def table(result):
    ours = result["trainmaster"]["median"]
    rows = [
        [name, it["tasks"], rate(it["median"]), f"{rate(it['least'])} – {rate(it['most'])}", it["rounds"], f"{ours / it['median']:.2f} ×"]
        for name, it in result.items()
    ]
    return "Rate of `true` on two slots, each with its log and exit record", ["", "tasks", "median", "spread", "rounds", "ours is"], rows


def verdicts(result):
    ours = result["trainmaster"]["median"]
    if "HyperQueue" in result:
        ratio = ours / result["HyperQueue"]["median"]
        yield "rate at least 0.8 × HyperQueue", ratio >= 0.8, f"{ratio:.2f} ×"
    if "Slurm" in result:
        ratio = ours / result["Slurm"]["median"]
        yield "rate at least 100 × Slurm", ratio >= 100, f"{ratio:.0f} ×"
