"""The programs we measure ourselves against, installed from ordinary packages."""

import os
import shutil
import subprocess
from pathlib import Path

from measure import Missing

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "trainmaster" / "peers"


def debian(command, *packages):
    """Makes sure that a command of a Debian package is there."""
    if shutil.which(command):
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Missing(f"`{command}` is not installed; needs Debian's {' and '.join(packages)}")
    print(f"bench: installing Debian packages: {' '.join(packages)}", flush=True)
    quiet = {"env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    install = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if subprocess.run(install, **quiet).returncode:
        subprocess.run(["apt-get", "update"], **quiet)
        if subprocess.run(install, **quiet).returncode:
            raise Missing(f"apt-get could not install {' and '.join(packages)}")


def rust_program(crate, version, program):
    """Builds a program of the Rust registry into the cache, once; returns its directory."""
    place = CACHE / f"{crate}-{version}"
    if not (place / "bin" / program).exists():
        print(f"bench: building {crate} {version} (once, some minutes)", flush=True)
        command = ["nice", "cargo", "install", crate, "--version", version, "--locked", "--quiet", "--root", str(place)]
        if subprocess.run(command, env={**os.environ, "CARGO_TARGET_DIR": str(place / "target")}).returncode:
            raise Missing(f"cargo could not install {crate}")
        shutil.rmtree(place / "target", ignore_errors=True)
    return place / "bin"


def python_environment(requirements):
    """An environment in the cache with the packages of a requirements file; returns its `bin`."""
    made = subprocess.run([str(ROOT / "scripts/python-env.sh"), str(requirements)], stdout=subprocess.PIPE, text=True)
    if made.returncode:
        raise Missing(f"could not install {requirements.name}")
    return Path(made.stdout.strip()) / "bin"


def said(command, **options):
    """What a command prints; it must succeed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed with {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout.strip()
