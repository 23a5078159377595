#!/usr/bin/env python3
"""Kills what must not matter, at random, and counts what was lost.

Three trials, each on a fresh server:

  submissions   four clients submit by HTTP with idempotency keys, and repeat what was not answered,
                while the server is killed at random moments. Afterwards the clients' history is held
                against the server's list: lost, duplicated, ids given out twice, runs that ran twice.
  lines         tasks print numbered lines while the server is killed. Afterwards: the same processes,
                every byte once, the right exit codes.
  supervisors   supervisors are killed at random. Afterwards: one true ending or an honest `unknown`
                for every attempt, and never two attempts of a task alive at once.

    python3 bench/crash.py --jobs 2000 --kills 50 --seed 7 --bin target/debug/trainmaster

The verdict is the last line, and the exit code.
"""

import argparse
import random
import sys

import crash_lines
import crash_peers
import crash_submissions
import crash_supervisors
import ours
from measure import print_table

COLUMNS = ["", "acknowledged", "kills", "lost", "duplicated", "ids reused", "restart p50", "restart max"]


def main():
    asked = arguments()
    result, skipped = run_alone(asked)
    print_table(*table(result))
    for peer, why in skipped.items():
        print(f"  {peer} skipped: {why}")
    verdict = list(verdicts(result))
    for text, kept, shown in verdict:
        print(f"{'kept' if kept else 'BROKEN':<7}{text}: {shown}")
    good = all(kept for _, kept, _ in verdict)
    print(f"verdict: {'nothing was lost' if good else 'BROKEN'} (seed {result['seed']})")
    sys.exit(0 if good else 1)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--tasks", type=int, default=None, help="tasks that print lines; 50 if not given, fewer in a small run")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--bin", type=ours.program, default=ours.release_binary())
    parser.add_argument("--peers", action="store_true", help="also Slurm and pueue")
    return parser.parse_args()


def run_alone(asked):
    seed = asked.seed if asked.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    result = {"seed": seed}
    print(f"submissions: {asked.jobs} jobs, {asked.kills} kills", flush=True)
    result["submissions"] = crash_submissions.run(asked.bin, asked.jobs, asked.kills, chance)
    size = max(5, min(50, getattr(asked, "tasks", None) or asked.jobs // 40))
    print(f"lines: {size} tasks", flush=True)
    result["lines"] = crash_lines.run(asked.bin, tasks=size, kills=max(4, size * 2 // 5), chance=chance)
    print(f"supervisors: {size} tasks", flush=True)
    result["supervisors"] = crash_supervisors.run(asked.bin, tasks=size, chance=chance)
    skipped = {}
    if getattr(asked, "peers", True):
        result["peers"], skipped = crash_peers.run(chance, getattr(asked, "without", []))
    return result, skipped


def table(result):
    def row(name, it):
        restart = [f"{it[key]:.2f} s" for key in ("restart_median_s", "restart_most_s")]
        return [name, it["acknowledged"], it["kills"], it["lost"], it["duplicated"], it["ids_reused"], *restart]

    rows = [row("trainmaster", result["submissions"])] + [row(name, it) for name, it in result.get("peers", {}).items()]
    return f"Submissions while the server is killed (seed {result['seed']})", COLUMNS, rows


def verdicts(result):
    for name, faults in (("submissions", crash_submissions.FAULTS), ("lines", crash_lines.FAULTS), ("supervisors", crash_supervisors.FAULTS)):
        it = result[name]
        told = [*faults, *(extra for extra in ("streams_interleaved_otherwise", "unknown") if extra in it)]
        shown = ", ".join(f"{it[fault]} {fault.replace('_', ' ')}" for fault in told)
        yield f"{name} through {it['kills']} kills", all(it[fault] == 0 for fault in faults), f"{it['count']} {it['counted']}: {shown}"


if __name__ == "__main__":
    main()
