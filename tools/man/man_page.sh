#!/usr/bin/env bash
# man_page.sh PROGRAM SECTION VERSION: prints a man page made from the --help of the program and of every command below
# it, so that page and help never differ. help2man misreads the layout of CLI11 (docs/decisions/0040).
set -euo pipefail
program=$1 section=$2 version=$3
name=$(basename "$program")
# Help must not depend on the settings of the person who builds.
export FRESHET_CONFIG='' XDG_CONFIG_HOME=/dev/null LC_ALL=C.UTF-8
for variable in "${!FRESHET_@}"; do [[ $variable == FRESHET_CONFIG ]] || unset "$variable"; done

help_of() { "$program" "$@" --help; }

# Turns one help into the body of a page. `level` is the macro of its headings: .SH, or .SS within the section of a
# command.
body() {
  awk -v level="$1" '
    function text(s) {
      gsub(/\\/, "\\e", s)
      gsub(/-/, "\\-", s)
      if (s ~ /^[.'"'"']/) s = "\\&" s
      return s
    }
    function heading(s) { print level " " s }
    # Prints a name and its meaning in two columns: the second begins at character 31, or in the next line.
    function flush_entry() {
      if (entry == "") return
      print ".TP"
      print "\\fB" text(entry) "\\fR"
      print (meaning == "" ? "\\&" : text(meaning))
      entry = ""; meaning = ""
    }
    BEGIN { margin = sprintf("%30s", "") }
    NR == 1 { if (level == ".SS") print text($0); next }
    /^Usage: / { heading("Synopsis"); print ".B " text(substr($0, 8)); state = ""; next }
    /^(Arguments|Options|([A-Z][a-z]+ c|C)ommands):$/ || /^\[Option Group: / {
      flush_entry(); sub(/:$/, ""); heading($0)
      state = "entries"; next
    }
    /^Examples:$/ { flush_entry(); heading("Examples"); print ".nf"; state = "examples"; next }
    state == "entries" && substr($0, 1, 30) == margin { meaning = meaning (meaning == "" ? "" : " ") substr($0, 31); next }
    state == "entries" && /^  / {
      flush_entry()
      pending = $0
      # If both fit in a line, a space precedes the second; text in brackets has spaces too.
      if (length(pending) > 30 && substr(pending, 30, 1) == " " && substr(pending, 1, 30) !~ /\([^)]*$/) {
        entry = substr(pending, 3, 28); meaning = substr(pending, 31)
      } else {
        entry = substr(pending, 3)
      }
      sub(/ +$/, "", entry)
      next
    }
    state == "examples" && /^  / { print text(substr($0, 3)); next }
    /^$/ {
      flush_entry()
      if (state == "examples") print ".fi"
      if (state != "") { state = "" ; blank = 1 }
      next
    }
    { if (blank) { print ".PP"; blank = 0 } print text($0) }
    END { flush_entry(); if (state == "examples") print ".fi" }
  '
}

# Lists the names of the commands in a help.
commands_of() { awk '/^([A-Z][a-z]+ c|C)ommands:$/ { on = 1; next } /^$/ { on = 0 } on && /^  [^ ]/ { print $1 }'; }

# Prints a section for every command below the program, depth first. Their footers are that of the program.
sections() {
  local help command
  help=$(help_of "$@")
  while IFS= read -r command; do
    [[ -n $command ]] || continue
    printf '.SH "%s"\n' "${name^^} ${*^^}${*:+ }${command^^}"
    help_of "$@" "$command" | without_footer | body .SS
    sections "$@" "$command"
  done < <(commands_of <<<"$help")
}

# Prints everything up to the text after the examples.
without_footer() {
  awk '/^Examples:$/ { examples = 1 } examples && /^$/ { exit } /^(Times are|Exit code)/ { exit } { print }'
}

summary=$(help_of | sed -n 1p)
summary=${summary%.}
printf '.TH %s %s "" "freshet %s" "Freshet"\n' "${name^^}" "$section" "$version"
printf '.SH Name\n%s \\- %s\n' "$name" "${summary//-/\\-}"
help_of | body .SH
sections
