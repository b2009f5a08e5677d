#!/usr/bin/env bash
# Runs `./dev run` once everything is built. For each scene it starts freshetd with its own store and plays the history
# of some pages against it; the server of the last scene runs until Ctrl-C. `--help` lists the options. With
# FRESHET_OPTIONS_ONLY the script only checks its options.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bin=${FRESHET_BIN:-$root/build/release/bin}
caller=${FRESHET_CALLER_DIR:-$PWD}

run_dir=$root/data/run
listen=127.0.0.1:7071
http_listen=127.0.0.1:7072
keep_serving=1
prepare=()
scenes=(sitemap manual)
history=
server_pid=
demo_pid=
stopping=

usage() {
  cat <<'USAGE'
usage: ./dev run [OPTIONS]
Plays two scenes against freshetd, and beside it the same crawls under simple rules:
  sitemap   two years of two sites in 30 s; the sitemap of one marks every page as changed every day
  manual    ten years of the PHP manual in a minute; its sitemap announces half of the changes
Options:
  --scene NAME          only this scene
  --history FILE        another history instead (format: examples/histories/README.md)
  --seconds S           how long a scene takes, 1 to 86400
  --years N             how much of the end of the history it plays (default: a day takes 16 ms, or longer where the
                        history is shorter than that)
  --rate R              crawls a history day for every 1,000 pages (default: 17 in the sitemap, 0.5 in the manual)
  --crawl-rate R        the same in crawls a second
  --recall P            share of the changes that the sitemap announces, 0 to 1 (default: 1, in the manual 0.5)
  --listen HOST:PORT    where freshetd serves gRPC, port 0: any that is free (default 127.0.0.1:7071)
  --http-listen HOST:PORT  where it serves metrics and the console (default 127.0.0.1:7072)
  --run-dir DIR         stores, log and state of the run (default data/run)
  --exit                stop after the last summary instead of serving until Ctrl-C
USAGE
}

fail() {
  echo "dev run: $1" >&2
  exit "${2:-1}"
}

# Resolves a path of the user, who may have typed it in another directory.
from_caller() { case $1 in /*) printf '%s\n' "$1" ;; *) printf '%s\n' "$caller/$1" ;; esac }

parse_options() {
  while (($#)); do
    case $1 in
      --help | -h) usage && exit 0 ;;
      --exit) keep_serving= && shift && continue ;;
      --scene | --seconds | --history | --years | --rate | --crawl-rate | --recall | --listen | --http-listen | --run-dir) ;;
      *) usage >&2 && fail "unknown option '$1'" 2 ;;
    esac
    (($# > 1)) || fail "$1 needs a value" 2
    case $1 in
      --seconds | --years | --rate | --crawl-rate | --recall) prepare+=("$1" "$2") ;;
      --scene) scenes=("$2") ;;
      --history) history=$(from_caller "$2") && scenes=(history) ;;
      --listen) listen=$2 ;;
      --http-listen) http_listen=$2 ;;
      --run-dir) run_dir=$(from_caller "$2") ;;
    esac
    shift 2
  done
}

# Refuses what freshet-demo would refuse too, but before it is built.
check_options() {
  local i
  [[ ${scenes[0]} =~ ^(sitemap|manual|history)$ ]] || fail "--scene: '${scenes[0]}' is neither sitemap nor manual" 2
  if [[ -n $history ]]; then
    [[ -e $history ]] || fail "--history: $history: No such file or directory" 2
    [[ -r $history && ! -d $history ]] || fail "--history: $history cannot be read" 2
  fi
  for ((i = 0; i < ${#prepare[@]}; i += 2)); do
    [[ ${prepare[i + 1]} =~ ^[0-9.]+(e[0-9]+)?$ ]] || fail "${prepare[i]}: '${prepare[i + 1]}' is not a number" 2
  done
}

# Only one run at a time may use a directory. The lock ends with this process, so a kill leaves none behind; but on a
# busy machine a killed process may need a moment to end.
lock_run_dir() {
  mkdir -p "$run_dir" || fail "cannot create $run_dir"
  exec 9>>"$run_dir/lock"
  flock -w 2 9 || fail "another ./dev run is using $run_dir: stop it, or choose another one with --run-dir"
}

# A server whose ./dev run was killed stops by itself (see start_server), perhaps a moment later.
await_earlier_server() {
  local pid
  pid=$(cat "$run_dir/freshetd.pid" 2>/dev/null) || return 0
  [[ $pid =~ ^[0-9]+$ && $(readlink "/proc/$pid/exe" 2>/dev/null) == */freshetd* ]] || return 0
  kill -TERM "$pid" 2>/dev/null || return 0
  timeout 15 tail --pid="$pid" -s 0.1 -f /dev/null || fail "freshetd of an earlier run (process $pid) does not stop"
}

# Sets the options of a scene, its own first: options of the user come later and win.
set_scene() {
  scene=$1
  scene_dir=$run_dir/$scene
  case $scene in
    sitemap)
      played=$root/examples/histories/lying-sitemap.tsv.gz
      settings=(--seconds 30 --years 2 --rate 17)
      about='Two sites. The sitemap of one marks every page as changed every day.'
      ;;
    manual)
      played=$root/examples/histories/php.tsv.gz
      settings=(--seconds 60 --rate 0.5 --recall 0.5)
      about='The PHP manual. Its sitemap announces half of the changes, and crawls are scarce.'
      ;;
    *) played=$history settings=() about=$history ;;
  esac
}

