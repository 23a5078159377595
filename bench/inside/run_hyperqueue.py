"""Runs inside HyperQueue's own Python environment: a server and a worker of two slots in this process.

Reads one JSON request a line (`{"line": "...", "tasks": N}`), runs that many tasks, each with its own
files for stdout and stderr, and answers with the seconds from submission to the end of the last.
The library's own waiting looks once a second, which would be rounded into the result; so a last
task, which depends on all others, makes a file that we look for every millisecond.
"""

import json
import os
import sys
import time
from pathlib import Path

from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig


def main(home):
    cluster = LocalCluster(server_dir=str(home / "server"), worker_config=WorkerConfig(cores=2))
    client = cluster.client()
    print(json.dumps({"ready": True}), flush=True)
    for number, request in enumerate(sys.stdin):
        asked = json.loads(request)
        place = home / str(number)
        place.mkdir()
        took = run(client, place, asked["command"], asked["tasks"])
        print(json.dumps({"seconds": took, "place": str(place)}), flush=True)
    cluster.stop()


def run(client, place, command, tasks):
    job = Job(default_workdir=str(place))
    done = place / "done"
    programs = [
        job.program(command, stdout=str(place / f"{task}.out"), stderr=str(place / f"{task}.err")) for task in range(tasks)
    ]
    job.program(["touch", str(done)], deps=programs, stdout=None, stderr=None)
    began = time.perf_counter()
    client.submit(job)
    while not done.exists():
        time.sleep(0.001)
    return time.perf_counter() - began


if __name__ == "__main__":
    # The library talks on our standard output now and then; answers go to the real one, the rest away.
    sys.stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    main(Path(sys.argv[1]))
