#!/usr/bin/env bash
# Checks the files that deploy Freshet, without deploying it.
# usage: check.sh dockerfile|compose|kubernetes|unit|configs|versions BIN_DIR
# Exit code 77: a tool for the check is missing, and no package registry answers.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../.." && pwd)
bin=${2:-}
cd "$repository"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The highest allowed exposure level by systemd, 0 to 10, times ten.
worst_exposure=15

# python ARGUMENTS: runs Python of the test environment, which is made if missing.
python() {
  local venv
  venv=$("$here/venv.sh") || exit $?
  "$venv/bin/python3" "$@"
}

check_dockerfile() {
  local venv
  venv=$("$here/venv.sh") || exit $?
  "$venv/bin/hadolint" --no-color Dockerfile
}

check_compose() { python "$here/manifests.py" compose; }

check_kubernetes() {
  local version
  python -B "$here/manifests.py" kubernetes "$scratch"
  # The oldest version with all used features, and the newest version.
  for version in 1.27 1.37; do
    python -m kubernetes_validate --quiet --strict --kubernetes-version "$version" "$scratch"/k8s*.yaml
  done
}

check_unit() {
  command -v systemd-analyze >/dev/null || { echo 'SKIPPED: needs systemd-analyze, of the package systemd' >&2 && exit 77; }
  local unit said
  for unit in freshet freshet-sitemap; do
    # freshetd may be missing on this machine.
    sed 's|^ExecStart=/usr/bin/freshetd\? |ExecStart=/bin/true |' "deploy/$unit.service" >"$scratch/$unit.service"
    said=$(systemd-analyze verify --man=no "$scratch/$unit.service" 2>&1) || { echo "$said" && exit 1; }
    [[ -z $said ]] || { echo "$said" && exit 1; }
    systemd-analyze security --offline=true --threshold="$worst_exposure" "$scratch/$unit.service" >"$scratch/said" 2>&1 || {
      cat "$scratch/said" && exit 1
    }
    tail -n 1 "$scratch/said"
  done
}

# freshetd accepts the shipped configurations: it fails only at the missing store, with 1. A bad configuration is 2.
check_configs() {
  local config environment code
  mkdir "$scratch/servers"
  python3 -B "$here/manifests.py" servers "$scratch/servers"
  for config in deploy/debian/freshet.yaml "$scratch"/servers/*.yaml; do
    environment=()
    # The environment variables of its pod.
    [[ ! -e ${config%.yaml}.env ]] || mapfile -t environment <"${config%.yaml}.env"
    code=0
    env "${environment[@]}" "$bin/freshetd" --config "$config" --data-dir "$scratch/none" --verify >"$scratch/said" 2>&1 || code=$?
    ((code == 1)) || { echo "$config: exit code $code" && cat "$scratch/said" && exit 1; }
  done
}

# All shipped files name the version of the programs.
check_versions() {
  local version
  version=$(sed -nE 's/^project\(freshet VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
  tools/release/versions.sh "$version"
  [[ $("$bin/freshetd" --version) == "freshetd $version"* ]] || { "$bin/freshetd" --version && exit 1; }
  # A wrong version is found.
  mkdir -p "$scratch/tools/release" "$scratch/clients/python"
  cp -r tools/release/versions.sh "$scratch/tools/release/"
  cp -r CMakeLists.txt Dockerfile deploy "$scratch/" && cp clients/python/pyproject.toml "$scratch/clients/python/"
  sed -i "s/newTag: .*/newTag: 9.9.9/" "$scratch/deploy/k8s/kustomization.yaml"
  ! "$scratch/tools/release/versions.sh" "$version" >"$scratch/said" || { echo 'a version that was forgotten is not seen' && exit 1; }
  [[ $(cat "$scratch/said") == 'deploy/k8s/kustomization.yaml says that this is 9.9.9' ]] || { cat "$scratch/said" && exit 1; }
}

case ${1:-} in
  dockerfile | compose | kubernetes | unit | configs | versions) "check_$1" ;;
  *) echo 'usage: check.sh dockerfile|compose|kubernetes|unit|configs|versions [BIN_DIR]' >&2 && exit 2 ;;
esac
