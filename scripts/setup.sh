#!/usr/bin/env bash
# Installs what is missing and says what it does. What is there already costs nothing and says nothing.
#
#   scripts/setup.sh build    what building needs: Rust, a C compiler
#   scripts/setup.sh tests    what some tests need to make disks fail and clocks jump; only as root, since only root can run them
#   scripts/setup.sh python   the Python packages of the examples, in the user's cache
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }

fail() {
    say "$*"
    exit 1
}

# Debian packages, only when a command is missing, and only as root.
debian() {
    local command=$1 why=$2
    shift 2
    command -v "$command" >/dev/null && return
    command -v apt-get >/dev/null || fail "\`$command\` is missing ($why); please install it"
    [ "$(id -u)" = 0 ] || fail "\`$command\` is missing ($why); please run: sudo apt-get install $*"
    say "installing Debian packages for $why: $*"
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y -q --no-install-recommends "$@" >&2 || { apt-get update -q >&2 && apt-get install -y -q --no-install-recommends "$@" >&2; }
}

build() {
    debian cc "SQLite is compiled from C" gcc libc6-dev
    command -v cargo >/dev/null || fail "Rust is missing; install it with rustup, then run this again"
    local needed have
    needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    have=$(rustc --version | cut -d' ' -f2)
    [ "$(printf '%s\n' "$needed" "$have" | sort -V | head -n1)" = "$needed" ] || fail "Rust $needed or newer is needed, this is $have; run: rustup update stable"
}

tests() {
    debian python3 "the benches are tested too" python3 python3-venv
    if ! python3 -c 'import ensurepip' 2>/dev/null; then
        say "Python has no venv, which tests with real frameworks need"
        debian ensurepip "Python environments" python3-venv
    fi
    [ "$(id -u)" = 0 ] || return 0
    debian strace "a test makes system calls fail" strace
    debian mkfs.ext4 "a test makes a disk fail" e2fsprogs
    debian faketime "a test makes the clock jump" faketime
    debian mpicc "a test adds up numbers over MPI" openmpi-bin libopenmpi-dev
}

python() {
    debian python3 "the examples are in Python" python3 python3-venv
    scripts/python-env.sh examples/digits/requirements.txt >/dev/null
}

case "${1:-}" in
build | tests | python) "$1" ;;
*) fail "say what: build, tests or python" ;;
esac
