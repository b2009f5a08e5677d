#!/usr/bin/env bash
# Tests the house rules: allowed includes, forbidden calls, sizes, the form of headers. Each failure is one line:
# file, rule, what to do instead.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

failures=0
# Uses no git, so that a release archive can be checked, too.
list() { find core sync storage server tools lab tests -name "$1" -not -path '*/golden/*' 2>/dev/null | sort; }
fail() {
  printf 'tidy: %s\n' "$*"
  failures=$((failures + 1))
}
# forbid PATTERN PATHS... -- MESSAGE: no line of the paths may match.
forbid() {
  local pattern=$1 paths=() line
  shift
  while [[ $1 != -- ]]; do paths+=("$1") && shift; done
  shift
  while IFS= read -r line; do
    [[ -z $line ]] || fail "$line: $*"
  done < <(grep -rnE --include='*.h' --include='*.cc' "$pattern" "${paths[@]}" 2>/dev/null)
}

# --- Layers -----------------------------------------------------------------------------------------
forbid '#include [<"](grpc|google/protobuf|freshet/v1|rocksdb|spdlog|prometheus|thread>|mutex>|shared_mutex>|condition_variable>|future>|fstream>|iostream>|filesystem>|storage/|server/|tools/)' \
  core -- 'core/ has no I/O, threads, RPC, store or logging; pass values in, return values out'
forbid '#include "' sync -- 'sync/ is what the standard library lacks, and uses nothing of ours'
forbid '(std::(mutex|shared_mutex|recursive_mutex|condition_variable)|absl::(Mutex|CondVar))\b' \
  core storage server tools lab tests -- 'lock by sync/mutex.h, whose annotations clang checks'
forbid '#include [<"](grpc|google/protobuf|freshet/v1|server/|tools/)' storage -- 'storage/ knows neither RPC nor the server'
# Logs and the terminal share the code that shows untrusted text safely.
forbid '#include "(storage/|server/|core/([^b]|base/([^nsw]|s[^a])))' tools/cli -- 'the clients link the API only'
forbid '#include "(storage/|server/|tools/(demo|sim|what_if)/|core/([^b]|base/([^ilpsu]|i[^p]|l[^i]|p[^u]|s[^at]|u[^nr])))|#include [<"](grpc|freshet/v1)' \
  tools/sitemap -- 'polling sites knows addresses, URLs, limits, status and units of the core, and no server'
# The folders of the server, then its top files; later ones may use earlier ones.
top='(server|logging|maintenance|monitor|reload|check_config|serving|starting|store_options|verify)\.h'
forbid '#include "server/([^/]*"|(logs|config|engine|ports|api|ops)/)' server/base -- 'server/base is below all else of the server'
forbid '#include "server/([^/]*"|(config|auth|engine|ports|api|ops)/)' server/logs -- 'who logs knows not of what'
forbid '#include "server/(auth|engine|ports|api|ops)/' server/config -- 'a configuration does not know who reads it'
forbid '#include "server/([^/]*"|(ports|api|ops)/)|#include [<"](grpc|google/protobuf|freshet/v1)' server/engine -- \
  'the engine knows neither RPC nor what is above it'
forbid '#include "(server/((engine|api|ops)/|'"$top"')|freshet/v1|storage/)' server/ports -- \
  'what listens knows what a connection is, and the configuration'
forbid '#include "server/(ops/|'"$top"')' server/api server/forward -- 'calls know no operators'
forbid '#include "server/'"$top" server/ops -- 'the server as a whole is on top'
forbid '#include [<"]rocksdb' server tools lab -- 'only storage/ speaks RocksDB'
forbid '#include "storage/internal' core server tools -- 'what is inside storage is its own'
# --- The laboratory: above all others; its later folders may use earlier ones.
forbid '#include "lab/' core sync storage server tools -- 'the service is built without the laboratory'
# The headers of status and units need no linked code.
forbid '#include "(storage/|server/|tools/cli/|lab/(bench|methods|paper|plot|sim|what_if)/|core/[^b]|core/base/([^su]|se|ur))' \
  lab/demo lab/common/{history,replay_policy,replay_rules}.* -- \
  'the clients link the API only'
