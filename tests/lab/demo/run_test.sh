#!/usr/bin/env bash
# Plays a few seconds of real history against a real freshetd on free ports, as `./dev run` does;
# again with a server that is killed during the run; and checks what users see when something is
# wrong.
# usage: run_test.sh REPOSITORY BIN_DIR PART...   (PART: the name of a function of this file)
set -euo pipefail
repository=$1
export FRESHET_BIN=$2
scratch=$(mktemp -d)
run_pid=
clean_up() {
  [[ -z $run_pid ]] || kill -TERM "$run_pid" 2>/dev/null || true
  rm -rf "$scratch"
}
trap clean_up EXIT
code=0
run=("$repository/lab/demo/run.sh" --listen 127.0.0.1:0 --http-listen 127.0.0.1:0)

fail() {
  printf 'run_test: %s\n' "$1" >&2
  sed 's/^/  | /' "$scratch/out" >&2
  exit 1
}
has() { grep -qE -- "$1" "$scratch/out" || fail "no line matches: $1"; }
has_not() { ! grep -qE -- "$1" "$scratch/out" || fail "a line matches: $1"; }
# percent NAME: the first percentage in the last line that starts with NAME.
percent() { grep -E "^ *$1" "$scratch/out" | tail -n 1 | sed -E 's/^[^0-9]* +([0-9.]+) %.*/\1/'; }
within() { awk -v x="$2" -v low="$3" -v high="$4" 'BEGIN { exit !(x != "" && x >= low && x <= high) }' || fail "$1 is '$2', not within $3 and $4"; }

plays_to_the_end() {
  "${run[@]}" --run-dir "$scratch/a" --seconds 4 --exit >"$scratch/out" 2>&1 || fail "exit code $?"
  has '^freshetd serves gRPC on 127.0.0.1:[0-9]+; console: http://127.0.0.1:[0-9]+/'
  has 'crawls/s .*% changed .*believed'
  has '^Played lying-sitemap.tsv.gz from 20[0-9-]+ to 20[0-9-]+ in [0-9]+.[0-9] s: [0-9,]+ pages'
  has '^Played php.tsv.gz from 20[0-9-]+ to 2026-08-2[0-9] in [0-9]+.[0-9] s: 11,329 pages'
  within 'true staleness' "$(percent 'Freshet, in truth')" 0.1 70
  within 'believed staleness' "$(percent 'Freshet, as it believes')" 0.1 99
  within 'staleness of announced pages first' "$(percent 'announced pages first \*')" 0.1 70
  within 'uniform staleness' "$(percent 'all pages in turn \(uniform\) \*')" 0.1 70
  local share
  share=$(sed -nE 's/.* a second allow, ([0-9.]+) % of them found a change.*/\1/p' "$scratch/out" | tail -n 1)
  within 'share of crawls that found a change' "$share" 0.1 100
  has_not 'Note: the console'
  has '^freshetd has stopped'
}

starts_over_after_the_end() {
  "${run[@]}" --run-dir "$scratch/a" --scene manual --seconds 1 --exit >"$scratch/out" 2>&1 || fail "exit code $?"
  has 'the earlier run had finished: starting over'
}

# Starts a run in the background and returns after two lines of progress.
start_and_watch() {
  local seen=0 line
  : >"$scratch/out"
  exec 4< <(exec "${run[@]}" "$@" 2>&1)
  run_pid=$!
  while ((seen < 2)); do
    read -r line <&4 || fail 'the run ended too early'
    printf '%s\n' "$line" >>"$scratch/out"
    [[ $line != *crawls/s* ]] || ((++seen))
  done
}

# Waits for the run to end and sets `code` to its exit code.
await_run() {
  cat <&4 >>"$scratch/out"
  exec 4<&-
  code=0
  wait "$run_pid" || code=$?
  run_pid=
}

goes_on_after_a_kill() {
  start_and_watch --run-dir "$scratch/b" --scene manual --seconds 20
  kill -KILL "$(cat "$scratch/b/freshetd.pid")"
  await_run
  ((code != 0)) || fail 'a killed server counts as success'
  has 'dev run: freshetd ended|no freshetd answers'

  start_and_watch --run-dir "$scratch/b" --scene manual --seconds 20
  has 'going on with the earlier run at 20'
  has_not 'starting over'
  kill -INT "$run_pid"
  await_run
  ((code == 0)) || fail "exit code $code after an interrupt"
  has 'Stopped before the end of the history'
  has '^Played php.tsv.gz'
  has '^freshetd has stopped'
}

# After a killed run its server ends, and its directory can be used again.
goes_on_after_the_run_is_killed() {
  start_and_watch --run-dir "$scratch/c" --scene manual --seconds 20
  local server
  server=$(cat "$scratch/c/freshetd.pid")
  kill -KILL "$run_pid"
  wait "$run_pid" 2>/dev/null || true
  # Simulates a server that needs one more second to end.
  exec 5>>"$scratch/c/lock"
  flock -n 5 || fail 'a killed run keeps its lock'
  sleep 1 &
  exec 5>&-
  start_and_watch --run-dir "$scratch/c" --scene manual --seconds 20
  has 'going on with the earlier run at 20'
  ! kill -0 "$server" 2>/dev/null || fail 'the server of the killed run still runs'
  kill -INT "$run_pid"
  await_run
  ((code == 0)) || fail "exit code $code after an interrupt"
}

explains_what_is_wrong() {
  code=0
  "${run[@]}" --run-dir "$scratch/d" --history /nonexistent.tsv >"$scratch/out" 2>&1 || code=$?
  ((code == 2)) || fail "exit code $code for a history that is not there"
  has '/nonexistent.tsv: No such file'
  code=0
  "${run[@]}" --run-dir "$scratch/d" --bogus >"$scratch/out" 2>&1 || code=$?
  ((code == 2)) || fail "exit code $code for an unknown option"
  has "unknown option '--bogus'"
  code=0
  "${run[@]}" --run-dir "$scratch/d" --scene comedy >"$scratch/out" 2>&1 || code=$?
  ((code == 2)) || fail "exit code $code for a scene that does not exist"
  has "'comedy' is neither sitemap nor manual"
  code=0
  FRESHET_OPTIONS_ONLY=1 "${run[@]}" --run-dir "$scratch/d" --seconds soon >"$scratch/out" 2>&1 || code=$?
  ((code == 2)) || fail "exit code $code for seconds that are not a number"
  has "--seconds: 'soon' is not a number"
  FRESHET_OPTIONS_ONLY=1 "${run[@]}" --run-dir "$scratch/none" --seconds 5 >"$scratch/out" 2>&1 || fail "exit code $? for good options"
  [[ ! -e $scratch/none ]] || fail 'looking at options writes something'
  # The next run gets the port of this run, which is taken.
  start_and_watch --run-dir "$scratch/d" --scene manual --seconds 20
  local taken
  taken=$(sed -nE 's/^freshetd serves gRPC on ([0-9.:]+);.*/\1/p' "$scratch/out")
  code=0
  "${run[@]}" --run-dir "$scratch/d" >"$scratch/out" 2>&1 || code=$?
  ((code == 1)) || fail "exit code $code for a directory in use"
  has 'another ./dev run is using'
  code=0
  "${run[@]}" --run-dir "$scratch/e" --listen "$taken" >"$scratch/out" 2>&1 || code=$?
  ((code == 1)) || fail "exit code $code for a port in use"
  has 'choose others with --listen'
  kill -INT "$run_pid"
  await_run
  ((code == 0)) || fail "exit code $code after an interrupt"
}

for part in "${@:3}"; do "$part"; done
echo 'run_test: passed'
