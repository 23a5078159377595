"""Pueue: a queue for shell commands with one daemon."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from measure import wait_until
from peers import rust_program, said

VERSION = "4.0.4"


class Pueue:
    name = "pueue"

    def __init__(self, slots=2):
        self.bin = rust_program("pueue", VERSION, "pueued")
        self.slots = slots
        self.home = Path(tempfile.mkdtemp(prefix="pueue-bench."))
        self.config = self.home / "pueue.yml"
        self.daemon = None
        paths = {"pueue_directory": str(self.home / "data"), "runtime_directory": str(self.home), "use_unix_socket": True}
        self.config.write_text(json.dumps({"client": {}, "daemon": {}, "shared": paths}))

    def version(self):
        return said([self.bin / "pueue", "--version"])

    def __enter__(self):
        (self.home / "data").mkdir()
        self.start_daemon()
        self.ask("parallel", str(self.slots))
        return self

    def start_daemon(self):
        with open(self.home / "pueued.log", "ab") as log:
            command = [self.bin / "pueued", "--config", self.config]
            self.daemon = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        wait_until(self.answers, 20, "pueued")

    def answers(self):
        return subprocess.run(self.command("status"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def kill_daemon(self):
        self.daemon.kill()
        self.daemon.wait()

    def command(self, *words):
        return [str(self.bin / "pueue"), "--config", str(self.config), *words]

    def ask(self, *words):
        return said(self.command(*words))

    def add(self, *command, label=None):
        labelled = ["--label", label] if label else []
        return self.ask("add", "--print-task-id", *labelled, "--", *command)

    def run_one(self):
        self.ask("wait", "--quiet", self.add("true"))

    def tasks(self):
        return json.loads(self.ask("status", "--json"))["tasks"]

    def wait_for_all(self):
        self.ask("wait", "--quiet", "--all")

    def output_of(self, task):
        return json.loads(self.ask("log", "--json", "--full", task))[task]["output"]

    def clean(self):
        self.ask("clean")

    def processes(self):
        return [self.daemon.pid]

    def __exit__(self, *_):
        if self.daemon and self.daemon.poll() is None:
            subprocess.run(self.command("kill", "--all"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.daemon.terminate()
            try:
                self.daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.kill_daemon()
        shutil.rmtree(self.home, ignore_errors=True)


if __name__ == "__main__":
    print(os.fspath(rust_program("pueue", VERSION, "pueued")))
