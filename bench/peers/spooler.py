"""task-spooler (`tsp`): a queue in one small process. It keeps nothing over a crash, and is the floor."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from measure import wait_until
from peers import debian, said


class Spooler:
    name = "task-spooler"

    def __init__(self, slots=2):
        debian("tsp", "task-spooler")
        self.slots = slots
        self.home = Path(tempfile.mkdtemp(prefix="tsp-bench."))
        self.environment = {**os.environ, "TS_SOCKET": str(self.home / "socket"), "TMPDIR": str(self.home), "TS_MAXFINISHED": "100000"}

    def version(self):
        return said(["tsp", "-V"]).splitlines()[0]

    def __enter__(self):
        self.ask("-S", str(self.slots))
        return self

    def ask(self, *words):
        return said(["tsp", *words], env=self.environment)

    def run_one(self):
        self.ask("-f", "true")

    def add(self, *command):
        """Its number in the queue; the output goes to a file, as ours does."""
        return self.ask(*command)

    def wait_for_all(self):
        wait_until(lambda: not any(state in self.ask("-l") for state in ("queued", "running")), 600, "tsp", every_s=0.02)

    def output_file(self, task):
        return Path(self.ask("-o", task))

    def clean(self):
        self.ask("-C")

    def processes(self):
        """The server detaches itself, so it is found by its socket's name in its environment."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if str(self.home).encode() in (entry / "environ").read_bytes():
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found

    def __exit__(self, *_):
        subprocess.run(["tsp", "-K"], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.home, ignore_errors=True)
