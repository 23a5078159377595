#!/usr/bin/env bash
# Builds Trainmaster, starts a server of its own on a free port, trains examples/digits on it, and
# follows all its tasks side by side. On a terminal the server then stays up until Ctrl-C; elsewhere,
# or with CI=true, it ends with the job's exit code. Either way it leaves nothing behind.
set -euo pipefail
cd "$(dirname "$0")/.."

SERVER_READY_WITHIN_S=30
SERVER_STOPPED_WITHIN_S=30

cargo build --bin trainmaster
target=${CARGO_TARGET_DIR:-target}
trainmaster="$(cd "$target" && pwd)/debug/trainmaster"
# The packages of the example stay for the next time.
export TRAINMASTER_ENVIRONMENTS="${XDG_CACHE_HOME:-$HOME/.cache}/trainmaster/environments"

data=$(mktemp -d "${TMPDIR:-/tmp}/trainmaster-demo.XXXXXX")
export TRAINMASTER_DATA="$data"
server=

# Tasks outlive their server on purpose, so they are stopped before it is.
stop_jobs() {
    local jobs
    jobs=$("$trainmaster" list --all --json | python3 -c '
import json, sys
print(*(job["id"] for job in json.load(sys.stdin)["jobs"] if job["ended_at_ms"] is None))')
    [ -z "$jobs" ] || timeout 120 "$trainmaster" stop $jobs
}

clean_up() {
    local code=$?
    trap - EXIT
    trap '' INT TERM
    if [ -n "$server" ] && kill -0 "$server" 2>/dev/null; then
        stop_jobs || true
        kill -TERM "$server" 2>/dev/null || true
        for ((i = 0; i < SERVER_STOPPED_WITHIN_S * 10; i++)); do
            kill -0 "$server" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$data"
    exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# In a session of its own, so that Ctrl-C reaches this script alone, which then stops things in order.
setsid "$trainmaster" up --listen 127.0.0.1:0 >"$data/server.log" 2>&1 &
server=$!
for ((i = 0; ; i++)); do
    [ -e "$data/server.json" ] && break
    if ! kill -0 "$server" 2>/dev/null || ((i >= SERVER_READY_WITHIN_S * 10)); then
        echo "The server did not start. It said:" >&2
        cat "$data/server.log" >&2
        exit 3
    fi
    sleep 0.1
done
url=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["url"])' "$data/server.json")
echo "The server answers on $url; its data is in $data"
echo

code=0
"$trainmaster" submit examples/digits/job.yaml --follow || code=$?

echo
"$trainmaster" list
if [ -t 1 ] && [ "${CI:-}" != true ]; then
    cat <<TEXT

The server is still up on $url. In another terminal:

  export TRAINMASTER_DATA=$data PATH=$(dirname "$trainmaster"):\$PATH
  trainmaster show digits                                  what is known of the job
  trainmaster logs digits --task worker-0                  what a task wrote
  trainmaster rerun digits --set env.LEARNING_RATE=0.1     the same again with one change
  trainmaster run -- python3 -c 'print("hello")'           any command as a job

Ctrl-C ends the demo and removes its data.
TEXT
    trap 'exit "$code"' INT
    wait "$server" || true
fi
exit "$code"
