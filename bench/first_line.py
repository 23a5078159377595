"""From submitting a job with a warm environment to the first line it prints, beside the same command without us.

Both sides run the same program with the same interpreter of the same environment, in the same code. One program
imports a small package, the other numpy and scikit-learn. Our side is timed from the typing of `trainmaster submit`
to the line in the task's log; the other from the start of the program to the line in a file.
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

RATIO_MAX = 1.2
LINE = b"first line"
WITHIN_S = 120
ENVIRONMENT_WITHIN_S = 1800
PROGRAMS = {
    "a small package": ("six==1.17.0\n", "import six\nprint('first line', flush=True)\n"),
    "numpy and scikit-learn": (
        (ours.ROOT / "examples" / "digits" / "requirements.txt").read_text(),
        "import numpy\nimport sklearn.linear_model\nprint('first line', flush=True)\n",
    ),
}


def run_alone(asked):
    """With a server of its own, whose environments stay for the next run."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    os.environ.setdefault("TRAINMASTER_ENVIRONMENTS", str(cache / "trainmaster" / "environments"))
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(ours.server(asked.bin))
        place = Path(tempfile.mkdtemp(prefix="first-line-bench."))
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        return {name: beside_each_other(server, place / name.replace(" ", "-"), *files, asked.rounds) for name, files in PROGRAMS.items()}, {}


def beside_each_other(server, code, requirements, program, rounds):
    code.mkdir()
    (code / "requirements.txt").write_text(requirements)
    (code / "main.py").write_text(program)
    # All CPUs are what the program has by itself, and numpy's threads take more than one while they start.
    main = {"command": "python main.py", "cpus": os.cpu_count(), "memory": "1GiB"}
    spec = {"name": "first-line", "code": str(code), "roles": {"main": main}}
    (code / "job.yaml").write_text(json.dumps(spec))
    python = make_environment(server, code)
    sides = {"trainmaster": lambda: submit(server, code), "by hand": lambda: by_hand(python, code)}
    for side in sides.values():
        side()  # Warm caches are what a second job meets; the first is not counted.
    return {name: summary(each) for name, each in take_turns(sides, rounds).items()}


def make_environment(server, code):
    """Where the interpreter is that both sides use."""
    api = server.api()
    spec = ours.small_job("environment", "echo $VIRTUAL_ENV/bin/python", 0.1, code=str(code))
    job = api.submit(spec, code.name)["id"]
    wait_until(lambda: api.job(job)["state"] in ours.OVER, ENVIRONMENT_WITHIN_S, "the environment", every_s=0.1)
    return api.log(job).decode().strip()


def submit(server, code):
    began = time.perf_counter()
    command = [server.binary, "--json", "submit", str(code / "job.yaml")]
    answer = subprocess.run(command, env=server.environment(), stdout=subprocess.PIPE, check=True)
    job = json.loads(answer.stdout)["id"]
    took = first_line(server.run_directory(job) / "output.log", began)
    api = server.api()
    wait_until(lambda: api.job(job)["state"] in ours.OVER, WITHIN_S, "the job's end", every_s=0.01)
    return took


def by_hand(python, code):
    log = code / "by-hand.log"
    log.unlink(missing_ok=True)
    began = time.perf_counter()
    with open(log, "wb") as file:
        program = subprocess.Popen([python, "main.py"], cwd=code, stdout=file)
    took = first_line(log, began)
    program.wait(timeout=WITHIN_S)
    return took


def first_line(log, began):
    wait_until(lambda: log.exists() and LINE in log.read_bytes(), WITHIN_S, "the first line", every_s=0.0005)
    return time.perf_counter() - began


def table(result):
    rows = []
    for program, sides in result.items():
        for side, it in sides.items():
            spread = f"{short(it['least'], 's')} – {short(it['most'], 's')}"
            rows.append([f"{program}, {side}", short(it["median"], "s"), spread, it["rounds"]])
    return "From submit to the first line, with a warm environment", ["", "median", "spread", "rounds"], rows


def verdicts(result):
    for program, sides in result.items():
        ratio = sides["trainmaster"]["median"] / sides["by hand"]["median"]
        yield f"first line of a job with {program} at most {RATIO_MAX} × the command alone", ratio <= RATIO_MAX, f"{ratio:.2f} ×"
