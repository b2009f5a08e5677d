#!/usr/bin/env bash
# Prints the path of a Python environment with the packages of requirements.txt, made once in build/ship.
# Exit code 77: no package registry answers.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../.." && pwd)
lock=$here/requirements.txt
hash=$(cat "$lock" <(python3 -c 'import sys; print(sys.version)') | sha256sum | cut -c 1-12)
venv=$repository/build/ship/venv-$hash
mkdir -p "$repository/build/ship"
(
  flock 9
  [[ ! -x $venv/bin/python3 ]] || exit 0
  log=$venv.log
  rm -rf "$venv.new"
  python3 -m venv "$venv.new"
  if ! "$venv.new/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$lock" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    if grep -qE 'Retrying \(Retry|NewConnectionError|NameResolutionError|ConnectTimeoutError|ProxyError' "$log"; then
      echo "SKIPPED: no package registry answers, and the packages of $lock are not here from an earlier run" >&2
      exit 77
    fi
    exit 1
  fi
  # Scripts of the environment contain its path before the move, so tests run modules by `python3 -m` instead.
  mv "$venv.new" "$venv"
) 9>"$repository/build/ship/venv.flock" || exit $?
echo "$venv"
