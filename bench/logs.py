"""Logs at full speed: one task that writes as fast as it can beside the same program with `> file`; one that is followed on a bad line
while the server is killed; many short tasks whose last words have no end of line; and a thousand readers beside a thousand who do not read.

The program says itself how long its writes took, so that neither side is timed by how it starts. Both sides write to the same disk.
It writes once as fast as the kernel takes it, and once as trainings do: line by line, through Python's own buffer.
Every byte is compared by its hash. While the short tasks run, the server is killed again and again.
"""

import hashlib
import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import ours
import log_follow
from measure import on_a_clean_disk, short, summary, take_turns, wait_until, wanted

RATIO_MAX, MEMORY_BYTES_MAX, RATE_BYTES_MIN = 1.1, 30_000_000, 3_000_000_000 / 60
GROWTH_BYTES_MAX = 64 << 20
READERS = STALLED = 1000
WITHIN_S = 1800
TASKS_A_JOB = 50
PARTS = ("speed", "printed", "followed", "short", "readers")
# How long another job takes may grow by this much while all read and stall.
DISTURBED_MAX, OTHER_JOBS = 1.5, 20

PROGRAM = """
import os, sys, time
size, said = int(sys.argv[1]), sys.argv[2]
line = b"".join(b"step %07d loss 0.123456 accuracy 0.987654 and some more words to fill the line\\n" % n for n in range(1000))
began, left = time.perf_counter(), size
while left > 0:
    left -= os.write(1, line[: min(left, 65536)])
open(said, "w").write(str(time.perf_counter() - began))
"""
PRINTER = """
import sys, time
size, said = int(sys.argv[1]), sys.argv[2]
text = "".join("step %07d loss 0.123456 accuracy 0.987654 and some more words to fill the line\\n" % n for n in range(1000))
lines = text[:65536].splitlines(keepends=True)
began, left = time.perf_counter(), size
while left > 0:
    for line in lines:
        left -= sys.stdout.write(line[: max(left, 0)])
sys.stdout.flush()
open(said, "w").write(str(time.perf_counter() - began))
"""
# What prints does so a few times as slowly.
PRINTED_PART = 4


