"""Fifty process trees that do not want to be stopped: who is left once the job is said to be stopped?"""

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

from measure import wait_until
from ours import OVER

TREES = 50
AT_ONCE = 10
ARTIST = Path(__file__).resolve().parent / "inside" / "escape_artist.py"
KINDS = [
    "plain", "double_fork", "own_session", "daemon", "nohup", "deaf", "own_group", "reborn", "zombies", "frozen",
    "stripped", "runner", "wide", "deep", "own_namespace",
]  # fmt: skip


def run(house, rounds=1):
    result = {"trainmaster": ours(house.server)}
    for name, stop_trees in {"Slurm": slurm, "pueue": pueue, "task-spooler": spooler}.items():
        if name in house.peers:
            result[name] = stop_trees(house.peers[name])
    return result


def ours(server):
    api, survivors, slowest = server.api(), {}, 0.0
    kinds = [KINDS[at % len(KINDS)] for at in range(TREES)]
    for first in range(0, TREES, AT_ONCE):
        trees = {}
        for at, kind in enumerate(kinds[first : first + AT_ONCE], start=first):
            marker = f"escape-{uuid.uuid4().hex}"
            job = api.submit(spec(kind, marker, at), marker)["id"]
            trees[job] = (kind, marker)
        for job in trees:
            ready = server.output_directory(job) / "ready"
            wait_until(ready.exists, 60, f"the tree {trees[job][0]}", every_s=0.02)
        for job, (kind, marker) in trees.items():
            began = time.perf_counter()
            api.stop(job)
            state = wait_until(lambda: over(api, job), 60, f"{kind} to stop")
            left = alive_with(marker)
            slowest = max(slowest, time.perf_counter() - began)
            if left or state != "stopped":
                survivors.setdefault(kind, []).append(f"{state}, {len(left)} alive")
                kill_all(marker)
    return {"trees": TREES, "survivors": sum(map(len, survivors.values())), "which": survivors, "slowest_s": slowest}


def spec(kind, marker, at):
    role = {"command": ["python3", "/code/escape_artist.py", kind, marker, "/output/ready"], "cpus": 0.2, "memory": "128MiB", "env": {"ESCAPE": marker}}
    return {"name": f"escape-{at}", "code": str(ARTIST.parent), "stop_grace": "500ms", "roles": {"main": role}}


def over(api, job):
    state = api.job(job)["state"]
    return state if state in OVER else None


def alive_with(marker):
    """Living processes that carry the marker. Looked for three times, for those that hop from pid to pid."""
    found = set()
    for _ in range(3):
        found |= {pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if carries(pid, marker.encode())}
        time.sleep(0.01)
    return found


def carries(pid, marker):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        if state in "ZX" or pid == os.getpid():
            return False
        return any(marker in Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ"))
    except (OSError, IndexError):
        return False


def kill_all(marker):
    """Ends what a peer, or we, left behind; only processes of this very tree carry its marker."""
    for _ in range(100):
        left = alive_with(marker)
        if not left:
            return
        for pid in left:
            try:
                os.kill(pid, 9)
            except OSError:
                continue


def peer_trees(peer, start, stop, is_over):
    """One tree of each kind through a peer: started, stopped its own way, and counted when it says it is gone."""
    survivors, slowest = {}, 0.0
    for kind in KINDS:
        marker = f"escape-{uuid.uuid4().hex}"
        ready = peer.home / f"ready-{marker}"
        task = start([sys.executable, str(ARTIST), kind, marker, str(ready)], {"ESCAPE": marker})
        wait_until(ready.exists, 60, f"the tree {kind}", every_s=0.02)
        began = time.perf_counter()
        stop(task)
        wait_until(lambda: is_over(task), 120, f"{kind} to stop", every_s=0.02)
        slowest = max(slowest, time.perf_counter() - began)
        left = alive_with(marker)
        if left:
            survivors[kind] = [f"{len(left)} alive"]
            kill_all(marker)
    return {"trees": len(KINDS), "survivors": len(survivors), "which": survivors, "slowest_s": slowest}


def slurm(peer):
    def start(command, environment):
        line = " ".join(command)
        exported = ",".join(["ALL", *(f"{name}={value}" for name, value in environment.items())])
        return peer.ask("sbatch", "--parsable", "-o", "/dev/null", f"--export={exported}", "--wrap", line).strip()

    stop = lambda task: peer.ask("scancel", task)
    is_over = lambda task: task not in peer.ask("squeue", "-h", "-o", "%A", check=False).split()
    return peer_trees(peer, start, stop, is_over)


def pueue(peer):
    start = lambda command, _: peer.add(" ".join(command))
    stop = lambda task: peer.ask("kill", task)
    is_over = lambda task: "Done" in str(peer.tasks()[task]["status"])
    return peer_trees(peer, start, stop, is_over)


def spooler(peer):
    start = lambda command, _: peer.add(*command)
    stop = lambda task: subprocess.run(["tsp", "-k", task], env=peer.environment, check=False)
    is_over = lambda task: peer.ask("-s", task) == "finished"
    return peer_trees_with_deadline(peer, start, stop, is_over)


def peer_trees_with_deadline(peer, start, stop, is_over):
    """task-spooler only asks; a tree that does not go keeps it waiting, so we give it two seconds."""
    deadline = {}

    def over_or_waited(task):
        deadline.setdefault(task, time.monotonic() + 2)
        return is_over(task) or time.monotonic() > deadline[task]

    return peer_trees(peer, start, stop, over_or_waited)


def table(result):
    rows = [[name, it["trees"], it["survivors"], f"{it['slowest_s']:.2f} s", ", ".join(it["which"])] for name, it in result.items()]
    return "Escape artists: trees with survivors after \"stopped\"", ["", "trees", "with survivors", "slowest", "which"], rows


def verdicts(result):
    ours = result["trainmaster"]
    yield f"{ours['trees']} escape artists: 0 survivors", ours["survivors"] == 0, str(ours["survivors"])
