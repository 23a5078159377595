#!/usr/bin/env bash
# Shell scripts and Python files parse. Nothing is run and nothing is written.
set -euo pipefail
cd "$(dirname "$0")/.."

for script in scripts/*.sh bench/inside/*.sh .ci/run; do
    bash -n "$script"
done
python3 - $(git ls-files '*.py') <<'PYTHON'
import ast, sys
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        ast.parse(file.read(), path)
PYTHON
