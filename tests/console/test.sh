#!/usr/bin/env bash
# Tests the console in a real browser: Debian's Chromium, driven by packages of pinned versions that
# are fetched once.
# usage: test.sh BIN_DIR test|screenshots [DIRECTORY]
# Exit code 77: no package registry answers.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../.." && pwd)
FRESHET_BIN=$(cd "${1:?usage: test.sh BIN_DIR test|screenshots [DIRECTORY]}" && pwd)
export FRESHET_BIN FRESHET_REPOSITORY=$repository
what=${2:?usage: test.sh BIN_DIR test|screenshots [DIRECTORY]}
shift 2

export CHROMIUM=${CHROMIUM:-/usr/bin/chromium}
for program in node npm "$CHROMIUM"; do
  command -v "$program" >/dev/null || { echo "test.sh: $program is missing: ./dev test --part console installs it" >&2 && exit 1; }
done

# fetch DIRECTORY: makes it only once all packages are there. Scripts of packages do not run.
fetch() {
  local modules=$1 log=$1.log
  rm -rf "$modules.new"
  mkdir -p "$modules.new"
  cp "$here/package.json" "$here/package-lock.json" "$modules.new"
  if ! npm ci --prefix "$modules.new" --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=60000 >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    if grep -qE 'ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|ECONNRESET|EIDLETIMEOUT' "$log"; then
      echo 'test.sh: SKIPPED: no package registry answers, and the packages are not here from an earlier run' >&2
      exit 77
    fi
    exit 1
  fi
  mv "$modules.new" "$modules"
}

cache=$repository/build/console
modules=$cache/modules-$(sha256sum "$here/package-lock.json" | cut -c 1-12)
mkdir -p "$cache"
(
  flock 9
  [[ -d $modules ]] || fetch "$modules"
) 9>"$cache/flock"

# Node looks for modules beside the file that imports them.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/*.mjs "$work"
ln -s "$modules/node_modules" "$work/node_modules"
export FRESHET_WORK=$work
case $what in
  test) node --test "$work/console_test.mjs" ;;
  screenshots) node "$work/screenshots.mjs" "${1:-$repository/docs/console}" ;;
  *) echo "test.sh: '$what' is neither test nor screenshots" >&2 && exit 2 ;;
esac
