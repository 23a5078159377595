"""Learns to read handwritten digits with Keras on any number of workers.

TensorFlow's MultiWorkerMirroredStrategy reads from TF_CONFIG where everyone is. Every worker holds the whole model and
its own share of the pictures; after each batch the workers add up their gradients, so that all models stay the same.
The loop is written out because `fit` of Keras 3 does not work on more than one worker.
"""

import json
import os
import socket
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

EPOCHS = int(os.environ.get("EPOCHS", "15"))
BATCH_SIZE = int(os.environ.get("BATCH_SIZE", "32"))
PEERS_WITHIN_S = float(os.environ.get("PEERS_WITHIN_S", "120"))


def main():
    config = json.loads(os.environ["TF_CONFIG"])
    workers, rank = config["cluster"]["worker"], config["task"]["index"]
    strategy = meet(workers, rank)
    print(f"This is worker {rank} of {strategy.num_replicas_in_sync}", flush=True)
    (pictures, digits), test = load_share(rank, len(workers))
    with strategy.scope():
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(10)])
        optimizer = keras.optimizers.Adam(0.005)
        optimizer.build(model.trainable_variables)
    improve = improver(strategy, model, optimizer)
    for epoch in range(1, EPOCHS + 1):
        for start in range(0, len(digits) - BATCH_SIZE + 1, BATCH_SIZE):
            batch = slice(start, start + BATCH_SIZE)
            cost = improve(tf.constant(pictures[batch]), tf.constant(digits[batch]))
        print(f"Epoch: {epoch} of {EPOCHS},  Cost: {float(cost):.4f}", flush=True)
    right = np.asarray(model(test[0])).argmax(axis=1) == test[1]
    print(f"Test-Accuracy: {right.mean():.4f}")
    print("done", flush=True)


def meet(workers, rank):
    """TensorFlow itself would wait for ever, and not say for whom: so everyone first opens a door and knocks at all others."""
    until = time.monotonic() + PEERS_WITHIN_S
    with socket.create_server(("", int(workers[rank].rsplit(":", 1)[1]))):
        for address in workers:
            wait_for(address, until)
    return tf.distribute.MultiWorkerMirroredStrategy()


def wait_for(address, until):
    host, port = address.rsplit(":", 1)
    while True:
        try:
            return socket.create_connection((host, int(port)), timeout=5).close()
        except OSError as error:
            if time.monotonic() > until:
                raise SystemExit(f"The worker at {address} does not answer: {error}")
            time.sleep(0.1)


def improver(strategy, model, optimizer):
    cost_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def on_one(pictures, digits):
        with tf.GradientTape() as tape:
            # Gradients are added up, and the mean over everyone is wanted.
            cost = cost_of(digits, model(pictures, training=True)) / strategy.num_replicas_in_sync
        slopes = tape.gradient(cost, model.trainable_variables)
        optimizer.apply_gradients(zip(slopes, model.trainable_variables))
        return cost

    @tf.function
    def on_all(pictures, digits):
        costs = strategy.run(on_one, args=(pictures, digits))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, costs, axis=None)

    return on_all


def load_share(rank, world):
    pictures, digits = load_digits(return_X_y=True)
    pictures = (pictures / 16).astype(np.float32)
    order = np.random.default_rng(seed=2).permutation(len(digits))
    test, train = order[:360], order[360:]
    # Equal shares: a worker with one batch more would wait for the others for ever.
    share = train[: len(train) // world * world][rank::world]
    return (pictures[share], digits[share]), (pictures[test], digits[test])


if __name__ == "__main__":
    main()
