"""Builds a package out of what it finds: a fixture that looks for what a build must not see."""

import os
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def found():
    yield "built"
    for name, value in os.environ.items():
        if "CANARY" in value:
            yield name
    with open(os.path.join(HERE, "wanted.txt")) as wanted:
        for path in wanted.read().splitlines():
            if os.path.exists(path):
                yield path
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with open(f"/proc/{pid}/cmdline") as file:
            if "trainmaster\0supervise" in file.read():
                yield f"process {pid}"


def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "nosy-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as wheel:
        wheel.writestr("nosy.py", f"FOUND = {list(found())!r}\n")
        wheel.writestr("nosy-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: nosy\nVersion: 1.0\n")
        wheel.writestr("nosy-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("nosy-1.0.dist-info/RECORD", "")
    return name