def run_alone(asked):
    with ours.server(asked.bin) as server:
        parts = {
            "speed": lambda: beside_a_file(server, PROGRAM, asked.log_bytes, asked.rounds),
            "printed": lambda: beside_a_file(server, PRINTER, asked.log_bytes // PRINTED_PART, asked.rounds),
            "followed": lambda: followed(server, asked.log_bytes),
            "short": lambda: short_tasks(server, asked.short_tasks),
            "readers": lambda: readers(server),
        }
        return {name: run() for name, run in parts.items() if wanted(asked.part, name)}, {}


def beside_a_file(server, program, size, rounds):
    """The file of the plain redirect lies where the logs lie. Tasks get no variables of ours, so it gets none that Python heeds."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    place = Path(tempfile.mkdtemp(prefix="plain.", dir=server.data))
    (place / "write.py").write_text(program)
    peaks = []

    def plain():
        with open(place / "log", "wb") as log:
            subprocess.run([sys.executable, place / "write.py", str(size), place / "took"], stdout=log, check=True, env=bare)
        same(hash_of_file(place / "log"), size, "the plain file")
        (place / "log").unlink()
        return float((place / "took").read_text())

    def through_us():
        api = server.api()
        command = [sys.executable, "-c", program, str(size), "/output/took"]
        job = api.submit(ours.small_job("flood", command, 1), f"flood-{time.monotonic()}")["id"]
        run = server.run_directory(job)
        wait_until(lambda: (run / "output.log").exists(), WITHIN_S, "its first byte")
        pid = ours.supervisor(run)["pid"]
        while (peak := peak_bytes(pid)) is not None:
            peaks.append(peak)
            time.sleep(0.02)
        api = server.api()  # The line of before has been silent for long.
        wait_until(lambda: over(api, job), WITHIN_S, "the job's end")
        same(hash_of_answer(server, f"/api/v1/jobs/{job}/tasks/main-0/log"), size, "the log")
        took = float((server.output_directory(job) / "took").read_text())
        api.ask("DELETE", f"/api/v1/jobs/{job}")
        wait_until(server.rests, WITHIN_S, "the server's rest")  # What it still does for this job is not the next side's to bear.
        return took

    touch_memory()
    sides = take_turns({"trainmaster": on_a_clean_disk(through_us), "> file": on_a_clean_disk(plain)}, rounds)
    how = "that prints lines" if program == PRINTER else "that writes blocks"
    return {name: summary(values) for name, values in sides.items()} | {"peak_bytes": max(peaks), "size": size, "how": how}


TOUCH = "memory = bytearray(int(__import__('sys').argv[1]))\nfor at in range(0, len(memory), 4096): memory[at] = 1"


def touch_memory():
    """The host of a virtual machine takes back what that has not used for a while, and hands it out again page by page: whoever writes then
    is slow."""
    available = next(int(line.split()[1]) << 10 for line in open("/proc/meminfo") if line.startswith("MemAvailable:"))
    subprocess.run([sys.executable, "-c", TOUCH, str(available * 3 // 4)], check=True)


def followed(server, size):
    api = server.api()
    job = api.submit(ours.small_job("followed-flood", ["python3", "-c", PROGRAM, str(size), "/output/took"], 1), "followed-flood")["id"]
    began = time.perf_counter()
    told = log_follow.follow(server, job, WITHIN_S)
    took = time.perf_counter() - began
    wanted_hash = expected(size)
    after = hash_of_answer(server, f"/api/v1/jobs/{job}/tasks/main-0/log")
    server.api().ask("DELETE", f"/api/v1/jobs/{job}")
    return told | {"size": size, "took_s": took, "same": told["hash"] == wanted_hash, "same_after": after == wanted_hash}


def expected(size):
    block = b"".join(b"step %07d loss 0.123456 accuracy 0.987654 and some more words to fill the line\n" % n for n in range(1000))[:65536]
    digest = hashlib.sha256()
    for _ in range(size // len(block)):
        digest.update(block)
    digest.update(block[: size % len(block)])
    return digest.hexdigest()


def same(found, size, what):
    if found != expected(size):
        raise RuntimeError(f"{what} is not what was written")


def hash_of_file(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_of_answer(server, path):
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", headers={"Authorization": f"Bearer {server.token()}"})
    digest = hashlib.sha256()
    with urllib.request.urlopen(request, timeout=WITHIN_S) as answer:
        while piece := answer.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def peak_bytes(pid):
    """The most memory a process has had; None when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(found[0]) << 10 if found else None


def over(api, job):
    state = json.loads(api.ask("GET", f"/api/v1/jobs/{job}"))["state"]
    if state in ("failed", "stopped"):
        raise RuntimeError(f"{job} has {state}")
    return state == "succeeded"


def short_tasks(server, tasks):
    """Each prints one word without an end of line; meanwhile the server is killed again and again."""
    api, jobs, kills, began = server.api(), [], 0, time.perf_counter()
    for number in range(tasks // TASKS_A_JOB):
        command = ["sh", "-c", f"printf token-{number}-$TRAINMASTER_TASK_INDEX"]
        role = {"tasks": TASKS_A_JOB, "command": command, "cpus": 0.01, "memory": "16MiB"}
        jobs.append(api.submit({"name": f"short-{number}", "roles": {"main": role}}, f"short-{number}")["id"])
        if number % 20 == 19:
            server.kill()
            server.start()
            api, kills = server.api(), kills + 1
    wrong = 0
    for number, job in enumerate(jobs):
        wait_until(lambda job=job: over(api, job), WITHIN_S, f"the end of {job}", every_s=0.02)
        for task in range(TASKS_A_JOB):
            log = server.run_directory(job, f"main-{task}") / "output.log"
            wrong += log.read_bytes() != f"token-{number}-{task}".encode()
    return {"tasks": len(jobs) * TASKS_A_JOB, "wrong": wrong, "kills": kills, "took_s": time.perf_counter() - began}


def readers(server):
    """All follow one task that has written much and writes on. Others work as before: jobs are timed with and without the crowd."""
    api = server.api()
    command = "head -c 4M /dev/zero | tr '\\0' x | fold -w 99; until [ -e /cache/go ]; do sleep 0.05; done; echo; echo last"
    job = api.submit(ours.small_job("followed", command, 0.5), "followed")["id"]
    log = server.run_directory(job) / "output.log"
    wait_until(lambda: log.exists() and log.stat().st_size > 4_200_000, WITHIN_S, "its words")
    alone = [one_job(api, f"alone-{number}") for number in range(OTHER_JOBS)]
    before = memory_bytes(server.process.pid)
    stalled = [connect(server, job, 4096) for _ in range(STALLED)]
    crowd = Crowd([connect(server, job, None) for _ in range(READERS)], server.process.pid)
    wait_until(crowd.has_caught_up, WITHIN_S, "all to have read what there is", every_s=0.05)
    api = server.api()  # The line of before has been silent for long.
    beside = [one_job(api, f"beside-{number}") for number in range(OTHER_JOBS)]
    (server.data / "cache" / "go").write_text("")
    crowd.join(WITHIN_S)
    for line in stalled:
        line.close()
    wait_until(lambda: over(server.api(), job), WITHIN_S, "the job's end", every_s=0.05)
    return {"growth_bytes": crowd.most - before, "readers": READERS, "stalled": STALLED, "ended": crowd.ended, "caught_up_s": crowd.caught_up_s, "alone": summary(alone), "beside": summary(beside)}


def one_job(api, name):
    """The seconds from submitting a job to its end."""
    began = time.perf_counter()
    job = api.submit(ours.small_job(name, ["true"], 0.1), name)["id"]
    wait_until(lambda: over(api, job), WITHIN_S, "a small job's end", every_s=0.001)
    return time.perf_counter() - began


def connect(server, job, receive_bytes):
    line = socket.socket()
    if receive_bytes:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    line.connect(("127.0.0.1", server.port))
    line.sendall(f"GET /api/v1/jobs/{job}/follow HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token()}\r\n\r\n".encode())
    return line


class Crowd(threading.Thread):
    """Reads everything that comes on many lines, and looks at the memory of the server meanwhile."""

    QUIET_S = 0.5

    def __init__(self, lines, pid):
        super().__init__(daemon=True)
        self.pid, self.most, self.ended, self.tails, self.open = pid, 0, 0, {}, len(lines)
        self.began = self.read_at = time.perf_counter()
        self.caught_up_s = None
        self.waiting = selectors.DefaultSelector()
        for line in lines:
            line.setblocking(False)
            self.waiting.register(line, selectors.EVENT_READ)
        self.start()

    def has_caught_up(self):
        """Everyone was told something, and nobody anything new for a while."""
        quiet = time.perf_counter() - self.read_at > self.QUIET_S and len(self.tails) == self.open
        if quiet and self.caught_up_s is None:
            self.caught_up_s = self.read_at - self.began
        return quiet

    def run(self):
        while self.waiting.get_map() and time.perf_counter() - self.began < WITHIN_S:
            self.most = max(self.most, memory_bytes(self.pid))
            for key, _ in self.waiting.select(0.1):
                self.read(key)

    def read(self, key):
        piece = key.fileobj.recv(1 << 20)
        # Words that only say that the line is open do not count.
        if b"event:" in piece or len(piece) > 100:
            self.read_at = time.perf_counter()
        self.tails[key.fd] = (self.tails.get(key.fd, b"") + piece)[-4096:]
        if b"event: end" in self.tails[key.fd] or not piece:
            self.ended += b"event: end" in self.tails[key.fd]
            self.waiting.unregister(key.fileobj)
            key.fileobj.close()


def memory_bytes(pid):
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def table(result):
    rows = [row for part in PARTS if part in result for row in ROWS[part](result[part])]
    return "Logs", ["", "median", "spread", "rounds"], rows


def timed_row(text, it):
    return [text, short(it["median"], "s"), f"{short(it['least'], 's')} – {short(it['most'], 's')}", it["rounds"]]


def rows_of_speed(speed):
    rows = [timed_row(f"one task {speed['how']}, {speed['size'] / 1e9:.1f} GB, {name}", speed[name]) for name in ("trainmaster", "> file")]
    return [*rows, ["its supervisor's memory", f"{speed['peak_bytes'] / 1e6:.1f} MB", "", ""]]


def rows_of_followed(it):
    text = f"{it['size'] / 1e9:.1f} GB followed, {it['cuts']} cuts, {it['kills']} kills"
    return [[text, short(it["took_s"], "s"), "the same" if it["same"] and it["same_after"] else "NOT THE SAME", 1]]


def rows_of_short(tasks):
    return [[f"{tasks['tasks']} short tasks, {tasks['kills']} kills", f"{tasks['wrong']} wrong", short(tasks["took_s"], "s"), 1]]


def rows_of_readers(crowd):
    text = f"{crowd['readers']} readers, {crowd['stalled']} stalled"
    growth = [text, f"{crowd['growth_bytes'] / (1 << 20):.0f} MiB more", f"caught up in {short(crowd['caught_up_s'], 's')}", 1]
    return [growth, timed_row("another job, alone", crowd["alone"]), timed_row("another job, beside them", crowd["beside"])]


ROWS = {"speed": rows_of_speed, "printed": rows_of_speed, "followed": rows_of_followed, "short": rows_of_short, "readers": rows_of_readers}


def verdicts(result):
    for part in PARTS:
        if part in result:
            yield from VERDICTS[part](result[part])


def verdicts_of_speed(speed):
    ratio = speed["trainmaster"]["median"] / speed["> file"]["median"]
    yield f"a task {speed['how']}: at most {RATIO_MAX} × a plain redirect", ratio <= RATIO_MAX, f"{ratio:.2f} ×"
    rate = speed["size"] / speed["trainmaster"]["median"]
    yield "one task at 3 GB in a minute", rate >= RATE_BYTES_MIN, f"{rate * 60 / 1e9:.1f} GB"
    yield "at most 30 MB in the supervisor", speed["peak_bytes"] <= MEMORY_BYTES_MAX, f"{speed['peak_bytes'] / 1e6:.1f} MB"


def verdicts_of_followed(it):
    shown = f"{it['printed_bytes']} of {it['size']} bytes, {it['cuts']} cuts, {it['kills']} kills"
    yield "a log that is followed on a bad line is the same, byte for byte", it["same"] and it["exit"] == 0, shown
    yield "and so it is afterwards", it["same_after"], "the same" if it["same_after"] else "another"


def verdicts_of_short(tasks):
    yield "the last word of every short task", tasks["wrong"] == 0, f"{tasks['wrong']} of {tasks['tasks']} wrong"


def verdicts_of_readers(crowd):
    yield "at most 64 MiB more with all readers", crowd["growth_bytes"] <= GROWTH_BYTES_MAX, f"{crowd['growth_bytes'] / (1 << 20):.0f} MiB"
    yield "every reader is told the end", crowd["ended"] == crowd["readers"], f"{crowd['ended']} of {crowd['readers']}"
    ratio = crowd["beside"]["median"] / crowd["alone"]["median"]
    yield f"another job takes at most {DISTURBED_MAX} × as long beside them", ratio <= DISTURBED_MAX, f"{ratio:.2f} ×"


VERDICTS = {"speed": verdicts_of_speed, "printed": verdicts_of_speed, "followed": verdicts_of_followed, "short": verdicts_of_short, "readers": verdicts_of_readers}
