#!/usr/bin/env python3
"""Measures Trainmaster beside its peers on this machine, in one run, and says which promises hold.

    make bench                           everything
    make bench ARGS="latency idle"       only these
    make bench ARGS="--rounds 9"         more rounds
    make bench ARGS="--without ray"      without a peer
"""

import argparse
import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import big_list
import carry
import crash
import enclosure
import escape
import first_collective
import first_line
import idle
import latency
import logs
import metrics
import ours
import refill
import search
import throughput
from measure import ROUNDS, Missing, print_table
from peers.hyperqueue import HyperQueue
from peers.pueue import Pueue
from peers.ray import Ray
from peers.slurm import Slurm
from peers.spooler import Spooler

CASES = {"latency": latency, "throughput": throughput, "refill": refill, "idle": idle, "escape": escape, "big_list": big_list, "first_collective": first_collective, "first_line": first_line, "carry": carry, "logs": logs, "search": search, "metrics": metrics, "crash": crash}
PEERS = {"task-spooler": Spooler, "Slurm": Slurm, "pueue": Pueue, "HyperQueue": HyperQueue, "Ray": Ray, "Slurm, 64 CPUs": lambda: Slurm(cpus=64)}


def main():
    asked = arguments()
    enclosure.enter()
    facts = machine(asked.bin)
    print("\n".join(f"{name}: {value}" for name, value in facts.items()), flush=True)
    results, promises = {}, []
    for name in asked.cases or CASES:
        case = CASES[name]
        print(f"\n== {name}", flush=True)
        result, skipped = run_case(case, name, asked)
        results[name] = {"result": result, "skipped": skipped}
        print_table(*case.table(result))
        for peer, why in skipped.items():
            print(f"  {peer} skipped: {why}")
        promises += case.verdicts(result)
    print_table("Promises", ["", "measured", ""], [[text, shown, "kept" if kept else "BROKEN"] for text, kept, shown in promises])
    save(facts, results, promises)
    sys.exit(0 if all(kept for _, kept, _ in promises) else 1)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--without", action="append", default=[], type=str.lower, metavar="PEER", help=", ".join(PEERS))
    parser.add_argument("--bin", type=ours.program, default=ours.release_binary(), help="the program to measure")
    parts = [part for case in CASES.values() for part in getattr(case, "PARTS", ())]
    parser.add_argument("--part", action="append", default=[], choices=parts, metavar="PART", help="only some of a case: " + "; ".join(f"{name}: {', '.join(case.PARTS)}" for name, case in CASES.items() if hasattr(case, "PARTS")))
    parser.add_argument("--jobs", type=int, default=20_000, help="crash: how many submissions")
    parser.add_argument("--kills", type=int, default=500, help="crash: how many kills of the server")
    parser.add_argument("--seed", type=int, default=None, help="crash: to repeat a run")
    parser.add_argument("--log-bytes", type=int, default=2 << 30, help="logs: how much one task writes, such as 10000000000")
    parser.add_argument("--short-tasks", type=int, default=5_000, help="logs: how many, such as 100000")
    parser.add_argument("--search-jobs", type=int, default=1_000, help="search: how many jobs")
    parser.add_argument("--search-bytes", type=int, default=2_000_000_000, help="search: how much all logs have")
    return parser.parse_args()


def run_case(case, name, asked):
    """Every case gets a fresh server and fresh peers, so that none lives off another's leavings."""
    if hasattr(case, "run_alone"):
        return case.run_alone(asked)
    with contextlib.ExitStack() as stack:
        house = SimpleNamespace(binary=str(asked.bin), empty=stack.enter_context(empty_directory()), peers={})
        house.server = stack.enter_context(ours.server(asked.bin))
        skipped = {}
        for peer, make in peers_for(name, asked).items():
            try:
                house.peers[peer] = stack.enter_context(make())
            except (Missing, OSError, RuntimeError, TimeoutError) as why:
                skipped[peer] = str(why)
        result = case.run(house) if name == "latency" else case.run(house, asked.rounds)
        return result, skipped


def peers_for(case, asked):
    wanted = {
        "latency": ["task-spooler", "Slurm", "pueue", "Ray"],
        "throughput": ["task-spooler", "Slurm", "Slurm, 64 CPUs", "pueue", "HyperQueue"],
        "refill": ["task-spooler", "Slurm", "pueue", "HyperQueue"],
        "idle": ["task-spooler", "Slurm", "pueue", "Ray"],
        "escape": ["task-spooler", "Slurm", "pueue"],
    }.get(case, [])
    return {name: PEERS[name] for name in wanted if name.split(",")[0].lower() not in asked.without}


@contextlib.contextmanager
def empty_directory():
    path = tempfile.mkdtemp(prefix="empty-bench.")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def machine(binary):
    version = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {
        "program": version,
        "at": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg()),
    }


def save(facts, results, promises):
    place = Path(__file__).resolve().parent / "results"
    place.mkdir(exist_ok=True)
    path = place / time.strftime("%Y%m%d-%H%M%S.json")
    kept = [{"promise": text, "kept": bool(kept), "measured": shown} for text, kept, shown in promises]
    path.write_text(json.dumps({"machine": facts, "results": results, "promises": kept}, indent=1))
    print(f"every value is in {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