# Sets day, epoch, crawl_rate, with which the server's horizons fit the replay.
prepare_run() {
  local told name value
  told=$("$bin/freshet-demo" prepare --run-dir "$scene_dir" --history "$played" "${settings[@]}" "${prepare[@]}") || exit $?
  while IFS='=' read -r name value; do
    case $name in
      day) day=$value ;;
      epoch) epoch=$value ;;
      crawl_rate) crawl_rate=$value ;;
    esac
  done <<<"$told"
  sed -e "s/^\(  day:\).*/\1 $day/" -e "s/^\(  interval:\).*/\1 $epoch/" -e "s/^\(crawl_rate:\).*/\1 $crawl_rate/" \
    "$root/deploy/demo.yaml" >"$scene_dir/freshetd.yaml" || fail "cannot write $scene_dir/freshetd.yaml"
}

# Starts freshetd and waits for its ready line. A session of its own lets Ctrl-C reach only this script, which then
# stops everything in order. A signal at this script's death stops the server, even after kill -9.
start_server() {
  exec 3< <(
    exec 9>&-
    exec setsid setpriv --pdeathsig TERM "$bin/freshetd" --config "$scene_dir/freshetd.yaml" \
      --data-dir "$scene_dir/store" --listen "$listen" --http-listen "$http_listen" 2>"$run_dir/freshetd.log"
  )
  server_pid=$!
  echo "$server_pid" >"$run_dir/freshetd.pid"
  local ready field
  if ! read -r ready <&3 || [[ $ready != ready\ * ]]; then
    [[ -z $stopping ]] || finish
    local code=0
    wait "$server_pid" || code=$?
    server_pid=
    tail -n 3 "$run_dir/freshetd.log" >&2
    local hint=
    ! grep -q listen "$run_dir/freshetd.log" || hint='; choose others with --listen and --http-listen, port 0 being any that is free'
    fail "freshetd did not start (exit code $code)$hint"
  fi
  for field in $ready; do
    case $field in
      grpc=*) grpc=${field#grpc=} ;;
      http=*) http=${field#http=} ;;
    esac
  done
}

# Plays in the background and waits, so that this script handles signals at once.
play() {
  setpriv --pdeathsig TERM "$bin/freshet-demo" play --run-dir "$scene_dir" --server "$grpc" --http "$http" 9>&- 3<&- &
  demo_pid=$!
  local code=0
  wait "$demo_pid" || code=$?
  # A signal ends the wait early, while the replay is still writing its summary.
  [[ -n $stopping ]] && { wait "$demo_pid" || code=$?; }
  demo_pid=
  return "$code"
}

stop_server() {
  [[ -n $server_pid ]] || return 0
  kill -TERM "$server_pid" 2>/dev/null || true
  local code=0
  wait "$server_pid" || code=$?
  server_pid=
  return "$code"
}

# shellcheck disable=SC2317  # reached through the trap
on_signal() {
  stopping=1
  [[ -z $demo_pid ]] || kill -TERM "$demo_pid" 2>/dev/null || true
}

server_gone() {
  local code=0
  wait "$server_pid" || code=$?
  server_pid=
  tail -n 3 "$run_dir/freshetd.log" >&2
  fail "freshetd ended (exit code $code), its log is $run_dir/freshetd.log; ./dev run again goes on with its store"
}

finish() {
  local code=0
  stop_server || code=$?
  ((code == 0)) || fail "freshetd ended with exit code $code, its log is $run_dir/freshetd.log"
  echo "freshetd has stopped."
  exit 0
}

ask_how() {
  local program=$bin/freshet url
  [[ $caller != "$root" ]] || program=${program#"$root/"}
  url=$(zcat -f "$played" 2>/dev/null | head -n 1 | cut -f 1 || true)
  [[ $grpc == 127.0.0.1:7071 ]] || program+=" --server $grpc"
  echo
  echo "freshetd goes on serving: gRPC on $grpc, console http://$http/ . Nobody fetches any more, so its pages go stale."
  echo "Why is a page crawled or not?      $program explain $url"
  echo "How far is the sitemap trusted?    $program trust"
  echo "Where do simple rules do as well?  ./dev run --scene manual --rate 2 --recall 1"
  echo "Ctrl-C stops it."
}

# Starts the server and plays one scene to its end; leaves the server running.
play_scene() {
  set_scene "$1"
  prepare_run
  [[ -z $stopping ]] || finish
  start_server
  echo
  echo "$about"
  echo "freshetd serves gRPC on $grpc; console: http://$http/"
  local code=0
  play || code=$?
  [[ -z $stopping ]] || finish
  kill -0 "$server_pid" 2>/dev/null || server_gone
  if ((code != 0)); then
    # A killed server may still exist when its clients have lost it.
    local ended=0
    stop_server || ended=$?
    ((ended == 0)) || fail "freshetd ended with exit code $ended, its log is $run_dir/freshetd.log"
    exit "$code"
  fi
}

main() {
  parse_options "$@"
  check_options
  [[ -z ${FRESHET_OPTIONS_ONLY:-} ]] || exit 0
  lock_run_dir
  await_earlier_server
  trap on_signal INT TERM HUP
  local name
  for name in "${scenes[@]}"; do
    [[ -z $server_pid ]] || stop_server || fail "freshetd did not stop in order, its log is $run_dir/freshetd.log"
    play_scene "$name"
  done
  [[ -n $keep_serving ]] || finish
  ask_how
  wait "$server_pid" || true
  [[ -n $stopping ]] || server_gone
  finish
}

main "$@"
