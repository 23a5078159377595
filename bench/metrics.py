"""Curves: event files beside TensorBoard's own loader, one curve of ten million points, and points that come fast while many look on.

Loading. Ten runs with 200,000 scalars each, in event files. Both programs find them when they start; what is measured is the time from exec
until all is loaded. The loader of TensorBoard keeps a sample of a thousand points a curve in memory and by default checks only the lengths of
records. Ours checks every record, keeps every point on disk, and counts only when all of it is committed.
"""

import http.client
import json
import math
import random
import shutil
import struct
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

from measure import Missing, short, summary, take_turns, wait_until, wanted
from ours import Server, small_job
from peers.data_server import DataServer

RUNS, TAGS, STEPS = 10, 10, 20_000
SCALARS = RUNS * TAGS * STEPS
LONG_POINTS = 10_000_000
VIEWS = 200
VIEW_S_MAX = 0.050
FAST_POINTS_PER_S = 200_000
# Written faster than is promised: what is read cannot be more than what is written, and the last of it is read after its end.
WRITTEN_PER_S, FAST_S, VALUES_A_LINE = 250_000, 30, 10
READERS = 100
PARTS = ("load", "views", "fast")
WITHIN_S = 900


def run_alone(asked):
    skipped = {}
    home = Path(tempfile.mkdtemp(prefix="metrics-bench."))
    server = Server(asked.bin)
    try:
        server.start()
        parts = {"load": lambda: loading(server, home, asked.rounds, skipped), "views": lambda: long_curve(server), "fast": lambda: fast_points(server, asked.rounds)}
        return {name: run() for name, run in parts.items() if wanted(asked.part, name)}, skipped
    finally:
        server.remove()
        shutil.rmtree(home, ignore_errors=True)


# ---- loading


def loading(server, home, rounds, skipped):
    logs = write_logs(home / "logs")
    sides = {"trainmaster": ours(server, logs)}
    try:
        peer = DataServer()
        sides[peer.name] = lambda: peer.load(logs)
    except Missing as why:
        skipped[DataServer.name] = str(why)
    return {name: summary(values) for name, values in take_turns(sides, rounds).items()}


def write_logs(place):
    """One file of events, and a copy of it for each run."""
    first = place / "run-0" / "events.out.tfevents.1700000000.bench"
    first.parent.mkdir(parents=True)
    tags = [f"loss/{number}".encode() for number in range(TAGS)]
    with open(first, "wb") as file:
        file.write(record(struct.pack("<Bd", 0x09, 1.7e9) + b"\x1a\x0dbrain.Event:2"))
        for step in range(STEPS):
            for number, tag in enumerate(tags):
                value = b"\x0a" + bytes([len(tag)]) + tag + struct.pack("<Bf", 0x15, math.sin(step / 100) + number)
                summary_bytes = b"\x0a" + bytes([len(value)]) + value
                file.write(record(struct.pack("<Bd", 0x09, 1.7e9 + step) + b"\x10" + varint(step) + b"\x2a" + bytes([len(summary_bytes)]) + summary_bytes))
    for number in range(1, RUNS):
        shutil.copytree(place / "run-0", place / f"run-{number}")
    return place


def table_of_crc():
    def entry(value):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        return value

    return [entry(value) for value in range(256)]


CRC = table_of_crc()


