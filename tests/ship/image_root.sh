#!/usr/bin/env bash
# Runs the steps of the Dockerfile in minimal Debian roots, without a Docker engine. Then runs the result like a
# container: as its user, without capabilities, on a read-only root file system.
# usage: image_root.sh [--packages DIR] [--keep]. Needs root; without --packages it builds Freshet, half an hour.
set -euo pipefail
# shellcheck source=tests/ship/roots.sh
. "$(dirname "${BASH_SOURCE[0]}")/roots.sh"
need openssl debootstrap unshare nsenter setpriv ip
base=$(kept_root minimal)
venv=$("$repository/tests/ship/venv.sh")
scratch=$(mktemp -d "$ship_dir/image.XXXXXX")
trap '[[ " $* " == *" --keep "* ]] || rm -rf --one-file-system "$scratch"' EXIT
join_network "$base"
"$venv/bin/python3" "$repository/tests/ship/image_root.py" --base "$base" --scratch "$scratch" "$@"
