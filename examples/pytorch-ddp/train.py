"""Learns to read handwritten digits with PyTorch's DistributedDataParallel, over gloo, on any number of ranks.

MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE say who is where; PyTorch reads them by itself.
"""

import datetime
import os

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

EPOCHS = int(os.environ.get("EPOCHS", "20"))
BATCH_SIZE = int(os.environ.get("BATCH_SIZE", "16"))
PEERS_WITHIN_S = int(os.environ.get("PEERS_WITHIN_S", "120"))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=PEERS_WITHIN_S))
    rank, world = dist.get_rank(), dist.get_world_size()
    print(f"This is rank {rank} of {world}", flush=True)
    (pictures, digits), test = load_share(rank, world)
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    for epoch in range(1, EPOCHS + 1):
        order = torch.from_numpy(np.random.default_rng(seed=epoch).permutation(len(digits)))
        for batch in order.split(BATCH_SIZE):
            optimizer.zero_grad()
            cost = torch.nn.functional.cross_entropy(model(pictures[batch]), digits[batch])
            cost.backward()  # Here the ranks exchange their gradients.
            optimizer.step()
        print(f"Epoch: {epoch} of {EPOCHS},  Cost: {cost.item():.4f}", flush=True)
    with torch.no_grad():
        right = model.module(test[0]).argmax(dim=1) == test[1]
    print(f"Test-Accuracy: {right.float().mean().item():.4f}")
    dist.destroy_process_group()
    print("done", flush=True)


def load_share(rank, world):
    from sklearn.datasets import load_digits

    pictures, digits = load_digits(return_X_y=True)
    pictures, digits = torch.from_numpy((pictures / 16).astype(np.float32)), torch.from_numpy(digits.astype(np.int64))
    order = np.random.default_rng(seed=2).permutation(len(digits))
    test, train = order[:360], order[360:]
    # Equal shares, so that no rank waits for a step that another does not take.
    share = train[: len(train) // world * world][rank::world]
    return (pictures[share], digits[share]), (pictures[test], digits[test])


if __name__ == "__main__":
    main()