forbid '#include "(server|storage|tools/cli)/' lab/common lab/methods lab/plot lab/sim lab/paper -- 'the simulator links core alone'
forbid '#include "lab/[^c]' lab/common -- 'what programs share uses none of them'
forbid '#include "lab/[^cm]' lab/methods -- 'methods know not who judges them'
forbid '#include "lab/[^cp]' lab/plot -- 'a plot knows not what it shows'
mapfile -t simulator < <(find lab/sim \( -name '*.h' -o -name '*.cc' \) -not -path lab/sim/main.cc)
forbid '#include "lab/(bench|demo|paper|what_if)/' "${simulator[@]}" -- 'the simulator is below papers and what-if'
forbid '#include "lab/(bench|demo|what_if)/' lab/paper -- 'papers use the simulator, no other program'
forbid '#include "((server|storage)|lab/(bench|demo|paper))/' lab/what_if -- 'what-if joins the simulator and the client, nothing else'
forbid '#include "(tools/cli|lab/(demo|paper|plot|sim|what_if))/' lab/bench -- 'a program uses nothing of another'
# The program freshetd, main.cc, is above the service as well.
mapfile -t service < <(find server -name '*.h' -o -name '*.cc' -not -path server/main.cc)
forbid '#include "(tools|tests)/' storage "${service[@]}" -- 'programs are above the service'
forbid '#include "core/(estimate|index|plan|schedule)/' core/model -- 'the model is below what uses it'
forbid '#include "core/schedule/' core/base core/estimate core/index core/plan -- 'the shard is above its parts'
while IFS= read -r line; do
  [[ -z $line ]] || fail "$line: rocksdb types stay in storage/*.cc and storage/internal headers"
done < <(grep -rnE 'rocksdb::Status' storage --include='*.h' --exclude-dir=internal 2>/dev/null)

# --- Calls that make a run irreproducible -------------------------------------------------------------
# house.py counts the reads of clocks.
forbid 'random_device|[^_a-z]rand\(|[^_a-z]time\((nullptr|NULL|0)\)|gettimeofday|clock_gettime' \
  core storage -- 'time and seeds are arguments'
forbid 'random_device|[^_a-z]s?rand\(|[^_a-z]time\((nullptr|NULL|0)\)|gettimeofday' server tools lab -- \
  'seeds come from flags, time from server/system_clock'
sleeps='(sleep_for|sleep_until|[^_a-z](u|nano)?sleep)\('
forbid "$sleeps" core storage -- 'nothing waits here'
mapfile -t tests < <(find tests \( -name '*.h' -o -name '*.cc' \) -not -path tests/support/wall_time.h)
forbid "$sleeps|poll\(nullptr, 0|while \(.*yield\(\)|while \(.*\) (\{\}|;)" "${tests[@]}" -- \
  'a test waits by tests/support/wall_time.h: Eventually, WaitUntil or LetPass'
forbid 'using namespace std' core storage server tools lab tests -- 'name what you use'
forbid '\b(TO''DO|FIX''ME|X''XX|HA''CK)\b' core storage server tools lab tests -- 'finish it or leave it out'

# --- Sizes ---------------------------------------------------------------------------------------------
while IFS= read -r file; do
  lines=$(wc -l <"$file")
  ((lines <= 800)) || fail "$file: $lines lines, at most 800: move a wall"
done < <(list '*.cc'; list '*.h')
while IFS= read -r line; do
  [[ -z $line ]] || fail "$line"
done < <(
  # A function body runs from a line that ends in `{` at the margin or in a class to its closing brace.
  for file in $(list '*.cc'); do
    awk -v file="$file" '
      /^[A-Za-z~].*\{$/ && !/^(namespace|class|struct|enum|union|extern)/ { start = NR; name = $0 }
      /^\}/ && start { if (NR - start > 70) printf "%s:%d: function of %d lines, at most 70: split it\n", file, start, NR - start; start = 0 }
    ' "$file"
  done
)

