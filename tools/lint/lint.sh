#!/usr/bin/env bash
# Runs the checks of `./dev lint`, all or those named as arguments, and installs what they need.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root" || exit 2
all_checks=(format shell proto prose tidy tests)

# Files under version control or new, but not ignored: a stray file must not fail a build.
tracked() { git ls-files --cached --others --exclude-standard -- "$@"; }

check_format() {
  tracked '*.h' '*.cc' '*.proto' | xargs -r clang-format-14 --dry-run -Werror
}

check_shell() {
  local scripts
  mapfile -t scripts < <(
    tracked '*.sh'
    tracked | xargs -r grep -lsIE -m1 '^#!.*\b(ba)?sh\b' | grep -v '\.sh$'
  )
  shellcheck "${scripts[@]}"
}

# npm installs the exact version of the lock file, verifies its hashes, and runs no install scripts of packages.
install_buf() {
  mkdir -p build/lint
  if cmp -s tools/lint/package-lock.json build/lint/package-lock.json && [[ -x build/lint/node_modules/.bin/buf ]]; then
    return
  fi
  cp tools/lint/package.json tools/lint/package-lock.json build/lint/
  npm ci --prefix build/lint --ignore-scripts --no-audit --no-fund --loglevel error >&2
}

check_proto() {
  install_buf && build/lint/node_modules/.bin/buf lint
}

# Checks the countable rules of CONTRIBUTING.md for text that people read.
check_prose() { tools/lint/prose.py; }

# compiled DIR PATTERN: the compile commands in DIR for these paths, largest first, so that no long file is left over at
# the end.
compiled() {
  awk -F '"' '$2 == "file" { print $4 }' "$1/compile_commands.json" | grep -E "^$root/($2)" | xargs -r wc -c |
    sort -rn | awk '$2 != "total" { print $2 }'
}

# Joins sources that are compiled together (CMake makes a file that includes them) into one text in build/lint/joined,
# with its own compile commands. So headers are parsed and checked once, and the analyzer, which looks only at functions
# of the main file, sees those of all sources.
join_sources() {
  local file joined=build/lint/joined
  rm -rf "$joined"
  mkdir -p "$joined"
  sed -E "s#$root/build/lint/([^ \"]*/Unity/)#$root/$joined/\1#g" build/lint/compile_commands.json >"$joined/compile_commands.json"
  while read -r file; do
    mkdir -p "$joined/$(dirname "${file#build/lint/}")"
    awk '/^#include ".*\.cc"$/ { split($0, part, "\""); print "// joined: " part[2]; while ((getline line < part[2]) > 0) print line; next } { print }' \
      "$file" >"$joined/${file#build/lint/}"
  done < <(find build/lint -path "*/CMakeFiles/*/Unity/*.cxx" -not -path "$joined/*" -printf '%P\n' | sed 's#^#build/lint/#')
}

# Replaces places in joined sources by places in the original source.
name_sources() {
  awk -v joined="$root/build/lint/joined/" '
    index($0, joined) == 1 && match($0, /:[0-9]+:[0-9]+: /) {
      file = substr($0, 1, RSTART - 1); split(substr($0, RSTART + 1), place, ":"); rest = substr($0, RSTART + length(place[1]) + 1)
      source = file; at = 0; number = 0
      while ((getline line < file) > 0 && ++number <= place[1]) if (line ~ /^\/\/ joined: /) { source = substr(line, 12); at = number }
      close(file); print source ":" place[1] - at rest; next
    }
    { print; fflush() }'
}

# run_clang_tidy DIR: reads names of sources. It checks lock annotations (sync/mutex.h) too, which only clang does.
run_clang_tidy() {
  local arguments=(-p "$1" --quiet --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wthread-safety
    --extra-arg=-Werror=thread-safety "${@:2}")
  xargs -r -P "$(nproc)" -n 1 clang-tidy-14 "${arguments[@]}" 2> >(
    grep -vE '^[0-9]+ warnings?( and [0-9]+ errors?)? generated|^Suppressed |^Use -header-filter' >&2
  )
}

# Headers are checked through the sources that include them. The analyzer explores a tenth of the states per function of
# its default: in code full of templates the rest takes most of the time of a file.
check_tidy() {
  join_sources
  compiled build/lint/joined 'core|proto|build/lint/joined/(storage|server|tools|lab)' |
    run_clang_tidy build/lint/joined --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=20000 |
    name_sources
}

# Uses a light profile, and joins the sources of a folder, whose headers take most of the time.
check_tests() {
  compiled build/lint 'tests|build/lint/tests' | run_clang_tidy build/lint --config-file=tests/.clang-tidy
}

failed=()
for check in "${@:-${all_checks[@]}}"; do
  if ! declare -F "check_$check" >/dev/null; then
    echo "lint: unknown check '$check' (there are: ${all_checks[*]})" >&2
    exit 2
  fi
  start=$SECONDS
  if "check_$check"; then verdict=ok; else verdict=FAILED && failed+=("$check"); fi
  echo "lint: $check $verdict ($((SECONDS - start)) s)" >&2
done
((${#failed[@]} == 0))
