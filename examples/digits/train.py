"""Learns to read handwritten digits, with one parameter server and any number of workers.

Every worker keeps its own share of the pictures. In each step it works out, from a small batch of
them, in which direction the model should move, and sends that gradient to the parameter server. The
server waits for all workers, moves the model by the average, and sends the new model back.

Trainmaster tells each task who it is and where the others are, in three environment variables:

    TRAINMASTER_ROLE         ps or worker
    TRAINMASTER_TASK_INDEX   0, 1, 2 ...
    TRAINMASTER_CLUSTER      {"ps": ["127.0.0.1:20001"], "worker": ["127.0.0.1:20002", ...]}
"""

import json
import os
import socket
import struct
import time

import numpy as np

EPOCHS = int(os.environ.get("EPOCHS", "20"))
LEARNING_RATE = float(os.environ.get("LEARNING_RATE", "0.5"))
BATCH_SIZE = int(os.environ.get("BATCH_SIZE", "16"))

PIXELS, HIDDEN, DIGITS = 64, 32, 10
LOG_EVERY_BATCHES = 10
CONNECT_WITHIN_S = 60


def main():
    role = os.environ["TRAINMASTER_ROLE"]
    index = int(os.environ["TRAINMASTER_TASK_INDEX"])
    cluster = json.loads(os.environ["TRAINMASTER_CLUSTER"])
    server_host, server_port = cluster["ps"][0].rsplit(":", 1)
    server = (server_host, int(server_port))
    workers = len(cluster["worker"])
    if role == "ps":
        serve(server, workers)
    else:
        work(server, index, workers)


# ---- The model: one hidden layer. All its numbers lie in one flat vector, so that a model and a
# ---- gradient are the same kind of thing and travel the same way.


def new_model():
    random = np.random.default_rng(seed=1)
    first = random.normal(0, PIXELS**-0.5, (PIXELS, HIDDEN))
    second = random.normal(0, HIDDEN**-0.5, (HIDDEN, DIGITS))
    return flat(first, np.zeros(HIDDEN), second, np.zeros(DIGITS))


def flat(*layers):
    return np.concatenate([layer.ravel() for layer in layers]).astype(np.float32)


def layers_of(model):
    ends = np.cumsum([PIXELS * HIDDEN, HIDDEN, HIDDEN * DIGITS])
    first, first_bias, second, second_bias = np.split(model, ends)
    return first.reshape(PIXELS, HIDDEN), first_bias, second.reshape(HIDDEN, DIGITS), second_bias


def guess(model, pictures):
    """The hidden layer's answer, and how likely each picture is to be each digit."""
    first, first_bias, second, second_bias = layers_of(model)
    hidden = np.tanh(pictures @ first + first_bias)
    scores = hidden @ second + second_bias
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden, likely / likely.sum(axis=1, keepdims=True)


def cost_and_gradient(model, pictures, digits):
    hidden, likely = guess(model, pictures)
    rows = np.arange(len(digits))
    cost = -np.log(likely[rows, digits] + 1e-9).mean()

    wrong = likely.copy()
    wrong[rows, digits] -= 1
    wrong /= len(digits)
    back = (wrong @ layers_of(model)[2].T) * (1 - hidden**2)
    return cost, flat(pictures.T @ back, back.sum(axis=0), hidden.T @ wrong, wrong.sum(axis=0))


def accuracy(model, pictures, digits):
    return (guess(model, pictures)[1].argmax(axis=1) == digits).mean()


# ---- The parameter server.


def serve(address, workers):
    listener = socket.create_server(address)
    print(f"Serving parameters to {workers} workers on {address[0]}:{address[1]}", flush=True)
    while True:  # Serves one training after another, until it is stopped.
        links = greet_workers(listener, workers)
        steps = train_together(links)
        print(f"The workers have left after {steps} steps", flush=True)


def greet_workers(listener, workers):
    links = {}
    while len(links) < workers:
        link, _ = listener.accept()
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        index = int(receive(link)[0])
        links[index] = link
        print(f"Worker {index} is here, {len(links)} of {workers}", flush=True)
    # Always in the same order: sums of floats depend on it, and a training should be repeatable.
    return [links[index] for index in sorted(links)]


