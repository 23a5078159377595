"""Programs that carry files to buckets and back, and a bucket to carry them to."""

import os
import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path

from measure import Missing, wait_until
from ours import free_port
from peers import CACHE, debian

S5CMD = ("github.com/peak/s5cmd/v2", "v2.3.0")
BUCKET = "bench"
ACCESS_KEY, SECRET_KEY = "bench-access", "bench-secret-key"


def go_program(module, version, program):
    """Builds a program of a Go module into the cache, once. In a module of its own: only the version that is named is asked for."""
    place = CACHE / f"{program}-{version}"
    if not (place / program).exists():
        if not shutil.which("go"):
            raise Missing(f"{program} is built with Go, which is not installed")
        print(f"bench: building {program} {version} (once, some minutes)", flush=True)
        place.mkdir(parents=True, exist_ok=True)
        (place / "go.mod").write_text(f"module bench\n\ngo 1.22\n\nrequire {module} {version}\n")
        settings = {**os.environ, "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"}
        if subprocess.run(["nice", "go", "build", "-o", program, module], cwd=place, env=settings).returncode:
            raise Missing(f"go could not build {module}")
    return place / program


class Rclone:
    """With the settings its own documentation advises for many files and for large ones."""

    name = "rclone"

    def __init__(self):
        debian("rclone", "rclone")

    def environment(self, bucket):
        settings = {"TYPE": "s3", "PROVIDER": "Minio", "ENDPOINT": bucket.endpoint, "ACCESS_KEY_ID": ACCESS_KEY, "SECRET_ACCESS_KEY": SECRET_KEY}
        return {f"RCLONE_CONFIG_BENCH_{name}": value for name, value in settings.items()} | {"RCLONE_CONFIG": "/dev/null"}

    def command(self, source, target):
        fast = ["--transfers", "32", "--checkers", "32", "--no-traverse", "--s3-no-check-bucket", "--s3-upload-concurrency", "4"]
        return ["rclone", "copy", *fast, source, target]

    def send(self, directory, bucket, prefix):
        return self.command(str(directory), f"bench:{BUCKET}/{prefix}")

    def fetch(self, bucket, prefix, directory):
        return self.command(f"bench:{BUCKET}/{prefix}", str(directory))


class S5cmd:
    name = "s5cmd"

    def __init__(self):
        self.program = go_program(*S5CMD, "s5cmd")

    def environment(self, bucket):
        return {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "AWS_REGION": "us-east-1", "S3_ENDPOINT_URL": bucket.endpoint}

    def send(self, directory, bucket, prefix):
        return [str(self.program), "--log", "error", "cp", f"{directory}/", f"s3://{BUCKET}/{prefix}/"]

    def fetch(self, bucket, prefix, directory):
        return [str(self.program), "--log", "error", "cp", f"s3://{BUCKET}/{prefix}/*", f"{directory}/"]


class Bucket:
    """One of a MinIO server of our own."""

    def __init__(self):
        found = sorted((CACHE.parent / "tools").glob("minio-*/bin/minio")) + sorted((CACHE.parent / "tools").glob("minio-*/minio"))
        if not found:
            raise Missing("there is no MinIO; `scripts/setup.sh tests` builds one")
        self.program, self.home, self.port = found[-1], Path(tempfile.mkdtemp(prefix="bucket-bench.")), free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.server = None

    def __enter__(self):
        (self.home / "data" / BUCKET).mkdir(parents=True)
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "MINIO_ROOT_USER": ACCESS_KEY, "MINIO_ROOT_PASSWORD": SECRET_KEY}
        command = [self.program, "server", "--quiet", "--address", f"127.0.0.1:{self.port}", self.home / "data"]
        with open(self.home / "log", "wb") as log:
            self.server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        wait_until(lambda: answers(f"{self.endpoint}/minio/health/live"), 30, "MinIO")
        return self

    def forget(self, prefix):
        shutil.rmtree(self.home / "data" / BUCKET / prefix, ignore_errors=True)

    def objects(self, prefix):
        """How many there are, as the server keeps them."""
        return sum("xl.meta" in names for _, _, names in os.walk(self.home / "data" / BUCKET / prefix))

    def __exit__(self, *_):
        if self.server:
            self.server.kill()
            self.server.wait()
        shutil.rmtree(self.home, ignore_errors=True)


def answers(url):
    try:
        return urllib.request.urlopen(url, timeout=1).status == 200
    except OSError:
        return False
