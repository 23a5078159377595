"""Ray, through its jobs command line. Slow to start, so it takes part in few rounds."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from ours import free_port
from peers import python_environment, said

HERE = Path(__file__).resolve().parent
# Ray gives its workers the ports from 10,002 on; its own must lie below.
CONTROL_PORT = 6399


class Ray:
    name = "Ray"

    def __init__(self):
        self.bin = python_environment(HERE / "ray.txt")
        self.home = Path(tempfile.mkdtemp(prefix="ray."))
        self.dashboard = free_port()
        self.head = None
        silent = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DISABLE_IMPORT_WARNING": "1"}
        self.environment = {**os.environ, **silent, "PATH": f"{self.bin}:{os.environ['PATH']}", "RAY_ADDRESS": f"http://127.0.0.1:{self.dashboard}"}

    def version(self):
        return said([self.bin / "ray", "--version"], env=self.environment)

    def __enter__(self):
        command = [self.bin / "ray", "start", "--head", "--block", "--num-cpus=2", "--node-ip-address=127.0.0.1"]
        command += [f"--port={CONTROL_PORT}", f"--dashboard-port={self.dashboard}", "--dashboard-host=127.0.0.1"]
        command += [f"--temp-dir={self.home}", "--disable-usage-stats"]
        environment = {name: value for name, value in self.environment.items() if name != "RAY_ADDRESS"}
        with open(self.home / "head.log", "wb") as log:
            self.head = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        # The first job waits until the whole of it is up.
        self.run_one()
        return self

    def run_one(self):
        for _ in range(60):
            done = subprocess.run([self.bin / "ray", "job", "submit", "--", "true"], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode == 0:
                return
            if self.head.poll() is not None:
                break
        raise RuntimeError(f"ray job submit failed: {done.stdout[-500:]}")

    def processes(self):
        from measure import processes_under

        return processes_under(self.head.pid)

    def __exit__(self, *_):
        if self.head and self.head.poll() is None:
            self.head.terminate()
            try:
                self.head.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.head.kill()
                self.head.wait()
        shutil.rmtree(self.home, ignore_errors=True)
