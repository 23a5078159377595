#!/usr/bin/env bash
# What one writes without a platform: every rank of examples/jax on this machine, each with its log.
#
#   launch_by_hand.sh PYTHON PROGRAM RANKS PORT LOGS
set -euo pipefail
python=$1 program=$2 ranks=$3 port=$4 logs=$5

export JAX_COORDINATOR_ADDRESS=127.0.0.1:$port JAX_NUM_PROCESSES=$ranks
for ((rank = 0; rank < ranks; rank++)); do
    JAX_PROCESS_ID=$rank "$python" "$program" >"$logs/rank-$rank.log" 2>&1 &
done
wait