def masked(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(payload):
    length = struct.pack("<Q", len(payload))
    return length + struct.pack("<I", masked(length)) + payload + struct.pack("<I", masked(payload))


def varint(number):
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(encoded) + bytes([number])


def ours(server, logs):
    """A job with a task for each run; the logs are put into their outputs while the server is down."""
    spec = small_job("load", "true", 0.01)
    spec["roles"]["main"]["tasks"] = RUNS
    job = finished(server, spec)

    def load():
        if server.process.poll() is None:
            server.kill()
        for number in range(RUNS):
            output = server.output_directory(job, f"main-{number}")
            shutil.rmtree(output.with_suffix(".metrics"), ignore_errors=True)
            if not (output / "logs").exists():
                shutil.copytree(logs / f"run-{number}", output / "logs")
            (server.data / "reading" / f"{job}:main-{number}:1").write_text("{}")
        began = time.perf_counter()
        server.spawn()
        wait_until(lambda: everything_was_read(server), WITHIN_S, "all points", every_s=0.002)
        took = time.perf_counter() - began
        server.wait_until_healthy()
        series = json.loads(server.api().ask("GET", f"/api/v1/jobs/{job}/metrics?source=events"))["series"]
        check(sum(it["points"] for it in series) == SCALARS, f"there are {sum(it['points'] for it in series)} points of {SCALARS}")
        return took

    return load


def everything_was_read(server):
    return not any((server.data / "reading").iterdir())


def finished(server, spec):
    api = server.api()
    job = api.submit(spec, spec["name"])["id"]
    wait_until(lambda: api.job(job)["state"] == "succeeded", WITHIN_S, f"{spec['name']} to succeed", every_s=0.05)
    wait_until(lambda: everything_was_read(server), WITHIN_S, "all points to be read", every_s=0.01)
    return job


# ---- one long curve

LONG = f"""awk 'BEGIN {{ print "step,loss"; for (i = 0; i < {LONG_POINTS}; i++) printf "%d,%.6f\\n", i, sin(i / 1000) + i % 17 / 100 }}' > /output/metrics.csv"""


def long_curve(server):
    job = finished(server, small_job("long", LONG, 1))
    api = server.api()
    dice = random.Random(7)
    questions = [{}, {"x": "time"}, {"buckets": 4000}, {"to": LONG_POINTS // 2}]
    while len(questions) < VIEWS:
        first, width = dice.randrange(LONG_POINTS), int(10 ** dice.uniform(1, 7))
        questions.append({"from": first, "to": first + width, "buckets": dice.choice([200, 1000, 2000])})
    took = []
    for question in questions:
        path = f"/api/v1/jobs/{job}/metrics/points?" + urllib.parse.urlencode({"name": "loss", "buckets": 1000} | question)
        began = time.perf_counter()
        text = api.ask("GET", path)
        took.append(time.perf_counter() - began)
        answer = json.loads(text)
        check(answer["curves"][0].get("points") is not None or answer["curves"][0].get("buckets") is not None, f"{path} shows nothing")
    return summary(took) | {"values": took}


# ---- points that come fast

FAST = f"""
import json, sys, time
lines = {WRITTEN_PER_S // VALUES_A_LINE // 10}
began, step = time.monotonic(), 0
with open("/output/metrics.jsonl", "w", buffering=1 << 20) as out:
    for turn in range({FAST_S} * 10):
        for _ in range(lines):
            step += 1
            out.write('{{"step": %d' % step)
            for name in range({VALUES_A_LINE}):
                out.write(', "v%d": %.4f' % (name, step % 1000 / 7))
            out.write('}}\\n')
        out.flush()
        time.sleep(max(0, began + (turn + 1) / 10 - time.monotonic()))
print("took", time.monotonic() - began)
"""


def fast_points(server, rounds):
    """The slowest round is the one that counts."""
    each = [fast_round(server, f"fast-{number}") for number in range(rounds)]
    return {"per_s": summary([it["read_per_s"] for it in each]), "behind_s": max(it["behind_s"] for it in each), "complete": min(it["complete"] for it in each)}


def fast_round(server, name):
    api = server.api()
    job = api.submit(small_job(name, ["python3", "-c", FAST], 1), name)["id"]
    readers = [Reader(server, job) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    wait_until(lambda: api.job(job)["state"] == "succeeded", WITHIN_S, f"{name} to succeed", every_s=0.05)
    ended = time.perf_counter()
    wait_until(lambda: everything_was_read(server), WITHIN_S, "all points to be read", every_s=0.01)
    behind = time.perf_counter() - ended
    for reader in readers:
        reader.join(WITHIN_S)
    writing_s = float(api.log(job).decode().split()[-1])
    total = WRITTEN_PER_S * FAST_S
    series = json.loads(api.ask("GET", f"/api/v1/jobs/{job}/metrics"))["series"]
    check(sum(it["points"] for it in series if it["source"] == "file") == total, "points are missing")
    return {"read_per_s": total / (writing_s + behind), "behind_s": behind, "complete": sum(it.seen == total for it in readers)}


class Reader(threading.Thread):
    """Follows every curve of the job and counts what it is told of."""

    def __init__(self, server, job):
        super().__init__(daemon=True)
        self.server, self.job, self.seen = server, job, 0

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=WITHIN_S)
        connection.request("GET", f"/api/v1/jobs/{self.job}/metrics/follow?source=file&buckets=20", headers={"Authorization": f"Bearer {self.server.token()}"})
        answer, kind = connection.getresponse(), ""
        for line in answer:
            line = line.decode().rstrip()
            if line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: ") and kind == "points":
                for news in json.loads(line[6:]):
                    self.seen += sum(it["count"] for it in news.get("buckets") or []) + len(news.get("points") or [])
            elif kind == "end":
                return


def check(holds, what):
    if not holds:
        raise RuntimeError(what)


def table(result):
    rows = [[f"{SCALARS:,} scalars in {RUNS} runs, {name}", short(it["median"], "s"), f"{short(it['least'], 's')} – {short(it['most'], 's')}", it["rounds"]] for name, it in result.get("load", {}).items()]
    if views := result.get("views"):
        rows.append([f"a view of {LONG_POINTS:,} points", short(views["median"], "s"), f"{short(views['least'], 's')} – {short(views['most'], 's')}", views["rounds"]])
    if fast := result.get("fast"):
        per_s = fast["per_s"]
        rows.append([f"points a second with {READERS} readers", short(per_s["median"]), f"{short(per_s['least'])} – {short(per_s['most'])}", per_s["rounds"]])
        rows.append(["all read after the last was written", short(fast["behind_s"], "s"), "at most", per_s["rounds"]])
    return "Curves", ["", "median", "spread", "rounds"], rows


def verdicts(result):
    for name, theirs in result.get("load", {}).items():
        if name != "trainmaster":
            ratio = theirs["median"] / result["load"]["trainmaster"]["median"]
            yield f"event files: at least 1.0 × {name}", ratio >= 1.0, f"{ratio:.2f} ×"
    if views := result.get("views"):
        yield f"any view of {LONG_POINTS:,} points within 50 ms", views["most"] <= VIEW_S_MAX, short(views["most"], "s")
    if fast := result.get("fast"):
        least = fast["per_s"]["least"]
        yield f"{FAST_POINTS_PER_S:,} points a second while {READERS} readers follow", least >= FAST_POINTS_PER_S, f"{least:,.0f}/s"
        yield "every reader was told of every point", fast["complete"] == READERS, f"{fast['complete']} of {READERS}"
