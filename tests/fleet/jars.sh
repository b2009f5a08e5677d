#!/usr/bin/env bash
# Usage: jars.sh DIRECTORY. Lets Maven put the jars of a broker into DIRECTORY, unless it has those
# of this pom.xml.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
jars=$(realpath -m "${1:?usage: jars.sh DIRECTORY}")
! cmp --quiet "$here/pom.xml" "$jars/pom.xml" || exit 0
rm -rf "$jars.new"
mvn --batch-mode --quiet --strict-checksums -f "$here/pom.xml" dependency:copy-dependencies -DoutputDirectory="$jars.new" >&2
cp "$here/pom.xml" "$jars.new"
rm -rf "$jars"
mv "$jars.new" "$jars"
