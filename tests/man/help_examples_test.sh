#!/usr/bin/env bash
# help_examples_test.sh BIN_DIR: runs every example in the help of freshet-sim and freshet-bench as written, in an empty
# directory for each command. For the server at 127.0.0.1:7071 of some examples the test starts one of its own.
set -uo pipefail
bin=$(cd "$1" && pwd)
work=$(mktemp -d)
server=
# shellcheck disable=SC2317  # reached through the trap
stop() {
  [[ -z $server ]] || { kill "$server" && wait "$server"; } 2>/dev/null
  rm -rf "$work"
}
trap stop EXIT
export PATH=$bin:$PATH FRESHET_CONFIG=''
failures=0
run=0
fail() {
  printf 'help examples: %s\n' "$*"
  failures=$((failures + 1))
}

mkfifo "$work/ready"
"$bin/freshetd" --data-dir "$work/data" --listen 127.0.0.1:0 --http-listen 127.0.0.1:0 >"$work/ready" 2>"$work/log" &
server=$!
exec 3<"$work/ready"
read -r -u 3 line || fail "freshetd did not start: $(<"$work/log")"
address=$(sed -n 's/.*grpc=\([^ ]*\).*/\1/p' <<<"$line")
"$bin/freshet" --server "$address" upsert https://example.org/ https://example.org/news >/dev/null ||
  fail "freshet cannot add pages"

commands_of() { awk '/^Commands:$/ { on = 1; next } /^$/ { on = 0 } on && /^  [^ ]/ { print $1 }'; }
examples_of() { awk '/^Examples:$/ { on = 1; next } /^$/ { on = 0 } on { print substr($0, 3) }'; }

# check PROGRAM [COMMAND]: runs the examples of one help text.
check() {
  local example folder
  folder=$(mktemp -d -p "$work")
  while IFS= read -r example; do
    run=$((run + 1))
    (cd "$folder" && timeout 300 bash -c "${example//127.0.0.1:7071/$address}") >"$folder.out" 2>&1 ||
      fail "$*: this example fails: $example: $(tail -n 3 "$folder.out")"
  done < <("$bin/$1" "${@:2}" --help | examples_of)
  grep -q '^Examples:$' <<<"$("$bin/$1" "${@:2}" --help)" || fail "$*: its help has no examples"
}

for program in freshet-sim freshet-bench; do
  check "$program"
  while IFS= read -r command; do check "$program" "$command"; done < <("$bin/$program" --help | commands_of)
done
((run >= 30)) || fail "only $run examples were found"
((failures == 0)) && echo "help examples: $run ran"
exit $((failures > 0))