def train_together(links):
    model, steps = new_model(), 0
    while True:
        for link in links:
            send(link, model)
        gradients = [receive(link) for link in links]
        if any(gradient is None for gradient in gradients):
            break
        model -= LEARNING_RATE * np.mean(gradients, axis=0)
        steps += 1
    for link in links:
        link.close()
    return steps


# ---- A worker.


def work(server, index, workers):
    train, test = load_shares(index, workers)
    link = connect(server)
    send(link, np.array([index], dtype=np.float32))
    model = receive(link)
    began, step, cost = time.monotonic(), 0, 0.0
    for epoch in range(1, EPOCHS + 1):
        batches = batches_of(train, seed=epoch)
        since, since_batch = time.monotonic(), 0
        for batch, (pictures, digits) in enumerate(batches, start=1):
            cost, gradient = cost_and_gradient(model, pictures, digits)
            send(link, gradient)
            model = receive(link)
            if model is None:
                raise SystemExit("The parameter server has left")
            step += 1
            if batch % LOG_EVERY_BATCHES == 0 or batch == len(batches):
                now = time.monotonic()
                average_ms = (now - since) * 1000 / (batch - since_batch)
                since, since_batch = now, batch
                print(
                    f"Step: {step},  Epoch: {epoch},  Batch: {batch} of {len(batches)},"
                    f"  Cost: {cost:.4f},  AvgTime: {average_ms:.2f}ms",
                    flush=True,
                )
    link.close()
    print(f"Test-Accuracy: {accuracy(model, *test):.2f}")
    print(f"Total Time: {time.monotonic() - began:.2f}s")
    print(f"Final Cost: {cost:.4f}")
    if index == 0:
        save(model)
    print("done", flush=True)


def load_shares(index, workers):
    """This worker's share of the pictures to learn from, and the pictures kept back for the test."""
    from sklearn.datasets import load_digits  # The parameter server needs no pictures.

    pictures, digits = load_digits(return_X_y=True)
    pictures = (pictures / 16).astype(np.float32)
    order = np.random.default_rng(seed=2).permutation(len(digits))
    test, train = order[:360], order[360:]
    # Equal shares, so that no worker waits for a step that another does not take.
    share = train[: len(train) // workers * workers][index::workers]
    return (pictures[share], digits[share]), (pictures[test], digits[test])


def batches_of(share, seed):
    pictures, digits = share
    order = np.random.default_rng(seed).permutation(len(digits))
    batches = np.array_split(order, max(1, len(order) // BATCH_SIZE))
    return [(pictures[batch], digits[batch]) for batch in batches]


def save(model):
    directory = os.environ.get("TRAINMASTER_OUTPUT", "/output")
    first, first_bias, second, second_bias = layers_of(model)
    path = os.path.join(directory, "model.npz")
    np.savez(path, first=first, first_bias=first_bias, second=second, second_bias=second_bias)
    print(f"Saved the model to {path}")


# ---- The wire: how many bytes follow, then that many bytes of 32-bit floats.


def connect(server):
    deadline = time.monotonic() + CONNECT_WITHIN_S
    while True:
        try:
            link = socket.create_connection(server, timeout=CONNECT_WITHIN_S)
            break
        except OSError:  # The parameter server may start later than we do.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link


def send(link, numbers):
    body = numbers.astype("<f4").tobytes()
    try:
        link.sendall(struct.pack("<I", len(body)) + body)
    except (BrokenPipeError, ConnectionResetError):
        pass  # The other side has left; the next receive says so.


def receive(link):
    """The next numbers, or None if the other side has left."""
    head = receive_bytes(link, 4)
    body = receive_bytes(link, struct.unpack("<I", head)[0]) if head else None
    return np.frombuffer(body, dtype="<f4").copy() if body else None


def receive_bytes(link, wanted):
    parts = bytearray()
    while len(parts) < wanted:
        try:
            part = link.recv(wanted - len(parts))
        except ConnectionResetError:
            part = b""
        if not part:
            return None
        parts += part
    return bytes(parts)


if __name__ == "__main__":
    main()
