#!/usr/bin/env bash
# Makes the Debian packages of a build: usage: packages.sh BUILD_DIR OUTPUT_DIR [VERSION]. The build must have made the
# target freshet_shipped. Replaces packages of the same names in OUTPUT_DIR. For tests, FRESHET_DEB_COMPRESSION=gzip is
# quicker than xz.
set -euo pipefail
build=$(cd "${1:?usage: packages.sh BUILD_DIR OUTPUT_DIR [VERSION]}" && pwd)
output=${2:?usage: packages.sh BUILD_DIR OUTPUT_DIR [VERSION]}
version=${3:-}

mkdir -p "$output"
output=$(cd "$output" && pwd)
scratch=$(mktemp -d "$output/making.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
# Other files that CPack writes get the date of the sources too.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(sed -n 's/^set(CPACK_FRESHET_EPOCH "\(.*\)")$/\1/p' "$build/CPackConfig.cmake")}
export SOURCE_DATE_EPOCH
options=(--config "$build/CPackConfig.cmake" -B "$scratch" -D "CPACK_FRESHET_EPOCH=$SOURCE_DATE_EPOCH")
[[ -z ${FRESHET_DEB_COMPRESSION:-} ]] || options+=(-D "CPACK_DEBIAN_COMPRESSION_TYPE=$FRESHET_DEB_COMPRESSION")
[[ -z $version ]] || options+=(-D "CPACK_PACKAGE_VERSION=$version")
if ! cpack "${options[@]}" >"$scratch/log" 2>&1; then
  cat "$scratch/log" >&2
  exit 1
fi
for package in "$scratch"/*.deb; do
  name=${package##*/}
  rm -f "$output/${name%%_*}"_*.deb
  mv "$package" "$output/"
  echo "$output/$name"
done
