"""A private set of process ids and mounts, and one directory, for the whole run: whatever a peer leaves
behind ends with it, also when the run is broken off."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

INSIDE = "TRAINMASTER_BENCH_ENCLOSED"
UNSHARE = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]


def enter():
    """Runs this script again inside, and ends with its exit code. Where the kernel refuses, goes on outside."""
    if os.environ.get(INSIDE):
        reap_in_parent()
        return
    if os.geteuid() != 0 or subprocess.run([*UNSHARE, "true"], stderr=subprocess.DEVNULL).returncode:
        print("bench: no private process ids here; what a peer leaves behind may stay", flush=True)
        return
    # Short, because sockets are made below it and their paths are limited to 107 bytes.
    place = tempfile.mkdtemp(prefix="tmb.")
    # What lies in it has nothing to do with each other. Told so, ext4 gives each side a part of the disk in which nobody deleted anything
    # lately; in one where somebody did, it looks long for every new file.
    subprocess.run(["chattr", "+T", place], stderr=subprocess.DEVNULL)
    environment = {**os.environ, INSIDE: "1", "TMPDIR": place}
    run = subprocess.Popen([*UNSHARE, sys.executable, *sys.argv], env=environment)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: run.kill())
    try:
        code = run.wait()
    finally:
        shutil.rmtree(place, ignore_errors=True)
    sys.exit(code if code >= 0 else 128 - code)


def reap_in_parent():
    """The first process of a namespace inherits every orphan and must collect them; it does nothing else."""
    worker = os.fork()
    if worker == 0:
        return
    while True:
        pid, status = os.wait()
        if pid == worker:
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
