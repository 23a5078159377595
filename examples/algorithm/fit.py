"""Fits a line to points by gradient descent. It knows nothing of jobs: everything comes in flags."""

import argparse
import json
import pathlib
import random

flags = argparse.ArgumentParser()
flags.add_argument("--data_url", type=pathlib.Path, required=True)
flags.add_argument("--train_url", type=pathlib.Path)
flags.add_argument("--lr", type=float, required=True)
flags.add_argument("--steps", type=int, required=True)
flags.add_argument("--loss", choices=["squares", "distances"], required=True)
flags.add_argument("--seed", type=int, required=True)
args = flags.parse_args()

points = []
for file in sorted(args.data_url.glob("*.txt")):
    points += [tuple(map(float, line.split())) for line in file.read_text().splitlines() if line.strip()]

random.seed(args.seed)
slope, offset = random.random(), random.random()
for step in range(1, args.steps + 1):
    errors = [slope * x + offset - y for x, y in points]
    if args.loss == "distances":
        pulls = [(error > 0) - (error < 0) for error in errors]
        loss = sum(map(abs, errors)) / len(points)
    else:
        pulls = [2 * error for error in errors]
        loss = sum(error * error for error in errors) / len(points)
    slope -= args.lr * sum(pull * x for pull, (x, _) in zip(pulls, points)) / len(points)
    offset -= args.lr * sum(pulls) / len(points)
    if step % 100 == 0:
        print(f"step: {step} loss: {loss:.6f}", flush=True)

print(f"y = {slope:.2f} x + {offset:.2f} from {len(points)} points", flush=True)
if args.train_url:
    (args.train_url / "line.json").write_text(json.dumps({"slope": slope, "offset": offset}))
