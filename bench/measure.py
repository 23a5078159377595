"""Rounds, medians and tables. Sides take turns within one run, so that a busy minute hurts all alike."""

import os
import statistics
import sys
import time

ROUNDS = 5


class Missing(Exception):
    """A peer cannot take part; the text says why, and is printed in its row."""


def take_turns(sides, rounds=ROUNDS):
    """Runs every side once per round, each round beginning with another side. Returns name → values."""
    values = {name: [] for name in sides}
    for turn in range(rounds):
        for name in order_of(list(sides), turn):
            values[name].append(sides[name]())
            print(f"  round {turn + 1}: {name} {short(values[name][-1])}", file=sys.stderr, flush=True)
    return values


def order_of(names, turn):
    """What one side leaves behind is borne by whoever comes next, so everyone comes after everyone else as often: after as many rounds as
    there are sides, or twice as many where their number is odd."""
    count = len(names)
    zigzag = [step // 2 if step % 2 == 0 else -(step // 2 + 1) for step in range(count)]
    order = [names[(turn - step) % count] for step in zigzag]
    return order[::-1] if count % 2 and turn // count % 2 else order


def on_a_clean_disk(side):
    """What somebody has written before and the disk has not taken yet slows down whoever writes next."""

    def once():
        os.sync()
        return side()

    return once


def wanted(parts, name):
    """Whether a part of a case is asked for; without any asked for all are."""
    return not parts or name in parts


def seconds(action):
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def summary(values):
    return {"median": statistics.median(values), "least": min(values), "most": max(values), "rounds": len(values), "values": list(values)}


def wait_until(ready, within_s, what, every_s=0.005):
    deadline = time.monotonic() + within_s
    while True:
        answer = ready()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {within_s} s for {what}")
        time.sleep(every_s)


def print_table(title, columns, rows):
    print(f"\n{title}")
    cells = [columns] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(columns))]
    for at, row in enumerate(cells):
        first, rest = row[0].ljust(widths[0]), [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  " + "  ".join([first, *rest]).rstrip())
        if at == 0:
            print("  " + "  ".join("-" * width for width in widths))
    print(flush=True)


def short(value, unit=""):
    """Three figures that matter: 0.00312 → 3.12m, 791.2 → 791."""
    if value == 0:
        return f"0{unit}"
    for factor, prefix in ((1, ""), (1e3, "m"), (1e6, "µ")):
        if abs(value) * factor >= 1:
            scaled = value * factor
            figures = 0 if scaled >= 100 else 1 if scaled >= 10 else 2
            return f"{scaled:.{figures}f} {prefix}{unit}".rstrip() if prefix or unit else f"{scaled:.{figures}f}"
    return f"{value:.2g}{unit}"


def processes_under(root):
    """The process and all its descendants."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    parents[int(entry)] = int(file.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue  # It ended while we looked.
    family, grown = {root}, True
    while grown:
        found = {pid for pid, parent in parents.items() if parent in family} - family
        family |= found
        grown = bool(found)
    return sorted(family)


def pss_bytes(pids):
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                total += sum(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
        except OSError:
            continue
    return total
