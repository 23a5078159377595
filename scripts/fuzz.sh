#!/usr/bin/env bash
# Runs every fuzz target for so many seconds of processor time, however busy the machine is, beginning from the files the tests
# are made of. What was found stays in fuzz/artifacts; the corpus it grows is not kept.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-600}
export PATH="${XDG_CACHE_HOME:-$HOME/.cache}/trainmaster/tools/bin:$PATH"
if ! command -v cargo-fuzz >/dev/null; then
    echo "fuzz: installing cargo-fuzz into the user's cache" >&2
    cargo install cargo-fuzz --locked --root "${XDG_CACHE_HOME:-$HOME/.cache}/trainmaster/tools" >&2
fi

seeds() {
    case $1 in
    job_file | algorithm) find examples -name '*.yaml' ;;
    openpai_v1) find model/tests/openpai_v1 -path '*/alpha*' -prune -o -type f ! -name '*.plan.txt' ! -name '*.rs' -print ;;
    openpai_v2_alpha) find model/tests/openpai_v1 -path '*/alpha*' -type f ! -name '*.plan.txt' ;;
    openpai_v2) find model/tests/openpai_v2 -name '*.yaml' ;;
    helm_values) find model/tests/helm_values -name '*.yaml' ;;
    git) find model/src/code/git -name '*.rs' ;;
    esac
}

# Ended by the kernel when its time is used up; any other ending is a find.
run_for() {
    local seconds=$1 target=$2 ended=0
    mkdir -p "fuzz/artifacts/$target"
    (
        ulimit -S -t "$seconds"
        exec "fuzz/target/x86_64-unknown-linux-gnu/release/$target" -artifact_prefix="fuzz/artifacts/$target/" \
            -max_len=4096 -timeout=10 -rss_limit_mb=2048 -verbosity=0 "fuzz/corpus/$target"
    ) || ended=$?
    [ "$ended" = $((128 + $(kill -l XCPU))) ]
}

for target in ${TARGETS:-job_file algorithm openpai_v1 openpai_v2_alpha openpai_v2 openpai_v2_template helm_values git bundle}; do
    mkdir -p "fuzz/corpus/$target"
    seeds "$target" | while read -r file; do cp "$file" "fuzz/corpus/$target/$(sha256sum "$file" | cut -c1-16)"; done
    (cd fuzz && cargo +nightly fuzz build --target x86_64-unknown-linux-gnu "$target")
    echo "fuzz: $target for $seconds s of processor time" >&2
    if run_for "$seconds" "$target"; then
        echo "fuzz: $target found nothing; its corpus has $(find "fuzz/corpus/$target" -type f | wc -l) files" >&2
    else
        echo "fuzz: $target found something: see fuzz/artifacts/$target" >&2
        exit 1
    fi
done
