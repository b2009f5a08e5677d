#!/usr/bin/env bash
# Tests release.sh in a clone of the repository, with new keys: its refusals, its files, their sums and both kinds of
# signatures. The Debian packages are small fakes; `./dev packages test` tests the real ones.
# Exit code 77: no git, or no package registry answers.
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
git -C "$repository" rev-parse --quiet --verify HEAD >/dev/null || { echo 'SKIPPED: no git repository' && exit 77; }
"$repository/tests/ship/venv.sh" >/dev/null || exit $?
scratch=$(mktemp -d)
trap 'gpgconf --kill gpg-agent 2>/dev/null; rm -rf "$scratch"' EXIT
export GNUPGHOME=$scratch/gnupg
clone=$scratch/clone
version=$(sed -nE 's/^project\(freshet VERSION ([0-9.]+).*/\1/p' "$repository/CMakeLists.txt")

fail() {
  echo "release_test: $*" >&2
  exit 1
}
# release ARGUMENTS: runs release.sh; its output is in $scratch/said, its exit code in $code.
release() {
  code=0
  "$clone/tools/release/release.sh" "$@" >"$scratch/said" 2>&1 || code=$?
}
refuses() {
  local wanted_code=$1 reason=$2
  shift 2
  release "$@"
  if ((code != wanted_code)) || ! grep -qF -- "$reason" "$scratch/said"; then
    fail "'$*' does not stop at '$reason': $code, $(tail -n 5 "$scratch/said")"
  fi
}
commit() { git -C "$clone" -c user.name=test -c user.email=test@example.org commit --quiet --all --message "$1"; }

# Prints a script that replaces packages.sh, which takes most of a minute.
make_packages_quickly() {
  cat <<'SCRIPT'
#!/usr/bin/env bash
set -euo pipefail
for package in server client; do
  scratch=$(mktemp -d)
  mkdir -m 755 "$scratch/DEBIAN"
  printf 'Package: freshet-%s\nVersion: %s\nArchitecture: amd64\nMaintainer: test <test@example.org>\nDescription: test\n' \
    "$package" "$(cat "$1/version")" >"$scratch/DEBIAN/control"
  dpkg-deb --root-owner-group --build "$scratch" "$2" >/dev/null
  rm -rf "$scratch"
done
SCRIPT
}

make_clone() {
  git clone --quiet "$repository" "$clone"
  # Copies the files as they are here, committed or not; the Python environment is shared.
  cp -a "$repository"/{CMakeLists.txt,CHANGELOG.md} "$clone/"
  cp -a "$repository"/tools/release/. "$clone/tools/release/"
  cp -a "$repository"/tests/ship/. "$clone/tests/ship/"
  mkdir -p "$clone/build" && ln -s "$repository/build/ship" "$clone/build/ship"
  make_packages_quickly >"$clone/tools/release/packages.sh"
  git -C "$clone" add --all . && { git -C "$clone" diff --cached --quiet || commit 'as here'; }
}

make_keys() {
  mkdir -m 700 "$GNUPGHOME"
  gpg --batch --quiet --passphrase '' --quick-generate-key release@example.org ed25519 sign never 2>/dev/null
  ssh-keygen -q -t ed25519 -N '' -C release -f "$scratch/key"
  echo "freshet $(cat "$scratch/key.pub")" >"$scratch/signers"
}

check_refusals() {
  refuses 2 'needs a version' --dry-run
  refuses 2 'unknown option' "$version" --upload
  refuses 1 'CMakeLists.txt says' 99.0.0 --dry-run
  refuses 1 'has no date' "$version" --key "$scratch/key"
  sed -i -E "s/^## $version .*/## $version (2026-01-31)/" "$clone/CHANGELOG.md"
  refuses 1 'not committed' "$version" --key "$scratch/key"
  commit 'Date the release'
  refuses 1 'no --key' "$version"
}

check_release() {
  local made=$clone/build/release-$version
  release "$version" --key "$1" --build "$build"
  ((code == 0)) || fail "release.sh fails: $(tail -n 20 "$scratch/said")"
  (cd "$made" && sha256sum --quiet --check SHA256SUMS) || fail 'the sums are wrong'
  [[ $(wc -l <"$made/SHA256SUMS") == 6 ]] || fail "not six files: $(ls "$made")"
  tar -tzf "$made/freshet-$version-src.tar.gz" >"$scratch/files"
  grep -qx "freshet-$version/dev" "$scratch/files" || fail 'the source archive has no ./dev'
  grep -q 'The first version\|^- ' "$made/NOTES.md" || fail 'the notes say nothing'
  grep -q '^## ' "$made/NOTES.md" && fail 'the notes have another version in them'
  dpkg-deb --field "$made"/freshet-server_*.deb Version | grep -qx "$version" || fail 'the package has another version'
}

main() {
  local build=$scratch/build
  mkdir "$build" && echo "$version" >"$build/version"
  local made=$clone/build/release-$version
  make_clone
  make_keys
  check_refusals
  check_release release@example.org
  gpg --quiet --verify "$made/SHA256SUMS.asc" "$made/SHA256SUMS" 2>/dev/null || fail 'the signature of gpg is not good'
  cp "$made/SHA256SUMS" "$scratch/first"
  check_release "$scratch/key"
  ssh-keygen -q -Y verify -f "$scratch/signers" -I freshet -n freshet-release -s "$made/SHA256SUMS.sig" <"$made/SHA256SUMS" ||
    fail 'the signature of ssh-keygen is not good'
  # All files are equal, except the sdist: setuptools writes the time into its archive.
  diff <(grep -v " freshet-$version.tar.gz" "$scratch/first") <(grep -v " freshet-$version.tar.gz" "$made/SHA256SUMS") || fail 'made again it is something else'
  echo "release_test: $(wc -l <"$made/SHA256SUMS") files, the same twice"
}
main
