#!/usr/bin/env bash
# A cluster on real brokers, whose jars come by Maven and are kept in build/kafka.
# usage: run.sh BIN_DIR [ARGUMENTS of fleet.py]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../.." && pwd)
bin=$(cd "${1:?usage: run.sh BIN_DIR [ARGUMENTS]}" && pwd)
shift
jars=$repository/build/kafka
if [[ ! -d $jars ]]; then
  rm -rf "$jars.new"
  mvn --batch-mode --quiet -f "$here/pom.xml" dependency:copy-dependencies -DoutputDirectory="$jars.new" >&2
  mv "$jars.new" "$jars"
fi
# The environment that the Python package is tested in has gRPC and what it needs.
"$repository/clients/python/test.sh" "$bin" current --version >/dev/null
venv=$(find "$repository/build/python" -maxdepth 1 -name 'current-*' -type d -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2)
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$repository/clients/python:$here
exec "$venv/bin/python3" "$here/fleet.py" --bin "$bin" --jars "$jars" "$@"
