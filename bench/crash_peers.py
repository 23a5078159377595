"""The same trial of submissions for Slurm and pueue, through their command lines, with held jobs."""

import statistics
import subprocess
import threading
import time
from collections import Counter

from measure import Missing, wait_until
from peers.pueue import Pueue
from peers.slurm import Slurm

CLIENTS = 2
SLURM_KILLS, SLURM_SECONDS = 8, (3, 9)
PUEUE_KILLS, PUEUE_SECONDS = 12, (1, 3)


def run(chance, without):
    results, skipped = {}, {}
    for name, trial in (("Slurm", slurm), ("pueue", pueue)):
        if name.lower() in without:
            skipped[name] = "not wanted"
            continue
        try:
            print(f"submissions to {name}", flush=True)
            results[name] = trial(chance)
        except (Missing, OSError, RuntimeError, TimeoutError) as why:
            skipped[name] = str(why)
    return results, skipped


def slurm(chance):
    with Slurm() as peer:
        submit = lambda name: peer.ask("sbatch", "--parsable", "--hold", "-J", name, "-o", "/dev/null", "--wrap", "true").strip()

        def restart():
            peer.start_controller()
            wait_until(lambda: "localhost" in peer.ask("sinfo", "-h", "-N", "-o", "%N", check=False), 60, "slurmctld", every_s=0.01)

        def listed():
            return [line.split()[1] for line in peer.ask("squeue", "-h", "-o", "%A %j").splitlines()]

        return trial(submit, peer.kill_controller, restart, listed, chance, SLURM_KILLS, SLURM_SECONDS)


def pueue(chance):
    with Pueue() as peer:
        peer.ask("pause", "--all")
        submit = lambda name: peer.add("true", label=name)
        listed = lambda: [task["label"] for task in peer.tasks().values()]
        return trial(submit, peer.kill_daemon, peer.start_daemon, listed, chance, PUEUE_KILLS, PUEUE_SECONDS)


def trial(submit, kill, restart, listed, chance, kills, between_s):
    """Neither peer has idempotency keys, so a client whose call failed goes on with another name."""
    answers, going = [], threading.Event()
    going.set()

    def client(number):
        at = 0
        while going.is_set():
            name = f"job-{number}-{at}"
            at += 1
            try:
                answers.append((name, submit(name)))
            except (RuntimeError, subprocess.SubprocessError):
                time.sleep(0.02)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    restarts = []
    for _ in range(kills):
        time.sleep(chance.uniform(*between_s))
        kill()
        began = time.perf_counter()
        restart()
        restarts.append(time.perf_counter() - began)
    going.clear()
    for thread in threads:
        thread.join()
    present = Counter(listed())
    ids = Counter(job for _, job in answers)
    return {
        "acknowledged": len(answers),
        "kills": kills,
        "lost": sum(1 for name, _ in answers if name not in present),
        "duplicated": sum(count - 1 for count in present.values()),
        "ids_reused": sum(count - 1 for count in ids.values()),
        "restart_median_s": statistics.median(restarts),
        "restart_most_s": max(restarts),
    }
