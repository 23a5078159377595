"""Learns to read handwritten digits with JAX, on any number of processes.

Every process holds its own share of the pictures and the whole model. The pictures of all processes
together are one array, spread over them; so the mean of the cost is a mean over everyone, and JAX makes
the processes exchange what they need for it.
"""

import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

STEPS = int(os.environ.get("STEPS", "150"))
LEARNING_RATE = float(os.environ.get("LEARNING_RATE", "1.0"))
PEERS_WITHIN_S = int(os.environ.get("PEERS_WITHIN_S", "120"))
LOG_EVERY_STEPS = 25

PIXELS, HIDDEN, DIGITS = 64, 64, 10


def main():
    meet()
    rank, world = jax.process_index(), jax.process_count()
    print(f"This is process {rank} of {world}, with {jax.local_device_count()} device", flush=True)
    (pictures, digits), test = load_share(rank, world)
    mesh = Mesh(jax.devices(), ("everyone",))
    spread = NamedSharding(mesh, PartitionSpec("everyone"))
    pictures = jax.make_array_from_process_local_data(spread, pictures)
    digits = jax.make_array_from_process_local_data(spread, digits)
    model = jax.device_put(new_model(), NamedSharding(mesh, PartitionSpec()))
    for step in range(1, STEPS + 1):
        model, cost = improve(model, pictures, digits)
        if step == 1 or step % LOG_EVERY_STEPS == 0:
            print(f"Step: {step} of {STEPS},  Cost: {float(cost):.4f}", flush=True)
    # Every process has the whole model, so each can try it alone.
    mine = jax.tree.map(lambda it: np.asarray(it.addressable_data(0)), model)
    right = np.asarray(scores(mine, test[0])).argmax(axis=1) == test[1]
    print(f"Test-Accuracy: {right.mean():.4f}")
    print("done", flush=True)


def meet():
    """The address is in JAX_COORDINATOR_ADDRESS, where JAX looks for it by itself."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
        process_id=int(os.environ["JAX_PROCESS_ID"]),
        initialization_timeout=PEERS_WITHIN_S,
        heartbeat_timeout_seconds=10,
    )


def new_model():
    random = np.random.default_rng(seed=1)
    layer = lambda width, height: (random.normal(0, width**-0.5, (width, height)).astype(np.float32), np.zeros(height, np.float32))
    return [layer(PIXELS, HIDDEN), layer(HIDDEN, DIGITS)]


def scores(model, pictures):
    (first, first_bias), (second, second_bias) = model
    return jnp.tanh(pictures @ first + first_bias) @ second + second_bias


def cost_of(model, pictures, digits):
    likely = jax.nn.log_softmax(scores(model, pictures))
    return -jnp.take_along_axis(likely, digits[:, None], axis=1).mean()


@jax.jit
def improve(model, pictures, digits):
    cost, gradient = jax.value_and_grad(cost_of)(model, pictures, digits)
    return jax.tree.map(lambda it, slope: it - LEARNING_RATE * slope, model, gradient), cost


def load_share(rank, world):
    from sklearn.datasets import load_digits

    pictures, digits = load_digits(return_X_y=True)
    pictures, digits = (pictures / 16).astype(np.float32), digits.astype(np.int32)
    order = np.random.default_rng(seed=2).permutation(len(digits))
    test, train = order[:360], order[360:]
    # Equal shares: together they are one array.
    share = train[: len(train) // world * world][rank::world]
    return (pictures[share], digits[share]), (pictures[test], digits[test])


if __name__ == "__main__":
    main()
