"""From typing the command to its end: one `true` through each command line."""

import subprocess

from measure import seconds, short, summary, take_turns

ROUNDS = 15
RAY_ROUNDS = 3


def run(house):
    """`house` holds our server and the peers that are up."""
    sides = {"trainmaster": lambda: seconds(lambda: run_one_of_ours(house))}
    slow = {}
    for peer in house.peers.values():
        if hasattr(peer, "run_one"):
            (slow if peer.name == "Ray" else sides)[peer.name] = lambda peer=peer: seconds(peer.run_one)
    for side in sides.values():
        side()  # Warm caches are what a second command meets; the first is not counted.
    values = take_turns(sides, ROUNDS) | take_turns(slow, RAY_ROUNDS)
    return {name: summary(each) for name, each in values.items()}


def run_one_of_ours(house):
    command = [house.binary, "run", "--", "true"]
    subprocess.run(command, env=house.server.environment(), cwd=house.empty, stdout=subprocess.DEVNULL, check=True)


def table(result):
    ours = result["trainmaster"]["median"]
    rows = [
        [name, short(it["median"], "s"), f"{short(it['least'], 's')} – {short(it['most'], 's')}", it["rounds"], f"{it['median'] / ours:.2f} ×"]
        for name, it in result.items()
    ]
    return "Submit-to-exit of `true` through the command line", ["", "median", "spread", "rounds", "of ours"], rows


def verdicts(result):
    if "Slurm" in result:
        ratio = result["trainmaster"]["median"] / result["Slurm"]["median"]
        yield "submit-to-exit at most 1.0 × srun", ratio <= 1.0, f"{ratio:.2f} ×"
