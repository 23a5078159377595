"""Clients submit while the server is killed; then their history is held against the server's list."""

import http.client
import statistics
import threading
import time
from collections import Counter

from measure import wait_until
from ours import NOT_OVER, Refused, Server, half_of_the_machine, small_job

CLIENTS = 4
GIVE_UP_AFTER_S = 120
OVER_WITHIN_S = 1800
FAULTS = ("lost", "duplicated", "ids_reused", "answers_changed", "run_twice", "not_succeeded")


class History:
    """What the clients were told: key → ids, in the order of the answers."""

    def __init__(self):
        self.lock = threading.Lock()
        self.answers = {}
        self.asked = 0
        self.failure = None

    def note(self, key, job):
        with self.lock:
            self.answers.setdefault(key, []).append(job)

    def count(self):
        with self.lock:
            return len(self.answers)


def run(binary, jobs, kills, chance):
    server = Server(binary)
    try:
        server.start()
        history = History()
        clients = start_clients(server, history, jobs, half_of_the_machine(server.api()))
        killed, restarts = kill_at_random(server, history, jobs, kills, chance)
        for client in clients:
            client.join()
        if history.failure:
            raise history.failure
        api = server.api()
        wait_until(lambda: not api.page(state=NOT_OVER, limit=1)["jobs"], OVER_WITHIN_S, "every job to end", every_s=0.1)
        return {"kills": killed, **judge(history, api.all_jobs()), **spread(restarts)}
    finally:
        server.remove()


def start_clients(server, history, jobs, cpus):
    def client(number):
        api = server.api()
        for at in range(number, jobs, CLIENTS):
            key = f"key-{at}"
            try:
                submit_until_answered(api, history, small_job(f"job-{at}", ["true"], cpus), key)
                if at % 10 == 0:
                    # As a client that did not hear the first answer: the second must name the same job.
                    submit_until_answered(api, history, small_job(f"job-{at}", ["true"], cpus), key)
            except Exception as error:
                history.failure = error
                return

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    return threads


def submit_until_answered(api, history, spec, key):
    deadline = time.monotonic() + GIVE_UP_AFTER_S
    while True:
        try:
            history.note(key, api.submit(spec, key)["id"])
            return
        except (OSError, http.client.HTTPException) as error:
            failure = error
        except Refused as error:
            if error.status not in (503, 507):
                raise
            failure = error
        if time.monotonic() > deadline:
            raise TimeoutError(f"{key} was not answered in {GIVE_UP_AFTER_S} s: {failure}")
        time.sleep(0.005)


def kill_at_random(server, history, jobs, kills, chance):
    """Kills spread over the submissions, each a random moment after its mark, some of them while the
    server is still starting. Returns how many, and how long the starts took that were let be."""
    restarts, killed = [], 0
    for mark in sorted(chance.sample(range(jobs), min(kills, jobs))):
        if history.count() < mark:
            restarts.append(come_back(server))
        wait_until(lambda: history.count() >= mark or history.failure, GIVE_UP_AFTER_S, f"{mark} answers", every_s=0.001)
        if history.failure:
            break
        time.sleep(chance.random() * 0.03)
        server.kill()
        killed += 1
        server.spawn()
    restarts.append(come_back(server))
    return killed, restarts


def come_back(server):
    began = time.perf_counter()
    server.wait_until_healthy()
    return time.perf_counter() - began


def spread(restarts):
    return {"restart_median_s": statistics.median(restarts), "restart_most_s": max(restarts)}


def judge(history, listed):
    acknowledged = history.answers
    present = {job["id"]: job for job in listed}
    names = Counter(job["name"] for job in listed)
    owners = Counter(job for jobs in acknowledged.values() for job in set(jobs))
    return {
        "count": len(acknowledged),
        "counted": "jobs",
        "acknowledged": len(acknowledged),
        "lost": sum(1 for jobs in acknowledged.values() if jobs[0] not in present),
        "duplicated": sum(count - 1 for count in names.values()),
        "ids_reused": sum(1 for count in owners.values() if count > 1),
        "answers_changed": sum(1 for jobs in acknowledged.values() if len(set(jobs)) > 1),
        "run_twice": sum(1 for job in listed if job["attempt"] > 1),
        "not_succeeded": sum(1 for job in listed if job["state"] != "succeeded"),
    }
