"""How long a freed slot stays empty: tasks of 50 ms on two slots.

Every task notes on its output when it began and when it ended. With two slots, the third task takes
the slot that was freed first, and so on; the gap is the time from that ending to that beginning.
The notes are made by the task itself with `date`, so about 2 ms of every gap are the shell's own.
"""

import time
import uuid
from pathlib import Path

from measure import short, summary, take_turns, wait_until
from ours import array, half_of_the_machine
from throughput import nothing_waits

TASKS = 200
TASKS_OF = {"HyperQueue": 200, "task-spooler": 200, "pueue": 30, "Slurm": 20}
SLOTS = 2
LINE = "date +%s%N; sleep 0.05; date +%s%N"


def run(house, rounds):
    from_records, sides = [], {}

    def ours():
        outside, inside = gaps_of_ours(house.server)
        from_records.append(inside)
        return outside

    sides["trainmaster"] = ours
    makers = {"HyperQueue": hyperqueue, "task-spooler": spooler, "pueue": pueue, "Slurm": slurm}
    for name, maker in makers.items():
        if name in house.peers:
            sides[name] = lambda maker=maker, name=name: middle_gap(maker(house.peers[name], TASKS_OF[name]))
    result = {name: summary(each) for name, each in take_turns(sides, rounds).items()}
    result["trainmaster, by its own records"] = summary(from_records)
    return result


def middle_gap(outputs):
    spans = [tuple(int(word) / 1e9 for word in output.split()[:2]) for output in outputs]
    return median_gap(spans)


def median_gap(spans):
    """The median gap of (began, ended) spans on our slots."""
    began, ended = sorted(span[0] for span in spans), sorted(span[1] for span in spans)
    gaps = [began[at] - ended[at - SLOTS] for at in range(SLOTS, len(began))]
    return sorted(gaps)[len(gaps) // 2]


def gaps_of_ours(server):
    api = server.api()
    spec = array(f"nap-{uuid.uuid4().hex[:8]}", LINE, half_of_the_machine(api), TASKS)
    job = api.submit(spec, key=uuid.uuid4().hex)["id"]
    wait_until(lambda: nothing_waits(api), 120, "the naps", every_s=0.02)
    runs = api.job(job)["runs"]
    outputs = [(server.run_directory(job, run["task"]) / "output.log").read_text() for run in runs]
    return middle_gap(outputs), median_gap([(run["started_at_ms"] / 1000, run["ended_at_ms"] / 1000) for run in runs])


def hyperqueue(peer, tasks):
    place = peer.run(["sh", "-c", LINE], tasks)[1]
    return [path.read_text() for path in place.glob("*.out")]


def spooler(peer, tasks):
    added = [peer.add("sh", "-c", LINE) for _ in range(tasks)]
    peer.wait_for_all()
    outputs = [peer.output_file(task).read_text() for task in added]
    peer.clean()
    return outputs


def pueue(peer, tasks):
    added = [peer.add(LINE) for _ in range(tasks)]
    peer.wait_for_all()
    outputs = [peer.output_of(task) for task in added]
    peer.clean()
    return outputs


def slurm(peer, tasks):
    place = Path(peer.home / f"naps-{time.monotonic_ns()}")
    place.mkdir()
    peer.submit_array(LINE, tasks, f"{place}/%a")
    wait_until(peer.is_idle, 300, "Slurm's naps", every_s=0.05)
    wait_until(lambda: len(list(place.iterdir())) == tasks, 10, "Slurm's output")
    return [path.read_text() for path in place.iterdir()]


def table(result):
    ours = result["trainmaster"]["median"]
    rows = [
        [name, short(it["median"], "s"), f"{short(it['least'], 's')} – {short(it['most'], 's')}", it["rounds"], f"{it['median'] / ours:.2f} ×"]
        for name, it in result.items()
    ]
    return "How long a freed slot stays empty (median of 50 ms tasks on two slots)", ["", "median", "spread", "rounds", "of ours"], rows


def verdicts(result):
    gap = result["trainmaster"]["median"]
    yield "a freed slot stays empty at most 10 ms", gap <= 0.010, short(gap, "s")
