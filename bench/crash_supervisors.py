"""Supervisors are killed at random: one true ending or an honest `unknown`, never two attempts alive."""

import os
import signal
import time

from crash_lines import small_share, stop_quietly
from measure import wait_until
from ours import OVER, Server, small_job, supervisor

BEATS = 200
SECONDS_BETWEEN_BEATS = 0.01
KILLED_SHARE = 0.6
OVER_WITHIN_S = 600
FAULTS = ("two_at_once", "false_endings", "without_ending", "not_over")

# Every beat is one append of one line, so a beat is whole or not there. The clock is the machine's own,
# the same for all processes.
TASK = f"""
import os, time
beats = os.open("/output/beats." + os.environ["TRAINMASTER_ATTEMPT"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def beat(word):
    os.write(beats, f"{{word}} {{time.monotonic_ns()}} {{os.environ['TRAINMASTER_ATTEMPT']}} {{os.getpid()}}\\n".encode())
beat("begin")
for _ in range({BEATS}):
    time.sleep({SECONDS_BETWEEN_BEATS})
    beat("beat")
beat("end")
"""


def run(binary, tasks, chance):
    server = Server(binary)
    try:
        server.start()
        api = server.api()
        share = small_share(api, tasks)
        jobs = [api.submit(small_job(f"beats-{index}", ["python3", "-c", TASK], share), f"beats-{index}")["id"] for index in range(tasks)]
        kills = kill_supervisors(server, api, jobs, chance)
        wait_until(lambda: all(api.job(job)["state"] in OVER for job in jobs), OVER_WITHIN_S, "all tasks to end", every_s=0.1)
        return {"count": tasks, "counted": "tasks", "kills": kills, **judge(server, api, jobs)}
    finally:
        stop_quietly(server)


def kill_supervisors(server, api, jobs, chance):
    """Each of the chosen is killed at a random moment of its life, from before its child runs to after its end."""
    life_s = BEATS * SECONDS_BETWEEN_BEATS * 1.5
    chosen = chance.sample(jobs, max(1, int(len(jobs) * KILLED_SHARE)))
    moments = sorted((chance.random() * life_s, job) for job in chosen)
    began, killed = time.monotonic(), 0
    for moment, job in moments:
        time.sleep(max(0.0, began + moment - time.monotonic()))
        killed += kill_supervisor(server, job)
    return killed


def kill_supervisor(server, job):
    """Kills the newest supervisor of a job, if there is one. Its start time is checked: a pid is only a number."""
    for attempt in sorted(runs_of(server, job), reverse=True):
        try:
            who = supervisor(server.run_directory(job, attempt=attempt))
            with open(f"/proc/{who['pid']}/stat") as file:
                started = int(file.read().rsplit(")", 1)[1].split()[19])
            if started == who["start_ticks"]:
                os.kill(who["pid"], signal.SIGKILL)
                return 1
        except (OSError, ValueError, StopIteration):
            continue
    return 0


def runs_of(server, job):
    directory = server.data / "runs" / job
    return [int(path.name.rsplit(".", 1)[1]) for path in directory.glob("main-0.[0-9]*")] if directory.exists() else []


def judge(server, api, jobs):
    counts = {"two_at_once": 0, "false_endings": 0, "without_ending": 0, "not_over": 0, "unknown": 0}
    for job in jobs:
        seen = api.job(job)
        counts["not_over"] += seen["state"] not in OVER
        lives = {run["attempt"]: beats_of(server, job, run["attempt"]) for run in seen["runs"]}
        counts["two_at_once"] += overlap(lives)
        for run in seen["runs"]:
            counts["without_ending"] += run["ending"] is None
            counts["unknown"] += run["state"] == "unknown"
            counts["false_endings"] += run["state"] == "succeeded" and not finished(lives[run["attempt"]])
    return counts


def beats_of(server, job, attempt):
    path = server.output_directory(job) / f"beats.{attempt}"
    lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return [(word, int(at_ns)) for word, at_ns, _, _ in lines]


def finished(beats):
    return bool(beats) and beats[-1][0] == "end"


def overlap(lives):
    """Whether an attempt began before the last sign of life of an earlier one."""
    spans = [(beats[0][1], beats[-1][1]) for _, beats in sorted(lives.items()) if beats]
    return int(any(later[0] < earlier[1] for earlier, later in zip(spans, spans[1:])))
