"""From submitting a distributed training to its first collective, beside a hand-written launch script.

Both sides run examples/jax on two ranks with the same interpreter and packages. The program prints a line
after the first step, for which all ranks must have met; a side is done when every rank's log has it. Most
of that time is Python importing its packages; what we add to it is what is measured here.
"""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import ours
from measure import short, summary, take_turns, wait_until

RANKS = 2
FIRST_STEP = b"Step: 1 of"
WITHIN_S = 300
ENVIRONMENT_WITHIN_S = 1800
EXAMPLE = ours.ROOT / "examples" / "jax"
BY_HAND = Path(__file__).resolve().parent / "inside" / "launch_by_hand.sh"


def run_alone(asked):
    """With a server of its own, whose environments stay for the next run."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    os.environ.setdefault("TRAINMASTER_ENVIRONMENTS", str(cache / "trainmaster" / "environments"))
    with ours.server(asked.bin) as server:
        python = make_environment(server)
        sides = {"trainmaster": lambda: submit(server), "by hand": lambda: launch_by_hand(python)}
        for side in sides.values():
            side()  # Warm caches are what a second training meets; the first is not counted.
        return {name: summary(each) for name, each in take_turns(sides, asked.rounds).items()}, {}


def make_environment(server):
    """Where the interpreter is that both sides use."""
    api = server.api()
    spec = ours.small_job("environment", "echo $VIRTUAL_ENV/bin/python", 0.1, framework="jax")
    job = api.submit(spec, "environment")["id"]
    wait_until(lambda: api.job(job)["state"] in ours.OVER, ENVIRONMENT_WITHIN_S, "the environment", every_s=0.1)
    return api.log(job).decode().strip()


def submit(server):
    command = [server.binary, "--json", "submit", str(EXAMPLE / "job.yaml"), "--set", "env.STEPS=1"]
    # A core for each rank, as the script's ranks have: the example asks for less, and would be held to that.
    command += ["--set", f"roles.worker.tasks={RANKS}", "--set", "roles.worker.cpus=1"]
    began = time.perf_counter()
    answer = subprocess.run(command, env=server.environment(), stdout=subprocess.PIPE, check=True)
    job = json.loads(answer.stdout)["id"]
    logs = [server.run_directory(job, f"worker-{rank}") / "output.log" for rank in range(RANKS)]
    took = first_step(logs, began)
    api = server.api()
    wait_until(lambda: api.job(job)["state"] in ours.OVER, WITHIN_S, "the job's end", every_s=0.01)
    return took


def launch_by_hand(python):
    with contextlib.ExitStack() as stack:
        place = Path(tempfile.mkdtemp(prefix="by-hand-bench."))
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        environment = {**os.environ, "STEPS": "1"}
        began = time.perf_counter()
        command = [BY_HAND, python, EXAMPLE / "train.py", str(RANKS), str(ours.free_port()), place]
        script = subprocess.Popen(command, env=environment)
        took = first_step([place / f"rank-{rank}.log" for rank in range(RANKS)], began)
        script.wait(timeout=WITHIN_S)
        return took


def first_step(logs, began):
    def all_there():
        return all(log.exists() and FIRST_STEP in log.read_bytes() for log in logs)

    wait_until(all_there, WITHIN_S, "the first step", every_s=0.002)
    return time.perf_counter() - began


def table(result):
    rows = [
        [name, short(it["median"], "s"), f"{short(it['least'], 's')} – {short(it['most'], 's')}", it["rounds"]] for name, it in result.items()
    ]
    return f"From submit to the first collective of {RANKS} ranks (JAX)", ["", "median", "spread", "rounds"], rows


def verdicts(result):
    ratio = result["trainmaster"]["median"] / result["by hand"]["median"]
    yield "submit to first collective at most 1.1 × a launch script", ratio <= 1.1, f"{ratio:.2f} ×"
