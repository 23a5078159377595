"""Learns to read handwritten digits with Keras, in one task. What it has learnt is in /output/digits.keras."""

import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
from sklearn.datasets import load_digits

EPOCHS = int(os.environ.get("EPOCHS", "20"))
OUTPUT = Path(os.environ.get("TRAINMASTER_OUTPUT", "."))


class Progress(keras.callbacks.Callback):
    """A line an epoch: a log file is no terminal, and the usual bar would fill it."""

    def on_epoch_end(self, epoch, logs=None):
        print(f"Epoch: {epoch + 1} of {EPOCHS},  Cost: {logs['loss']:.4f},  Accuracy: {logs['accuracy']:.4f}", flush=True)


def main():
    keras.utils.set_random_seed(1)
    pictures, digits = load_digits(return_X_y=True)
    pictures = (pictures / 16).astype(np.float32)
    order = np.random.default_rng(seed=2).permutation(len(digits))
    test, train = order[:360], order[360:]

    model = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizer=keras.optimizers.Adam(0.005), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(pictures[train], digits[train], batch_size=32, epochs=EPOCHS, verbose=0, callbacks=[Progress()])
    _, accuracy = model.evaluate(pictures[test], digits[test], verbose=0)
    model.save(OUTPUT / "digits.keras")
    print(f"Test-Accuracy: {accuracy:.4f}")
    print("done", flush=True)


if __name__ == "__main__":
    main()
