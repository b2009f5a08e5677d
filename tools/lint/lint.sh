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

# What the build compiles at these paths, largest first, so that no long file is left over at the end.
compiled() {
  awk -F '"' '$2 == "file" { print $4 }' build/lint/compile_commands.json | grep -E "^$root/($1)" | xargs -r wc -c |
    sort -rn | awk '$2 != "total" { print $2 }'
}

# Reads names of sources. Lock annotations (sync/mutex.h) are held to by clang alone, so it is done here.
run_clang_tidy() {
  local arguments=(-p build/lint --quiet --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wthread-safety
    --extra-arg=-Werror=thread-safety "$@")
  xargs -r -P "$(nproc)" -n 1 clang-tidy-14 "${arguments[@]}" 2> >(
    grep -vE '^[0-9]+ warnings?( and [0-9]+ errors?)? generated|^Suppressed |^Use -header-filter' >&2
  )
}

# Headers are checked through the sources that include them. The analyzer explores a tenth of the states per function
# that it would by default: in code full of templates the rest takes most of the time of a file.
check_tidy() {
  compiled 'core|storage|server|tools|bench' |
    run_clang_tidy --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=20000
}

# With a light profile, and the sources of a folder as one, whose headers take most of the time.
check_tests() {
  compiled 'tests|build/lint/tests' | run_clang_tidy --config-file=tests/.clang-tidy
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
