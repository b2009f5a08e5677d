#!/usr/bin/env bash
# man_pages_test.sh BIN_DIR: the manual page of each program has all commands and options of its --help in the same
# order. If groff is installed, it must not complain about a page.
set -uo pipefail
bin=$1
script=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/tools/man/man_page.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export FRESHET_CONFIG='' XDG_CONFIG_HOME=/dev/null
failures=0
fail() {
  printf 'man pages: %s\n' "$*"
  failures=$((failures + 1))
}

# Print the option names of a help text or a page, one a line.
options_of_help() { awk '/^  -/ { print $1 }'; }
options_of_page() { sed -n 's/^\\fB\(\(\\-[^ ]*\)\)\( .*\)\{0,1\}\\fR$/\1/p' | sed 's/\\-/-/g'; }
commands_of() { awk '/^([A-Z][a-z]+ c|C)ommands:$/ { on = 1; next } /^$/ { on = 0 } on && /^  [^ ]/ { print $1 }'; }

# Prints all help texts of a program in the order of its page.
helps() {
  local program=$1 command
  shift
  "$program" "$@" --help
  while IFS= read -r command; do
    [[ -z $command ]] || helps "$program" "$@" "$command"
  done < <("$program" "$@" --help | commands_of)
}

for page in freshet:1 freshetd:8 freshet-sim:1 freshet-bench:1; do
  name=${page%:*}
  "$script" "$bin/$name" "${page#*:}" 1.2.3 >"$work/$name" || fail "$name: no page"
  helps "$bin/$name" | options_of_help >"$work/help"
  options_of_page <"$work/$name" >"$work/page"
  [[ -s $work/help ]] || fail "$name: its help has no options"
  diff "$work/help" "$work/page" || fail "$name: the page has other options than its help"
  grep -q "^.TH ${name^^} ${page#*:} \"\" \"freshet 1.2.3\"" "$work/$name" || fail "$name: no title"
  while IFS= read -r command; do
    [[ -z $command ]] || grep -q "^.SH \".* ${command^^}\"$" "$work/$name" || fail "$name: no section of $command"
  done < <("$bin/$name" --help | commands_of)
  if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww "$work/$name" 2>&1 >/dev/null | grep -v 'adjust line' && fail "$name: groff complains"
  fi
done
for name in freshet freshetd freshet-sim freshet-bench; do
  grep -q '^.SH Examples' "$work/$name" || fail "$name: no examples"
  grep -q '^Exit code: 0 ' "$work/$name" || fail "$name: no exit codes"
done
for heading in Files Environment; do
  grep -q "^$heading: " "$work/freshetd" || fail "freshetd: no $heading"
done
version=$("$bin/freshet" --version)
for name in freshet freshetd freshet-sim freshet-bench freshet-demo; do
  [[ $("$bin/$name" --version) == "$name ${version#freshet }" ]] || fail "$name: --version says $("$bin/$name" --version)"
done
((failures == 0)) && echo 'man pages: as the programs say'
exit $((failures > 0))
