#!/bin/bash
# Runs the hidden tests in the repository (the working folder). The reward is 1
# when all pass. Code that hangs or ends the interpreter earns 0; without an
# interpreter there is no reward.
tests=${TESTS_DIR:-/tests}
out=${LOGS_DIR:-/logs}/verifier
mkdir -p "$out"
export PYTHONDONTWRITEBYTECODE=1
ulimit -t 5 # a loop without end is over sooner than by the clock
timeout 120 python3 -I "$tests/run.py" "$PWD" "$tests" "$out"
code=$?
if [ ! -e "$out/reward.txt" ] && [ "$code" -ne 126 ] && [ "$code" -ne 127 ]; then
  echo 0 >"$out/reward.txt"
fi
