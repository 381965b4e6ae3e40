#!/bin/bash
# Puts the hidden tests (NAME_test.go.txt, with the folder in the first line)
# into the repository, which is the working folder, and runs them. The reward is
# 1 when all pass. Code that does not build or hangs earns 0; without a compiler
# there is no reward.
tests=${TESTS_DIR:-/tests}
out=${LOGS_DIR:-/logs}/verifier
mkdir -p "$out"
export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local CGO_ENABLED=0
export GOCACHE=${GOCACHE:-/tmp/gocache}
command -v go >/dev/null || exit 127
packages=()
for hidden in "$tests"/*_test.go.txt; do
  folder=$(sed -n '1s#^// folder: ##p' "$hidden")
  # Only the hidden tests of a package count: others may be changed or broken.
  rm -f "$folder"/*_test.go
  packages+=("./$folder")
done
for hidden in "$tests"/*_test.go.txt; do
  folder=$(sed -n '1s#^// folder: ##p' "$hidden")
  cp "$hidden" "$folder/$(basename "$hidden" .txt)" || exit 1
done
if timeout 150 go test -vet=off -count=1 -timeout 60s -v "${packages[@]}"; then
  echo 1 >"$out/reward.txt"
else
  echo 0 >"$out/reward.txt"
fi
