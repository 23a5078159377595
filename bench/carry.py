"""Files to a bucket and back, beside programs that do nothing else.

Our side is the porter, the process that copies a task's outputs out and its inputs in. It is given an errand
as a supervisor would give it, and what is measured is what a job waits for: until it says that all is there. It
does more than copy: outputs are checked against the store's answer and listed in a manifest. Inputs are whole when
it says so, and on the disk when it ends a little later; that is measured too, beside peers that sync.
"""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from measure import Missing, on_a_clean_disk, short, summary, take_turns, wanted
from peers.carriers import ACCESS_KEY, BUCKET, SECRET_KEY, Bucket, Rclone, S5cmd

WITHIN_S = 1800
MEMORY_BYTES_MAX = 100_000_000
SMALL_FILES, SMALL_BYTES = 10_000, 4096
LARGE_FILES, LARGE_BYTES = 4, 1 << 30
PARTS = ("small-out", "small-in", "large-out", "large-in")


class Ours:
    """The porter, on an errand."""

    name = "trainmaster"

    def __init__(self, binary):
        self.binary = str(binary)

    def send(self, directory, bucket, prefix):
        """The files lie where a task has its output, and nobody remembers having sent any of them."""
        run = directory.parent / "main-0.1"
        run.mkdir(exist_ok=True)
        (directory.parent / "main-0.sent").unlink(missing_ok=True)
        return self.errand("sync", run, bucket, {"outputs": [{"name": None, "to": f"bucket:{prefix}", "layout": "chief"}]}), "synced"

    def fetch(self, bucket, prefix, directory):
        return self.errand("stage", directory, bucket, {"inputs": [{"name": None, "from": f"bucket:{prefix}", "unpack": False}]}), "staged"

    def errand(self, kind, directory, bucket, freight):
        volume = {"kind": "s3", "endpoint": bucket.endpoint, "bucket": BUCKET, "region": "us-east-1"}
        limits = {"cpus_milli": 1000, "memory_bytes": 1 << 30, "shared_memory_bytes": 1 << 20, "processes_max": 100}
        order = {"run": f"job-{'0' * 12}7000{'8000':0>4}{'0' * 12}:main-0:1", "node": "bench", "command": ["true"], "env": {}, "code": None, "limits": limits}
        order |= {"stop_grace_ms": 1000, "ports": [], "address": "127.0.0.1", "freight": freight, "volumes": {"bucket": volume}}
        secrets = {"values": {}, "volumes": {"bucket": {"access_key": ACCESS_KEY, "secret_key": SECRET_KEY}}}
        return {"kind": kind, "order": order, "secrets": secrets, "dir": str(directory), "shelves": str(directory)}

    def carry(self, errand_and_word):
        """Answers when it had said that it was done, and what it took of the machine until its end."""
        errand, awaited = errand_and_word
        porter = subprocess.Popen([self.binary, "porter"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        porter.stdin.write(json.dumps(errand) + "\n")
        if awaited == "synced":
            porter.stdin.write("finish\n")
        porter.stdin.flush()
        for line in porter.stdout:
            word = json.loads(line)
            if awaited in word:
                break
            if "failed" in word or "waiting" in word:
                raise RuntimeError(f"the porter says {line}")
        else:
            raise RuntimeError("the porter ended without a word")
        said_at = time.perf_counter()
        porter.stdin.close()
        return said_at, end_of(porter)


class OursOnDisk(Ours):
    """The same, until it has ended and everything is on the disk."""

    name = "trainmaster, on disk"

    def carry(self, errand_and_word):
        _, usage = super().carry(errand_and_word)
        return time.perf_counter(), usage


class Theirs:
    def __init__(self, peer, bucket):
        self.peer, self.bucket, self.name = peer, bucket, peer.name

    def send(self, directory, bucket, prefix):
        return self.peer.send(directory, bucket, prefix)

    def fetch(self, bucket, prefix, directory):
        return self.peer.fetch(bucket, prefix, directory)

    def carry(self, command):
        # Settings of the machine for another store would only mislead them.
        machine = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        process = subprocess.Popen(command, env={**machine, **self.peer.environment(self.bucket)}, stdout=subprocess.DEVNULL)
        usage = end_of(process)
        return time.perf_counter(), usage


class Synced(Theirs):
    """A peer whose files are on the disk when it is done, as ours are."""

    def __init__(self, peer, bucket):
        super().__init__(peer, bucket)
        self.name = f"{peer.name} and sync"

    def fetch(self, bucket, prefix, directory):
        return ["sh", "-c", '"$@" && sync -f "$0"', str(directory), *super().fetch(bucket, prefix, directory)]


def end_of(process):
    """Waits for it; the most memory it had, and the seconds of a processor that it took."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{process.args} ended with {process.returncode}")
    return {"peak_bytes": usage.ru_maxrss * 1024, "cpu_s": usage.ru_utime + usage.ru_stime}


def run_alone(asked):
    result, skipped = {}, {}
    with Bucket() as bucket:
        sides = [Ours(asked.bin)]
        for peer in (Rclone, S5cmd):
            try:
                sides.append(Theirs(peer(), bucket))
            except Missing as why:
                skipped[peer.name] = str(why)
        for kind, files, size in [("small", SMALL_FILES, SMALL_BYTES), ("large", LARGE_FILES, LARGE_BYTES)]:
            ways = [way for way in ("out", "in") if wanted(asked.part, f"{kind}-{way}")]
            if ways:
                result |= carried(bucket, sides, (kind, files, size), (ways, asked.rounds))
    return result, skipped


def carried(bucket, sides, shape, ways_and_rounds):
    (kind, files, size), (ways, rounds) = shape, ways_and_rounds
    home = Path(tempfile.mkdtemp(prefix="carry-bench."))
    try:
        source = make_files(home / "runs" / "job" / "main-0.output", files, size)
        usages, number = {}, iter(range(10**6))

        def sending(side):
            prefix = f"{kind}-{next(number)}"
            took, usage = timed(side, side.send(source, bucket, prefix))
            check(bucket.objects(prefix) >= files, f"{side.name} sent {bucket.objects(prefix)} of {files}")
            bucket.forget(prefix)
            usages.setdefault((f"{kind} out", side.name), []).append(usage)
            return took

        def fetching(side):
            target = home / f"fetched-{next(number)}"
            target.mkdir()
            took, usage = timed(side, side.fetch(bucket, f"{kind}-kept", target))
            there = sum(len(names) for _, _, names in os.walk(target))
            check(there >= files, f"{side.name} fetched {there} of {files}")
            shutil.rmtree(target)
            usages.setdefault((f"{kind} in", side.name), []).append(usage)
            return took

        went = {}
        if "out" in ways:
            went[f"{kind} out"] = take_turns({side.name: on_a_clean_disk(lambda side=side: sending(side)) for side in sides}, rounds)
        if "in" in ways:
            timed(sides[-1], sides[-1].send(source, bucket, f"{kind}-kept"))
            synced = [OursOnDisk(side.binary) if isinstance(side, Ours) else Synced(side.peer, bucket) for side in sides]
            went[f"{kind} in"] = take_turns({side.name: on_a_clean_disk(lambda side=side: fetching(side)) for side in sides + synced}, rounds)
            bucket.forget(f"{kind}-kept")
        return {at: {name: summary(each) | used(usages[at, name]) for name, each in values.items()} for at, values in went.items()}
    finally:
        shutil.rmtree(home, ignore_errors=True)


def make_files(place, files, size):
    """In directories of a hundred, none like another."""
    block = os.urandom(min(size, 1 << 20))
    for number in range(files):
        path = place / f"part-{number // 100:03}" / f"file-{number:05}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:
            file.write(number.to_bytes(8, "little") + block[8:])
            for _ in range(size // len(block) - 1):
                file.write(block)
    return place


def timed(side, errand):
    began = time.perf_counter()
    done_at, usage = side.carry(errand)
    return done_at - began, usage


def used(usages):
    """The most memory of all rounds, and what a round took of the processors."""
    return {"peak_bytes": max(it["peak_bytes"] for it in usages), "cpu_s": statistics.median(it["cpu_s"] for it in usages)}


def check(holds, what):
    if not holds:
        raise RuntimeError(what)


def table(result):
    rows = [
        [f"{way}, {name}", short(it["median"], "s"), f"{short(it['least'], 's')} – {short(it['most'], 's')}", f"{it['peak_bytes'] / 1e6:.0f} MB", short(it["cpu_s"], "s"), it["rounds"]]
        for way, sides in result.items()
        for name, it in sides.items()
    ]
    title = f"To a bucket and back: {SMALL_FILES} files of {SMALL_BYTES} bytes, {LARGE_FILES} of {LARGE_BYTES >> 20} MiB"
    return title, ["", "median", "spread", "peak", "processor", "rounds"], rows


def verdicts(result):
    for way, sides in result.items():
        own = sides["trainmaster"]
        for name, theirs in sides.items():
            if name not in (Ours.name, OursOnDisk.name):
                ratio = theirs["median"] / sides[OursOnDisk.name if name.endswith(" and sync") else Ours.name]["median"]
                yield f"{way}: at least 1.0 × {name}", ratio >= 1.0, f"{ratio:.2f} ×"
        yield f"{way}: at most 100 MB of memory", own["peak_bytes"] <= MEMORY_BYTES_MAX, f"{own['peak_bytes'] / 1e6:.0f} MB"
