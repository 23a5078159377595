"""Learns to read handwritten digits the way TensorFlow programs did before TF_CONFIG.

Two variables say where everyone is and who this task is, and flags say how to train:

    CLUSTER_CONFIG   {'worker': ['127.0.0.1:20002', '127.0.0.1:20003'], 'ps': ['127.0.0.1:20001']}, a Python literal
    POD_NAME         worker-0

Worker 0 is the chief: a tf.train.Supervisor gives the variables their first values and keeps checkpoints
and summaries in --logdir. All workers improve the same variables, each at its own pace.
"""

import argparse
import ast
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow.compat.v1 as tf

LOG_EVERY_BATCHES = 10
PIXELS, HIDDEN, DIGITS = 64, 64, 10


def main():
    flags = parse_flags()
    tf.disable_eager_execution()
    tf.logging.set_verbosity(tf.logging.ERROR)
    cluster = tf.train.ClusterSpec(ast.literal_eval(os.environ["CLUSTER_CONFIG"]))
    job, index = os.environ["POD_NAME"].split("-")
    index = int(index)
    server = tf.train.Server(cluster, job_name=job, task_index=index, config=one_thread())
    if job == "ps":
        print(f"Serving parameters as {server.target}", flush=True)
        server.join()
    else:
        work(server, cluster, index, flags)


def parse_flags():
    parser = argparse.ArgumentParser()
    parser.add_argument("--logdir", default="")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch_size", type=int, default=100)
    parser.add_argument("--lr", type=float, default=0.0005)
    return parser.parse_args()


def one_thread(**more):
    return tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=2, **more)


def work(server, cluster, index, flags):
    (pictures, digits), test = load_digits()
    with tf.device(tf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=cluster)):
        step = tf.train.get_or_create_global_step()
        x = tf.placeholder(tf.float32, [None, PIXELS])
        y = tf.placeholder(tf.int64, [None])
        scores = two_layers(x)
        cost = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=scores))
        improve = tf.train.AdamOptimizer(flags.lr).minimize(cost, global_step=step)
        accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(scores, 1), y), tf.float32))
        tf.summary.scalar("cost", cost)
        tf.summary.scalar("accuracy", accuracy)
        summary = tf.summary.merge_all()
        initialize = tf.global_variables_initializer()

    is_chief = index == 0
    logdir = flags.logdir if is_chief and flags.logdir else None
    supervisor = tf.train.Supervisor(
        is_chief=is_chief, logdir=logdir, global_step=step, init_op=initialize, summary_op=None, recovery_wait_secs=1
    )
    config = one_thread(device_filters=["/job:ps", f"/job:worker/task:{index}"])
    with supervisor.managed_session(server.target, config=config) as session:
        began, last_cost = time.time(), 0.0
        batches = len(digits) // flags.batch_size
        for epoch in range(flags.epochs):
            order = np.random.default_rng(seed=1000 * index + epoch).permutation(len(digits))
            since, counted = time.time(), 0
            for batch in range(batches):
                picked = order[batch * flags.batch_size : (batch + 1) * flags.batch_size]
                feed = {x: pictures[picked], y: digits[picked]}
                _, last_cost, done, words = session.run([improve, cost, step, summary], feed)
                counted += 1
                if logdir:
                    supervisor.summary_computed(session, words, done)
                if counted == LOG_EVERY_BATCHES or batch + 1 == batches:
                    average_ms = (time.time() - since) * 1000 / counted
                    print(
                        f"Step: {done},  Epoch: {epoch + 1:2d},  Batch: {batch + 1:3d} of {batches:3d},"
                        f"  Cost: {last_cost:.4f},  AvgTime: {average_ms:.2f}ms",
                        flush=True,
                    )
                    since, counted = time.time(), 0
        print(f"Test-Accuracy: {session.run(accuracy, {x: test[0], y: test[1]}):.2f}")
        print(f"Total Time: {time.time() - began:.2f}s")
        print(f"Final Cost: {last_cost:.4f}", flush=True)
    print("done", flush=True)


def two_layers(x):
    first = tf.Variable(tf.truncated_normal([PIXELS, HIDDEN], stddev=PIXELS**-0.5, seed=1), name="first")
    first_bias = tf.Variable(tf.zeros([HIDDEN]), name="first_bias")
    second = tf.Variable(tf.truncated_normal([HIDDEN, DIGITS], stddev=HIDDEN**-0.5, seed=1), name="second")
    second_bias = tf.Variable(tf.zeros([DIGITS]), name="second_bias")
    return tf.nn.sigmoid(x @ first + first_bias) @ second + second_bias


def load_digits():
    from sklearn import datasets  # The parameter server needs no pictures.

    pictures, digits = datasets.load_digits(return_X_y=True)
    pictures = (pictures / 16).astype(np.float32)
    order = np.random.default_rng(seed=2).permutation(len(digits))
    test, train = order[:360], order[360:]
    return (pictures[train], digits[train]), (pictures[test], digits[test])


if __name__ == "__main__":
    main()
