#!/usr/bin/env bash
# The checks of `./dev lint`, which installs what they need: all of them, or those named as arguments.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root" || exit 2
all_checks=(format shell proto tidy tests)

# Source files under version control, so that a stray file in a working copy fails nobody's build.
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

# npm gets the exact version of the lock file, whose hashes it verifies; the packages' own install scripts do not run.
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

# Sources of the paths that are built, largest first, so that no long file is left over at the end.
sources_of() {
  local file
  while read -r file; do
    grep -qF "\"$root/$file\"" build/release/compile_commands.json && printf '%s\n' "$file"
  done < <(tracked "$@" | xargs -r wc -c | sort -rn | awk '$2 != "total" { print $2 }')
  return 0
}

# The build's commands without its precompiled headers, which are another compiler's: so it is noticed, too, when a
# source includes less than it uses.
write_compile_commands() {
  mkdir -p build/lint
  sed -E 's/ -Winvalid-pch / /; s/ -include [^ ]*cmake_pch\.hxx / /' build/release/compile_commands.json >build/lint/compile_commands.json
}

# Reads names of sources. Lock annotations (server/base/mutex.h) are held to by clang alone, so it is done here.
run_clang_tidy() {
  local extra=(-Wno-unknown-warning-option -Wthread-safety -Werror=thread-safety "$@")
  write_compile_commands
  xargs -r -P "$(nproc)" -n 1 clang-tidy-14 -p build/lint --quiet "${extra[@]/#/--extra-arg=}" 2> >(
    grep -vE '^[0-9]+ warnings?( and [0-9]+ errors?)? generated|^Suppressed |^Use -header-filter' >&2
  )
}

# Headers are checked through the sources that include them. The analyzer explores a tenth of the states per function
# that it would by default: in code full of templates the rest takes most of the time of a file.
check_tidy() {
  sources_of core/'*.cc' storage/'*.cc' server/'*.cc' tools/'*.cc' bench/'*.cc' |
    run_clang_tidy -Xclang -analyzer-config -Xclang max-nodes=20000
}

# With the light profile of tests/.clang-tidy.
check_tests() {
  sources_of tests/'*.cc' | run_clang_tidy
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
