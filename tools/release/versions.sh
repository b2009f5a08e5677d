#!/usr/bin/env bash
# Checks that all files that name the version of Freshet name this one: usage: versions.sh VERSION. Prints a line for
# each that differs, and then fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=${1:?usage: versions.sh VERSION}
status=0

# said_in FILE EXPRESSION: the first group of the extended regular expression must match the version.
said_in() {
  local said
  said=$(sed -nE "s|$2|\\1|p" "$1" | sort -u)
  [[ $said == "$version" ]] && return
  echo "$1 says that this is ${said:-nothing}"
  status=1
}

said_in CMakeLists.txt '^project\(freshet VERSION ([0-9.]+).*'
said_in clients/python/pyproject.toml '^version = "(.*)"$'
said_in Dockerfile '^ARG VERSION=(.*)$'
said_in deploy/compose.yml '^ *image: freshet:\$\{FRESHET_VERSION:-(.*)\}$'
said_in deploy/k8s/kustomization.yaml '^ *newTag: "?([^"]*)"?$'
exit "$status"
