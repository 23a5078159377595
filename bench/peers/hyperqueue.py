"""HyperQueue, through its Python package: the server and the worker live in one process of their own."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from measure import Missing
from peers import python_environment

HERE = Path(__file__).resolve().parent


class HyperQueue:
    name = "HyperQueue"

    def __init__(self):
        self.bin = python_environment(HERE / "hyperqueue.txt")
        self.home = Path(tempfile.mkdtemp(prefix="hyperqueue-bench."))
        self.process = None

    def version(self):
        return (HERE / "hyperqueue.txt").read_text().strip()

    def __enter__(self):
        command = [self.bin / "python", HERE.parent / "inside" / "run_hyperqueue.py", self.home]
        with open(self.home / "log", "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        if not self.process.stdout.readline():
            raise Missing("it did not start: " + (self.home / "log").read_text()[-300:])
        return self

    def run(self, command, tasks):
        """The seconds it took, and the directory with the tasks' files."""
        self.process.stdin.write(json.dumps({"command": command, "tasks": tasks}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return answer["seconds"], Path(answer["place"])

    def processes(self):
        return [self.process.pid]

    def __exit__(self, *_):
        if self.process:
            self.process.stdin.close()
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)
