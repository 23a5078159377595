"""A search over the logs of a thousand jobs, beside ripgrep on the same files.

Both sides look for the same things: a word that is nowhere, a word in few lines, a regular expression in some. Our side is timed at
the server's answer, from the question to its last line; it also finds out of which job, task, stream and time each line is.
"""

import json
import os
import subprocess
import time
import urllib.parse
import urllib.request

import ours
from measure import Missing, short, summary, take_turns, wait_until
from peers import debian

RATIO_MAX = 1.5
WITHIN_S = 1800
TASKS_A_JOB = 1
PATTERNS = {"a word that is nowhere": "segmentation fault", "a word in few lines": "needle", "a regular expression": r"loss 0\.12345\d+ nan"}
LIMIT = 100_000

PROGRAM = """
import os, sys
number, size = int(sys.argv[1]), int(sys.argv[2])
text = "".join(f"2026-03-01 14:05:09 step {n} of epoch {number} loss 0.{(n * 7919 + number) % 1000000:06} accuracy 0.9{n % 1000:03}\\n" for n in range(5000))
text += f"needle {number}\\nloss 0.123456 nan\\n" if number % 10 == 0 else ""
text = text.encode()
left = size
while left > 0:
    left -= os.write(1, text[: min(left, len(text))])
"""


def run_alone(asked):
    try:
        debian("rg", "ripgrep")
    except Missing as why:
        return {}, {"ripgrep": str(why)}
    with ours.server(asked.bin) as server:
        size = asked.search_bytes // asked.search_jobs
        logs = write_logs(server, asked.search_jobs, size)
        result = {}
        for name, pattern in PATTERNS.items():
            found = {}
            sides = {"trainmaster": lambda: timed(found, "trainmaster", lambda: ask(server, pattern)), "ripgrep": lambda: timed(found, "ripgrep", lambda: rg(server, pattern))}
            for side in sides.values():
                side()  # What was read before lies in memory; that is so for both.
            values = take_turns(sides, asked.rounds)
            if found["trainmaster"] != found["ripgrep"]:
                raise RuntimeError(f"{pattern}: we found {found['trainmaster']} lines and ripgrep {found['ripgrep']}")
            result[name] = {side: summary(each) for side, each in values.items()} | {"hits": found["ripgrep"]}
        return {"patterns": result, "jobs": asked.search_jobs, "bytes": logs}, {}


def write_logs(server, jobs, size):
    api = server.api()
    ids = [api.submit(ours.small_job(f"talks-{number}", ["python3", "-c", PROGRAM, str(number), str(size)], 0.5), f"talks-{number}")["id"] for number in range(jobs)]
    total = 0
    for job in ids:
        wait_until(lambda job=job: json.loads(api.ask("GET", f"/api/v1/jobs/{job}"))["state"] == "succeeded", WITHIN_S, f"the end of {job}", every_s=0.05)
        total += (server.run_directory(job) / "output.log").stat().st_size
    return total


def timed(found, side, action):
    began = time.perf_counter()
    found[side] = action()
    return time.perf_counter() - began


def ask(server, pattern):
    query = urllib.parse.urlencode({"pattern": pattern, "regex": "true", "limit": LIMIT})
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}/api/v1/search/logs?{query}", headers={"Authorization": f"Bearer {server.token()}"})
    with urllib.request.urlopen(request, timeout=WITHIN_S) as answer:
        last = answer.read().splitlines()[-1]
    return json.loads(last)["end"]["hits"]


def rg(server, pattern):
    """Every file below, whatever a rule about hidden ones says; with one line for each hit, as ours."""
    command = ["rg", "--no-ignore", "--text", "--no-heading", "--line-number", "--glob", "output.log", pattern, str(server.data / "runs")]
    done = subprocess.run(command, stdout=subprocess.PIPE, env={**os.environ, "RIPGREP_CONFIG_PATH": ""})
    return len(done.stdout.splitlines())


def table(result):
    rows = [
        [f"{name}, {side}", short(it[side]["median"], "s"), f"{short(it[side]['least'], 's')} – {short(it[side]['most'], 's')}", it["hits"], it[side]["rounds"]]
        for name, it in result.get("patterns", {}).items()
        for side in ("trainmaster", "ripgrep")
    ]
    return f"Search: {result.get('jobs', 0)} jobs, {result.get('bytes', 0) / 1e9:.1f} GB", ["", "median", "spread", "hits", "rounds"], rows


def verdicts(result):
    for name, it in result.get("patterns", {}).items():
        ratio = it["trainmaster"]["median"] / it["ripgrep"]["median"]
        yield f"search for {name}: at most {RATIO_MAX} × ripgrep", ratio <= RATIO_MAX, f"{ratio:.2f} ×"
