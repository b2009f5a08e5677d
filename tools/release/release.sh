#!/usr/bin/env bash
# Makes everything that is published of a version, in build/release-VERSION: Debian packages, the source archive, the
# Python package, notes, and their signed sums. Publishes nothing. docs/releasing.md describes the steps before and
# after.
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$repository"
version=
key=
dry_run=
build=

usage() {
  cat <<'USAGE'
usage: ./dev release VERSION [OPTIONS]
  --key KEY    sign the sums: a file is a private key of ssh-keygen, anything else a key of gpg
  --dry-run    make everything of an unclean tree, a version that is not dated or without a key, too, and say so
  --build DIR  take the programs of this build instead of building release
USAGE
}
say() { printf '== release: %s\n' "$*" >&2; }
fail() {
  echo "release: $1" >&2
  exit "${2:-1}"
}
# Stops a release, but not a rehearsal of one.
object() {
  [[ -n $dry_run ]] || fail "$1"
  say "a release would stop here: $1"
}

parse_options() {
  while (($#)); do
    case $1 in
      --help | -h) usage && exit 0 ;;
      --dry-run) dry_run=1 && shift ;;
      --key | --build)
        (($# > 1)) || fail "$1 needs a value" 2
        if [[ $1 == --key ]]; then key=$2; else build=$2; fi
        shift 2
        ;;
      -*) usage >&2 && fail "unknown option '$1'" 2 ;;
      *)
        [[ -z $version ]] || fail "one version, not '$1' as well" 2
        version=$1 && shift
        ;;
    esac
  done
  [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { usage >&2 && fail 'needs a version such as 0.1.0' 2; }
}

# Prints the section of CHANGELOG.md about the version, without its heading.
notes() { awk -v "version=$version" '/^## / { here = $2 == version; next } here' CHANGELOG.md; }

check_state() {
  local declared dated
  declared=$(tools/release/versions.sh "$version") || fail "$declared"
  grep -q "^## $version\b" CHANGELOG.md || fail "CHANGELOG.md has no section '## $version'"
  [[ -n $(notes | tr -d '[:space:]') ]] || fail "CHANGELOG.md says nothing of $version"
  dated=$(grep -E "^## $version \([0-9]{4}-[0-9]{2}-[0-9]{2}\)$" CHANGELOG.md || true)
  [[ -n $dated ]] || object "the section of $version in CHANGELOG.md has no date, as in '## $version (2026-01-31)'"
  [[ -z $(git status --porcelain) ]] || object 'there are changes that are not committed'
  ! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || [[ $(git rev-list -n 1 "v$version") == $(git rev-parse HEAD) ]] ||
    object "the tag v$version is another commit"
  [[ -n $key ]] || object 'no --key to sign with'
}

# Makes the archive of the sources as committed, which is the same wherever it is made.
make_source() {
  git archive --format=tar --prefix="freshet-$version/" HEAD | gzip -9n >"$output/freshet-$version-src.tar.gz"
}

make_packages() {
  if [[ -z $build ]]; then
    ./dev packages >&2
    cp build/packages/freshet-{server,client}_"$version"_*.deb "$output/"
  else
    tools/release/packages.sh "$build" "$output" >&2
  fi
}

# Uses only files of the archive, so that no stray file gets in.
make_python() {
  local scratch venv
  venv=$(tests/ship/venv.sh)
  scratch=$(mktemp -d)
  tar -xzf "$output/freshet-$version-src.tar.gz" -C "$scratch"
  "$venv/bin/python3" -m build --no-isolation --outdir "$output" "$scratch/freshet-$version/clients/python" >"$scratch/log" 2>&1 || {
    tail -n 20 "$scratch/log" >&2
    fail 'the Python package cannot be made'
  }
  rm -rf "$scratch"
}

make_notes() {
  {
    printf '# Freshet %s\n' "$version"
    notes
  } >"$output/NOTES.md"
}

sign() {
  (cd "$output" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >"../SHA256SUMS.$$" && mv "../SHA256SUMS.$$" SHA256SUMS)
  [[ -n $key ]] || return 0
  if [[ -f $key ]]; then
    ssh-keygen -q -Y sign -f "$key" -n freshet-release "$output/SHA256SUMS"
  else
    gpg --batch --yes --local-user "$key" --armor --detach-sign --output "$output/SHA256SUMS.asc" "$output/SHA256SUMS"
  fi
}

main() {
  parse_options "$@"
  check_state
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
  export SOURCE_DATE_EPOCH
  output=$repository/build/release-$version
  rm -rf "$output" && mkdir -p "$output"
  say 'source archive' && make_source
  say 'Python package' && make_python
  say 'Debian packages' && make_packages
  make_notes
  say 'sums' && sign
  say "made from $(git rev-parse --short HEAD), in $output:"
  ls -l "$output" >&2
  [[ -z $dry_run ]] || say 'a rehearsal: not to be published'
}

main "$@"
