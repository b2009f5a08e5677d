#!/usr/bin/env bash
# Tests the Python package with a real freshetd, in a virtual environment of pinned packages that is made once: usage:
# test.sh BIN_DIR current|floor|lint [ARGUMENTS of pytest]
# `current` has the newest packages. `floor` has the oldest gRPC and Protobuf that the package supports, and no
# crawlers. `lint` checks types and style. Exit code 77: no package registry answers.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../.." && pwd)
FRESHET_BIN=$(cd "${1:?usage: test.sh BIN_DIR current|floor|lint}" && pwd)
export FRESHET_BIN
what=${2:?usage: test.sh BIN_DIR current|floor|lint}
shift 2
set=${what/lint/current}
lock=$here/requirements/$set.txt

# make_venv DIRECTORY: creates the environment completely, or not at all.
make_venv() {
  local venv=$1 log=$1.log
  rm -rf "$venv.new"
  python3 -m venv "$venv.new"
  if ! "$venv.new/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$lock" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    if grep -qE 'Retrying \(Retry|NewConnectionError|NameResolutionError|ConnectTimeoutError|ProxyError' "$log"; then
      echo "test.sh: SKIPPED: no package registry answers, and the packages of $lock are not here from an earlier run" >&2
      exit 77
    fi
    exit 1
  fi
  # Programs of a virtual environment contain their interpreter's path: after the move they run as modules.
  mv "$venv.new" "$venv"
}

hash=$(cat "$lock" <(python3 -c 'import sys; print(sys.version)') | sha256sum | cut -c 1-12)
venv=$repository/build/python/$set-$hash
mkdir -p "$repository/build/python"
(
  flock 9
  [[ -x $venv/bin/python3 ]] || make_venv "$venv"
) 9>"$repository/build/python/$set.flock"

cd "$here"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here
python=$venv/bin/python3
if [[ $what == lint ]]; then
  examples=$repository/examples/python
  "$python" -m ruff check --no-cache --quiet --config pyproject.toml . "$examples"
  "$python" -m ruff format --no-cache --quiet --check --config pyproject.toml . "$examples" || { echo 'test.sh: the layout differs; run ./dev python format' >&2 && exit 1; }
  "$python" -m mypy --cache-dir="$repository/build/python/mypy"
  "$python" -m mypy --cache-dir="$repository/build/python/mypy" --strict "$examples"/*.py "$examples"/scrapy_project/pages
  exit
fi
exec "$python" -m pytest "$@"
