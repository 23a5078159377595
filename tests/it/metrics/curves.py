"""Writes curves with the writer that is named, then reads them with TensorBoard's own reader for the test to compare with."""

import json
import math
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

OUTPUT = Path(os.environ.get("TRAINMASTER_OUTPUT", "/output"))
STEPS = 2000
BACK_TO = 1500


def value(step):
    return {7: math.nan, 8: math.inf, 9: -math.inf}.get(step, math.sin(step / 50) / (1 + step / 100))


def tensorflow():
    import tensorflow as tf

    for steps in (range(STEPS), range(BACK_TO, STEPS + 500)):
        writer = tf.summary.create_file_writer(str(OUTPUT / "tensorflow"))
        with writer.as_default():
            for step in steps:
                tf.summary.scalar("loss", value(step), step=step)
                if step % 10 == 0:
                    tf.summary.scalar("double", tf.constant(value(step), tf.float64), step=step)
                    tf.summary.scalar("whole", tf.constant(step, tf.int32), step=step)
            tf.summary.text("words", "no curve", step=0)
            tf.summary.histogram("shape", tf.random.normal([100]), step=0)
        writer.close()


def first_tensorflow():
    """As programs of TensorFlow 1 do it, which say where they begin again."""
    import tensorflow as tf

    for number, steps in enumerate((range(STEPS), range(BACK_TO, STEPS + 500))):
        with tf.Graph().as_default():
            writer = tf.compat.v1.summary.FileWriter(str(OUTPUT / "first_tensorflow"), filename_suffix=f".{number}")
            start = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
            writer.add_session_log(start, global_step=steps[0])
            for step in steps:
                for tag in ("loss", "train/accuracy"):
                    one = tf.compat.v1.Summary.Value(tag=tag, simple_value=value(step))
                    writer.add_summary(tf.compat.v1.Summary(value=[one]), global_step=step)
            writer.close()


def keras():
    import keras
    import numpy as np

    keras.utils.set_random_seed(1)
    numbers = np.random.default_rng(1).normal(size=(400, 8)).astype(np.float32)
    truth = (numbers.sum(axis=1) > 0).astype(np.int32)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1, activation="sigmoid")])
    model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
    board = keras.callbacks.TensorBoard(log_dir=str(OUTPUT / "keras"), update_freq=1)
    fitted = model.fit(numbers, truth, batch_size=40, epochs=4, validation_split=0.25, verbose=1, callbacks=[board])
    history = {name: [float(value) for value in values] for name, values in fitted.history.items()}
    (OUTPUT / "history.json").write_text(json.dumps(history))


def scalars_of(writer_class):
    for begin, steps in ((None, range(STEPS)), (BACK_TO, range(BACK_TO, STEPS + 500))):
        writer = writer_class(str(OUTPUT / "writer"), purge_step=begin, filename_suffix=f".{begin or 0}")
        for step in steps:
            writer.add_scalar("loss", value(step), step)
        writer.add_scalars("both", {"a": 1.0, "b": 2.0}, 1)
        writer.close()


def tensorboardx():
    from tensorboardX import SummaryWriter

    scalars_of(SummaryWriter)


def pytorch():
    from torch.utils.tensorboard import SummaryWriter

    scalars_of(SummaryWriter)


def read_back():
    from tensorboard.backend.event_processing import event_accumulator
    from tensorboard.util import tensor_util

    found = {}
    for directory in sorted({path.parent for path in OUTPUT.rglob("*tfevents*")}):
        accumulator = event_accumulator.EventAccumulator(str(directory), size_guidance={"scalars": 0, "tensors": 0})
        accumulator.Reload()
        tags = accumulator.Tags()
        curves = {tag: [(it, it.value) for it in accumulator.Scalars(tag)] for tag in tags["scalars"]}
        for tag in tags["tensors"]:
            if accumulator.SummaryMetadata(tag).plugin_data.plugin_name == "scalars":
                curves[tag] = [(it, tensor_util.make_ndarray(it.tensor_proto).item()) for it in accumulator.Tensors(tag)]
        named = found.setdefault(str(directory.relative_to(OUTPUT)), {})
        for tag, points in curves.items():
            named[tag] = [[it.step, round(it.wall_time * 1000), repr(float(value))] for it, value in points]
    (OUTPUT / "expected.json").write_text(json.dumps({name: curves for name, curves in found.items() if curves}))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        globals()[name]()
    read_back()
