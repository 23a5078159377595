#!/usr/bin/env bash
# Builds the program so that it needs nothing of the machine it runs on, neither libraries nor a loader, and says where it is.
#
#   scripts/static.sh           quick to build, as tests have it
#   scripts/static.sh release   optimised, for packages
set -euo pipefail
cd "$(dirname "$0")/.."

profile=${1:-dev}
target=$(rustc -vV | sed -n 's/^host: \(.*\)-gnu$/\1-musl/p')
folder=${CARGO_TARGET_DIR:-$PWD/target}/$target/$([ "$profile" = dev ] && echo debug || echo "$profile")
program=$folder/trainmaster

# C that is compiled along, SQLite among it, has to be of the same kind.
export "CC_${target//-/_}=musl-gcc"
cargo build --bin trainmaster --target "$target" --profile "$profile" >&2

needs=$(readelf --wide --program-headers --dynamic "$program" | grep -E 'INTERP|\(NEEDED\)' || true)
[ -z "$needs" ] || { printf 'static: %s still needs something of its machine:\n%s\n' "$program" "$needs" >&2; exit 1; }
printf 'static: %s MiB\n' "$(($(stat -c %s "$program") >> 20))" >&2
echo "$program"
