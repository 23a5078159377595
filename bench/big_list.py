"""A hundred thousand finished jobs: how long a page takes, and what the server holds in memory.

One real job is run; then its rows are copied in the database, with other names, states and times, while
the server is down. So the rows are as the server itself writes them.
"""

import random
import sqlite3
import time

from measure import summary, wait_until
from ours import Server, small_job

JOBS = 100_000
NAMES = 500
ROUNDS = 40
MEGABYTE = 1_000_000
STATES = ["succeeded"] * 80 + ["failed"] * 15 + ["stopped"] * 5

# The tables that hold rows of a job, and the column that names it.
TABLES = {"job": "id", "job_plan": "job", "run": "job", "job_tag": "job", "event": "job"}

LAST_VERSION = "INSERT OR REPLACE INTO job_version (owner, name, last) VALUES (?, ?, ?)"

QUESTIONS = {
    "newest page": {"limit": 50},
    "failed ones": {"limit": 50, "state": "failed"},
    "one name": {"limit": 50, "name": "digits-7"},
    "one tag": {"limit": 50, "tag": "tag-3"},
    "words in the name": {"limit": 50, "q": "digits-12"},
    "words that nothing has": {"limit": 50, "q": "no such words"},
    "running ones (there are none)": {"limit": 50, "state": "running"},
}


def run_alone(asked):
    server = Server(asked.bin)
    try:
        server.start()
        template = finished_job(server)
        server.stop()
        copy_rows(server.data / "store.db", template, getattr(asked, "list_jobs", JOBS))
        started_s = server.start()
        return measure(server, started_s), {}
    finally:
        server.remove()


def finished_job(server):
    api = server.api()
    job = api.submit(small_job("digits-0", ["true"], 0.5, tags=["tag-0"], description="a job like many"), "template")["id"]
    wait_until(lambda: api.job(job)["state"] == "succeeded", 60, "the first job")
    return job


def copy_rows(path, template, count):
    chance = random.Random(1)
    store = sqlite3.connect(path)
    store.execute("PRAGMA synchronous = OFF")
    rows = {table: read_rows(store, table, column, template) for table, column in TABLES.items()}
    now_ms = int(time.time() * 1000)
    event_seq = store.execute("SELECT max(seq) FROM event").fetchone()[0]
    # The newest id is the template's; copies lie in the month before it.
    for number in range(1, count):
        at_ms = now_ms - 60_000 - (count - number) * 26_000
        job = job_id(at_ms, chance)
        state = chance.choice(STATES)
        name, version = f"digits-{number % NAMES}", number // NAMES + 2
        times = {"created_at_ms": at_ms, "queued_at_ms": at_ms, "started_at_ms": at_ms, "ended_at_ms": at_ms + 5000}
        first = rows["job"][0]
        texts = {column: first[column].replace("digits-0", name).replace("tag-0", f"tag-{number % 50}") for column in ("search", "tags")}
        insert(store, "job", first | times | texts | {"id": job, "name": name, "version": version, "state": state})
        for table in ("job_plan", "run"):
            for row in rows.get(table, []):
                insert(store, table, row | {"job": job})
        insert(store, "job_tag", {"job": job, "tag": f"tag-{number % 50}"})
        for row in rows["event"]:
            event_seq += 1
            insert(store, "event", row | {"job": job, "seq": event_seq, "at_ms": at_ms})
    for number in range(NAMES):
        store.execute(LAST_VERSION, (rows["job"][0]["owner"], f"digits-{number}", count // NAMES + 2))
    store.execute("UPDATE meta SET value = ? WHERE name = 'event_seq'", (event_seq,))
    store.commit()
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()


def read_rows(store, table, column, job):
    answer = store.execute(f"SELECT * FROM {table} WHERE {column} = ?", (job,))
    names = [part[0] for part in answer.description]
    return [dict(zip(names, row)) for row in answer]


def insert(store, table, row):
    marks = ", ".join("?" * len(row))
    store.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def job_id(at_ms, chance):
    """As the server makes them: a UUID of version 7, so that ids sort by time."""
    tail = chance.getrandbits(74)
    return f"job-{at_ms:012x}7{tail >> 62:03x}{8 | (tail >> 60 & 3):x}{tail & (1 << 60) - 1:015x}"


def measure(server, started_s):
    api = server.api()
    result = {"started_s": started_s, "pages": {}}
    for name, question in QUESTIONS.items():
        took = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            page = api.page(**question)
            took.append(time.perf_counter() - began)
        result["pages"][name] = {**summary(took), "jobs": len(page["jobs"])}
    began = time.perf_counter()
    result["jobs"] = len(api.all_jobs())
    result["whole_list_s"] = time.perf_counter() - began
    status = (line.split() for line in open(f"/proc/{server.process.pid}/status"))
    result["rss_bytes"] = next(int(words[1]) * 1024 for words in status if words[0] == "VmRSS:")
    return result


def table(result):
    rows = [[name, it["jobs"], f"{it['median'] * 1000:.1f} ms", f"{it['most'] * 1000:.1f} ms"] for name, it in result["pages"].items()]
    rows.append(["the whole list in pages of 500", result["jobs"], f"{result['whole_list_s'] * 1000:.0f} ms", ""])
    rows.append(["memory (RSS) after that", "", f"{result['rss_bytes'] / MEGABYTE:.0f} MB", ""])
    rows.append(["start of the server", "", f"{result['started_s'] * 1000:.0f} ms", ""])
    return f"{result['jobs']} finished jobs in the database", ["", "jobs", "median", "slowest"], rows


def verdicts(result):
    slowest = max(result["pages"].values(), key=lambda it: it["median"])["median"]
    yield f"a page of {result['jobs']} jobs at most 20 ms", slowest <= 0.020, f"{slowest * 1000:.1f} ms"
    yield "server memory at most 150 MB", result["rss_bytes"] <= 150 * MEGABYTE, f"{result['rss_bytes'] / MEGABYTE:.0f} MB"
