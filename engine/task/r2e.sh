# Runs in the workdir, before the repository is prepared. Moves the tests of an
# R2E-Gym image out of the repository and links its Python environment to where
# commands look for it. With ROLLBENCH_HIDE the tests go for good: the policy
# is root in its sandbox and could read them anywhere.
set -eu
here=$(pwd -P)
away="${HOME:-/root}"
mkdir -p "$away/.local/bin"
for name in run_tests.sh r2e_tests; do
  for from in "$here/$name" "/$name"; do
    if [ -L "$from" ]; then rm -f "$from"; elif [ -e "$from" ]; then
      rm -rf "${away:?}/$name"
      mv "$from" "$away/$name"
    fi
  done
done
if [ -n "$ROLLBENCH_HIDE" ]; then
  rm -rf "$away/run_tests.sh" "$away/r2e_tests"
elif [ ! -e "$away/run_tests.sh" ] || [ ! -e "$away/r2e_tests" ]; then
  echo "rollbench: the image has no run_tests.sh or no r2e_tests: it is not an R2E-Gym image"
  exit 3
fi
if [ -d "$here/.venv" ]; then
  ln -sfn "$here/.venv" "$away/.venv"
  find "$here/.venv/bin" -type f -perm -u+x -exec ln -sf {} "$away/.local/bin/" \;
  ln -sf "$here/.venv/bin/python" "$away/.local/bin/python"
fi
find . -name .venv -prune -o -name '*.pyc' -type f -exec rm -f {} +
if [ -d .git ]; then
  mkdir -p .git/info
  for name in .venv run_tests.sh r2e_tests; do
    grep -qxF "/$name" .git/info/exclude 2>/dev/null || echo "/$name" >>.git/info/exclude
  done
fi
