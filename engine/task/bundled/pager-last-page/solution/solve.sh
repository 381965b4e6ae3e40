#!/bin/bash
# Applies the reference solution to the repository in the working folder.
set -eu
git apply --verbose "$(dirname "$0")/fix.patch"
