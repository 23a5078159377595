"""Our own side: a server on a free port with its own data directory, and its HTTP API."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse
from pathlib import Path

from measure import wait_until

ROOT = Path(__file__).resolve().parent.parent
ANSWER_WITHIN_S = 30
START_WITHIN_S = 60

OVER = ("succeeded", "failed", "stopped")
NOT_OVER = "queued,starting,running,finishing,stopping,unknown"


def release_binary():
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "trainmaster"


def program(text):
    """A path that stays right when a command is run in another directory."""
    return Path(text).resolve()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def supervisor(run):
    """Who supervises the run in this directory: its pid and when it began."""
    lines = (run / "supervisor.json").read_text().splitlines()
    return next(who["identity"] for who in map(json.loads, lines) if "identity" in who)


class Refused(Exception):
    """The server answered, and said no."""

    def __init__(self, status, body):
        super().__init__(f"{status}: {body}")
        self.status = status


class Api:
    """One connection, kept open. Whatever goes wrong with it is raised as OSError or HTTPException."""

    def __init__(self, port, token):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_WITHIN_S)
        self.token = token

    def ask(self, method, path, body=None, headers=()):
        try:
            text = None if body is None else json.dumps(body)
            sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **dict(headers)}
            self.connection.request(method, path, text, sent)
            answer = self.connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            raise
        if answer.status >= 300:
            raise Refused(answer.status, content.decode(errors="replace"))
        return content

    def submit(self, spec, key):
        return json.loads(self.ask("POST", "/api/v1/jobs", spec, {"Idempotency-Key": key}))

    def job(self, job):
        return json.loads(self.ask("GET", f"/api/v1/jobs/{job}"))

    def stop(self, job):
        return self.ask("POST", f"/api/v1/jobs/{job}/stop")

    def log(self, job, task="main-0", stream="merged"):
        return self.ask("GET", f"/api/v1/jobs/{job}/tasks/{task}/log?stream={stream}")

    def page(self, **query):
        return json.loads(self.ask("GET", "/api/v1/jobs?" + urllib.parse.urlencode(query)))

    def all_jobs(self, **query):
        jobs, cursor = [], {}
        while True:
            page = self.page(limit=500, **query, **cursor)
            jobs += page["jobs"]
            if not page.get("next"):
                return jobs
            cursor = {"cursor": page["next"]}

    def healthy(self):
        try:
            self.ask("GET", "/api/v1/health")
            return True
        except (OSError, http.client.HTTPException):
            return False


class Server:
    """A server that can be killed and started again on the same port and data."""

    def __init__(self, binary):
        self.binary = str(binary)
        self.data = Path(tempfile.mkdtemp(prefix="trainmaster-bench."))
        self.port = free_port()
        self.process = None
        self.log = self.data / "server.log"
        self.other_names = []

    def start(self):
        """Returns the seconds from exec until the API answered."""
        began = time.perf_counter()
        self.spawn()
        self.wait_until_healthy()
        return time.perf_counter() - began

    def spawn(self):
        with open(self.log, "ab") as log:
            command = [self.binary, "up", "--data", str(self.data), "--listen", f"127.0.0.1:{self.port}"]
            command += [word for name in self.other_names for word in ("--allow-host", name)]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def rests(self, for_s=0.3):
        """Whether it did next to nothing for a moment."""
        before = self.cpu_s()
        time.sleep(for_s)
        return self.cpu_s() - before < for_s / 10

    def cpu_s(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait_until_healthy(self):
        probe = Api(self.port, "")

        def ready():
            if self.process.poll() is not None:
                said = self.log.read_text(errors="replace")[-2000:]
                raise RuntimeError(f"the server ended with {self.process.returncode}:\n{said}")
            return probe.healthy()

        wait_until(ready, START_WITHIN_S, "the server's health", every_s=0.001)
        probe.connection.close()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.kill()

    def token(self):
        return (self.data / "admin-token").read_text().strip()

    def api(self):
        return Api(self.port, self.token())

    def environment(self):
        """For our CLI, so that it finds this server and no other."""
        return {**os.environ, "TRAINMASTER_DATA": str(self.data)}

    def run_directory(self, job, task="main-0", attempt=1):
        return self.data / "runs" / job / f"{task}.{attempt}"

    def output_directory(self, job, task="main-0"):
        """What a task has written to `/output`, in all its attempts."""
        return self.data / "runs" / job / f"{task}.output"

    def stop_everything(self):
        """Tasks outlive their server on purpose, so they are stopped before it is."""
        api = self.api()
        for job in api.all_jobs(state=NOT_OVER):
            with contextlib.suppress(Refused):
                api.stop(job["id"])
        wait_until(lambda: not api.page(state=NOT_OVER, limit=1)["jobs"], 120, "all jobs to stop", every_s=0.05)

    def remove(self):
        self.stop()
        shutil.rmtree(self.data, ignore_errors=True)


@contextlib.contextmanager
def server(binary):
    """A running server that leaves nothing behind."""
    it = Server(binary)
    try:
        it.start()
        yield it
        if it.process.poll() is None:
            it.stop_everything()
    finally:
        it.remove()


def half_of_the_machine(api):
    """CPUs of a task that makes two of them fill the node: two slots, whatever the machine."""
    nodes = json.loads(api.ask("GET", "/api/v1/nodes"))
    return sum(node["capacity"]["cpus_milli"] for node in nodes) / 2000


def small_job(name, command, cpus, **more):
    """A job of one small task."""
    return {"name": name, "roles": {"main": {"command": command, "cpus": cpus, "memory": "64MiB"}}, **more}


def array(name, command, cpus, tasks):
    """A job of many small tasks that need not run at the same time."""
    job = small_job(name, command, cpus, gang=False)
    job["roles"]["main"]["tasks"] = tasks
    return job