# --- Headers are the manual -----------------------------------------------------------------------------
for file in $(find core storage server tools lab -name '*.h' 2>/dev/null | sort); do
  guard=FRESHET_$(tr 'a-z/.' 'A-Z__' <<<"$file")_
  grep -q "^#ifndef $guard\$" "$file" || fail "$file: include guard should be $guard"
  head -n 1 "$file" | grep -q '^// ' || fail "$file: starts without saying what it is"
  if grep -qE '^class [A-Za-z]+( final)?( :.*)? \{' "$file"; then
    grep -qiE 'Thread-safe|Thread-compatible|Owner thread only' "$file" ||
      fail "$file: a class without its thread rule (Thread-safe, Thread-compatible or Owner thread only)"
  fi
done

# --- Structure: classes, depth, clocks, asserts, comment --------------------------------------------------
python3 -B tests/tidy/house.py || failures=$((failures + 1))

# --- The reading order stays short --------------------------------------------------------------------------
story=(core/model/page.h core/model/crawl_value.h core/index/price_index.h core/schedule/event.h
  core/schedule/shard_steps.cc storage/format.h server/engine/shard.cc server/server.cc)
total=0
for file in "${story[@]}"; do
  if [[ -f $file ]]; then total=$((total + $(wc -l <"$file"))); else fail "$file: named in the reading order, missing"; fi
done
((total <= 2000)) || fail "the reading order of docs/architecture.md has $total lines, at most 2000"

# --- Limits of tables that clients share -----------------------------------------------------------------
# A new limit is the size of one thing, or of a table that one client could fill. Such a table needs shares of clients.
while read -r limit; do
  grep -qxF "$limit" tests/tidy/own_limits.txt && continue
  awk -F'|' -v limit="\`$limit\`" '
    /^\|/ && index($3, limit) && $4 ~ /[a-z]/ && $5 ~ /[a-z]/ { found = 1 }
    END { exit !found }' docs/limits.md ||
    fail "$limit: docs/limits.md has no row that says what one client gets of it, and when it is given back;" \
      'of a limit that is no table of all clients tests/tidy/own_limits.txt says so'
done < <(grep -hoE 'inline constexpr [a-z0-9_:]+ kMax[A-Za-z]+' core/base/{,id_}limits.h server/base/{,frontier_}limits.h |
  sed 's/.* //' | sort -u)

# --- Docs ---------------------------------------------------------------------------------------------------
while IFS=: read -r file link; do
  target=${link%%#*}
  [[ $target == http*://* || $target == mailto:* ]] && continue
  [[ -n $target ]] || target=${file##*/}
  [[ -e $(dirname "$file")/$target ]] || fail "$file: link to $target leads nowhere"
  [[ $link == *#* ]] || continue
  headings=$(sed -nE 's/^#+ //p' "$(dirname "$file")/$target" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-')
  grep -qxF -e "${link#*#}" <<<"$headings" || fail "$file: $link is no heading of $target"
done < <(find . -name '*.md' -not -path './build/*' -not -path './data/*' -print0 |
  xargs -0 grep -HoE '\]\([^) ]+\)' | sed -E 's/\]\(([^)]*)\)$/\1/')

# The build makes all programs that the docs tell a reader to start.
while IFS=: read -r file program; do
  name=${program##*/}
  folder=${name#core_}
  [[ $name == core_*_test && -d tests/core/${folder%_test} ]] && continue
  grep -rqE --include=CMakeLists.txt "^ *freshet_[a-z]+\($name( |\$)" lab server tests tools ||
    fail "$file: nothing makes $program"
done < <(grep -roE --include='*.md' 'build/release/(bin|bench|tests)/[a-z_-]+' README.md CONTRIBUTING.md docs)

((failures == 0)) && echo 'tidy: clean'
exit $((failures > 0))
