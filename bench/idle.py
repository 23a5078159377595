"""What it costs when nothing runs: processes, memory, the time until the API answers, the binary's size."""

from pathlib import Path

from measure import processes_under, pss_bytes, summary
from ours import Server

MEGABYTE = 1_000_000


def run(house, rounds):
    ready, memory, processes = [], [], []
    for _ in range(rounds):
        server = Server(house.binary)
        try:
            server.start()  # The first start makes the database; a person meets the second one every day.
            server.stop()
            ready.append(server.start())
            family = processes_under(server.process.pid)
            processes.append(len(family))
            memory.append(pss_bytes(family))
        finally:
            server.remove()
    result = {
        "trainmaster": {
            "ready": summary(ready),
            "pss_bytes": summary(memory),
            "processes": max(processes),
            "binary_bytes": Path(house.binary).stat().st_size,
        }
    }
    for peer in house.peers.values():
        result[peer.name] = {"pss_bytes": summary([pss_bytes(peer.processes())]), "processes": len(peer.processes())}
    return result


def table(result):
    def row(name, it):
        ready = f"{it['ready']['median'] * 1000:.0f} ms" if "ready" in it else ""
        binary = f"{it['binary_bytes'] / MEGABYTE:.1f} MB" if "binary_bytes" in it else ""
        return [name, it["processes"], f"{it['pss_bytes']['median'] / MEGABYTE:.1f} MB", ready, binary]

    return "Idle", ["", "processes", "PSS", "API answers after", "binary"], [row(name, it) for name, it in result.items()]


def verdicts(result):
    ours = result["trainmaster"]
    yield "idle: one process", ours["processes"] == 1, str(ours["processes"])
    yield "idle: at most 40 MB PSS", ours["pss_bytes"]["median"] <= 40 * MEGABYTE, f"{ours['pss_bytes']['median'] / MEGABYTE:.1f} MB"
    yield "the API answers within 0.3 s", ours["ready"]["median"] <= 0.3, f"{ours['ready']['median']:.3f} s"
    yield "binary at most 40 MB", ours["binary_bytes"] <= 40 * MEGABYTE, f"{ours['binary_bytes'] / MEGABYTE:.1f} MB"
