"""Tasks print numbered lines while the server is killed: the same processes, every byte once."""

import http.client
import time
from pathlib import Path

from measure import wait_until
from ours import OVER, Server, small_job

LINES = 1500
SECONDS_BETWEEN_LINES = 0.01
OVER_WITHIN_S = 300
FAULTS = ("wrong_bytes", "other_processes", "wrong_exit_codes", "attempts_too_many")

# The line number and a text that tells a torn line from a whole one; some lines go to stderr.
TASK = f"""
import sys, time
index = int(sys.argv[1])
for number in range({LINES}):
    stream = sys.stderr if number % 7 == 3 else sys.stdout
    stream.write(f"task {{index}} line {{number}} of {LINES} abcdefghijklmnopqrstuvwxyz\\n")
    stream.flush()
    time.sleep({SECONDS_BETWEEN_LINES})
sys.stdout.write("the last word has no newline")
sys.stdout.flush()
sys.exit(exit_code(index))
""".replace("exit_code(index)", "index % 7")


def run(binary, tasks, kills, chance):
    server = Server(binary)
    try:
        server.start()
        api = server.api()
        share = small_share(api, tasks)
        jobs = [api.submit(small_job(f"lines-{index}", ["python3", "-c", TASK, str(index)], share), f"lines-{index}")["id"] for index in range(tasks)]
        pids = wait_until(lambda: all_running(api, jobs), OVER_WITHIN_S, "all tasks to run", every_s=0.05)
        others = kill_while_they_print(server, jobs, pids, kills, chance)
        api = server.api()
        wait_until(lambda: all(api.job(job)["state"] in OVER for job in jobs), OVER_WITHIN_S, "all tasks to end", every_s=0.1)
        return {"count": tasks, "counted": "tasks", "kills": kills, "other_processes": others, **judge(api, jobs)}
    finally:
        stop_quietly(server)


def small_share(api, tasks):
    """CPUs for each task so that all of them fit at once."""
    import json

    nodes = json.loads(api.ask("GET", "/api/v1/nodes"))
    return int(sum(node["capacity"]["cpus_milli"] for node in nodes) / tasks) / 1000


def all_running(api, jobs):
    pids = {}
    for job in jobs:
        seen = api.job(job)
        if seen["state"] in OVER:
            raise RuntimeError(f"{seen['name']} is {seen['state']} too early: {seen['reason']}")
        if seen["state"] != "running" or seen["runs"][0]["pid"] is None:
            return None
        pids[job] = born(seen["runs"][0]["pid"])
    return pids


def born(pid):
    """A process: its number and when it was started."""
    return pid, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]


def kill_while_they_print(server, jobs, pids, kills, chance):
    """Returns how many tasks were another process at some time, or none."""
    others = set()
    for _ in range(kills):
        time.sleep(0.05 + chance.random() * LINES * SECONDS_BETWEEN_LINES / kills / 2)
        server.kill()
        time.sleep(chance.random() * 0.1)
        server.start()
        api = server.api()
        for job in jobs:
            try:
                run_view = api.job(job)["runs"][0]
            except (OSError, http.client.HTTPException):
                continue
            if run_view["pid"] != pids[job][0] or (run_view["ending"] is None and not same_process(pids[job])):
                others.add(job)
    return len(others)


def same_process(known):
    try:
        return born(known[0]) == known
    except OSError:
        return True  # It has just ended; its ending is judged later.


def judge(api, jobs):
    wrong_bytes = out_of_order = wrong_codes = too_many = 0
    for index, job in enumerate(jobs):
        seen = api.job(job)
        wrong_bytes += any(api.log(job, stream=stream) != expected(index, stream) for stream in ("stdout", "stderr"))
        out_of_order += api.log(job) != expected(index)
        wrong_codes += seen["runs"][0]["exit_code"] != index % 7
        too_many += len(seen["runs"]) != 1
    # Two pipes that hold something at the same moment do not say which was first; so this is told, not judged.
    return {"wrong_bytes": wrong_bytes, "streams_interleaved_otherwise": out_of_order, "wrong_exit_codes": wrong_codes, "attempts_too_many": too_many}


def expected(index, stream=None):
    """What a task writes to one stream, or to both in the order of writing."""
    lines = [f"task {index} line {number} of {LINES} abcdefghijklmnopqrstuvwxyz\n" for number in range(LINES) if stream in (None, stream_of(number))]
    return ("".join(lines) + ("" if stream == "stderr" else "the last word has no newline")).encode()


def stream_of(number):
    return "stderr" if number % 7 == 3 else "stdout"


def stop_quietly(server):
    """Also after a failure, when the server may be the very thing that does not answer."""
    try:
        if server.process and server.process.poll() is None:
            server.stop_everything()
    except Exception as error:
        print(f"  could not stop the tasks: {error}", flush=True)
    server.remove()
