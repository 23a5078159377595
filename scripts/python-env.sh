#!/usr/bin/env bash
# Prints the directory of a Python environment that holds a requirements file; makes it if it is not there.
#
# It lies in the user's cache under the hash of the file, so a changed file gets a new one and a clean
# clone finds the old one. An environment cannot be moved once made; so it is made in its place, and
# the mark `ok` says that it is whole.
set -euo pipefail

requirements=$1
cache="${XDG_CACHE_HOME:-$HOME/.cache}/trainmaster/python"
key=$( (cat "$requirements" && python3 -c 'import sys; print(sys.version, sys.prefix)') | sha256sum | cut -c1-16)
place="$cache/$key"

say() { printf 'setup: %s\n' "$*" >&2; }

make_environment() {
    say "installing the Python packages of $requirements into $place"
    rm -rf "$place"
    if command -v uv >/dev/null; then
        uv venv -q --python "$(command -v python3)" "$place" >&2
        uv pip install -q --python "$place/bin/python" -r "$requirements" >&2
        return
    fi
    if ! python3 -c 'import ensurepip' 2>/dev/null; then
        [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || { say "Python has no venv; please run: sudo apt-get install python3-venv"; exit 1; }
        say "installing a Debian package: python3-venv"
        apt-get install -y -q python3-venv >&2 || { apt-get update -q >&2 && apt-get install -y -q python3-venv >&2; }
    fi
    python3 -m venv "$place" >&2
    "$place/bin/pip" install -q --disable-pip-version-check -r "$requirements" >&2
}

mkdir -p "$cache"
exec 9>"$cache/$key.lock"
flock 9
if [ ! -e "$place/ok" ]; then
    make_environment
    touch "$place/ok"
fi
echo "$place"
