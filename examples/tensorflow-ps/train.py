"""Learns to read handwritten digits with TensorFlow: parameter servers keep the model, workers improve it.

TensorFlow's name for where everyone is, and who this task is, is TF_CONFIG:

    {"cluster": {"ps": ["127.0.0.1:20001"], "worker": ["127.0.0.1:20002", ...]}, "task": {"type": "worker", "index": 0}}

Every worker has its own graph and its own share of the pictures, and changes the same variables on the
parameter servers without waiting for the other workers ("between-graph replication, asynchronous").
"""

import json
import os
import socket
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow.compat.v1 as tf

EPOCHS = int(os.environ.get("EPOCHS", "20"))
LEARNING_RATE = float(os.environ.get("LEARNING_RATE", "0.01"))
BATCH_SIZE = int(os.environ.get("BATCH_SIZE", "32"))
PEERS_WITHIN_S = float(os.environ.get("PEERS_WITHIN_S", "120"))

PIXELS, HIDDEN, DIGITS = 64, 64, 10


def main():
    tf.disable_eager_execution()
    config = json.loads(os.environ["TF_CONFIG"])
    cluster, role, index = config["cluster"], config["task"]["type"], config["task"]["index"]
    server = tf.train.Server(tf.train.ClusterSpec(cluster), job_name=role, task_index=index, config=one_thread())
    print(f"This is {role} {index} at {cluster[role][index]}", flush=True)
    if role == "ps":
        server.join()  # Serves until it is stopped.
    else:
        work(server, cluster, index)


def one_thread(**more):
    return tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=2, **more)


def work(server, cluster, index):
    wait_for(cluster["ps"])
    train, test = load_share(index, len(cluster["worker"]))
    model = build_model(cluster, index)
    # A worker speaks with the parameter servers and with itself; what becomes of other workers does not concern it.
    config = one_thread(device_filters=["/job:ps", f"/job:worker/task:{index}"])
    with tf.Session(server.target, config=config) as session:
        begin(session, is_chief=index == 0)
        for epoch in range(1, EPOCHS + 1):
            for pictures, digits in batches_of(train, seed=100 * index + epoch):
                feed = {model["pictures"]: pictures, model["digits"]: digits}
                cost, step, _ = session.run([model["cost"], model["step"], model["improve"]], feed)
            print(f"Epoch: {epoch} of {EPOCHS},  Step: {step},  Cost: {cost:.4f}", flush=True)
        feed = {model["pictures"]: test[0], model["digits"]: test[1]}
        print(f"Test-Accuracy: {session.run(model['accuracy'], feed):.4f}", flush=True)
    print("done", flush=True)


def build_model(cluster, index):
    """The variables lie on the parameter servers, everything else on this worker."""
    place = tf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=tf.train.ClusterSpec(cluster))
    with tf.device(place):
        step = tf.train.get_or_create_global_step()
        pictures = tf.placeholder(tf.float32, [None, PIXELS])
        digits = tf.placeholder(tf.int64, [None])
        hidden = tf.nn.relu(layer("first", pictures, PIXELS, HIDDEN))
        scores = layer("second", hidden, HIDDEN, DIGITS)
        cost = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=digits, logits=scores))
        improve = tf.train.AdamOptimizer(LEARNING_RATE).minimize(cost, global_step=step)
        accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(scores, 1), digits), tf.float32))
    return {"pictures": pictures, "digits": digits, "cost": cost, "improve": improve, "step": step, "accuracy": accuracy}


def layer(name, inputs, width, height):
    with tf.variable_scope(name):
        weights = tf.get_variable("weights", [width, height], initializer=tf.truncated_normal_initializer(stddev=width**-0.5, seed=1))
        bias = tf.get_variable("bias", [height], initializer=tf.zeros_initializer())
        return inputs @ weights + bias


def begin(session, is_chief):
    """Worker 0 gives the variables their first values; the others wait until they have them."""
    missing = tf.report_uninitialized_variables()
    if is_chief:
        session.run(tf.global_variables_initializer())
    while len(session.run(missing)):
        time.sleep(0.1)


def wait_for(addresses):
    """TensorFlow itself would wait for ever, and not say for whom."""
    until = time.monotonic() + PEERS_WITHIN_S
    for address in addresses:
        host, port = address.rsplit(":", 1)
        while True:
            try:
                socket.create_connection((host, int(port)), timeout=5).close()
                break
            except OSError as error:
                if time.monotonic() > until:
                    raise SystemExit(f"The parameter server at {address} does not answer: {error}")
                time.sleep(0.1)


def load_share(index, workers):
    from sklearn.datasets import load_digits  # The parameter server needs no pictures.

    pictures, digits = load_digits(return_X_y=True)
    pictures = (pictures / 16).astype(np.float32)
    order = np.random.default_rng(seed=2).permutation(len(digits))
    test, train = order[:360], order[360:]
    share = train[index::workers]
    return (pictures[share], digits[share]), (pictures[test], digits[test])


def batches_of(share, seed):
    pictures, digits = share
    order = np.random.default_rng(seed).permutation(len(digits))
    for batch in np.array_split(order, max(1, len(order) // BATCH_SIZE)):
        yield pictures[batch], digits[batch]


if __name__ == "__main__":
    main()
