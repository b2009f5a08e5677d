#!/usr/bin/env bash
# Proves that a fresh machine is enough: makes a minimal Debian 12 with only git added, clones the
# repository into it, and runs `./dev test` and `./dev run` there. Tests only committed files. Needs
# root, debootstrap, a network and half an hour, so it is not a default test: `./dev bare`.
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mirror=http://deb.debian.org/debian
scratch=/var/tmp
base=
keep=
root=

usage() {
  cat <<'USAGE'
usage: ./dev bare [OPTIONS]
  --mirror URL   Debian mirror (default http://deb.debian.org/debian)
  --scratch DIR  where the root is made; needs about 4 GB (default /var/tmp)
  --base DIR     copy this minimal root instead of running debootstrap
  --keep         leave the root behind and say where it is
USAGE
}

say() { printf '== bare: %s\n' "$*"; }
fail() {
  echo "bare: $1" >&2
  exit "${2:-1}"
}

parse_options() {
  while (($#)); do
    case $1 in
      --help | -h) usage && exit 0 ;;
      --keep) keep=1 && shift && continue ;;
      --mirror | --scratch | --base) ;;
      *) usage >&2 && fail "unknown option '$1'" 2 ;;
    esac
    (($# > 1)) || fail "$1 needs a value" 2
    case $1 in
      --mirror) mirror=$2 ;;
      --scratch) scratch=$2 ;;
      --base) base=$2 ;;
    esac
    shift 2
  done
}

clean_up() {
  local code=$?
  [[ -n $root ]] || return "$code"
  umount "$root/proc" 2>/dev/null || true
  if [[ -n $keep ]]; then
    say "the root is left in $root"
  elif ! mountpoint -q "$root/proc"; then
    rm -rf --one-file-system "$root"
  fi
  return "$code"
}

make_root() {
  root=$(mktemp -d "$scratch/freshet-bare.XXXXXX")
  trap clean_up EXIT
  if [[ -n $base ]]; then
    cp -a "$base/." "$root/"
  else
    debootstrap --variant=minbase --include=git bookworm "$root" "$mirror" >"$root.log" 2>&1 ||
      fail "debootstrap failed, its log is $root.log"
    rm -f "$root.log"
  fi
  # Takes only the network settings from this machine.
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  apt-config dump 2>/dev/null | grep -iE '^Acquire::(http|https|ftp)::Proxy' >"$root/etc/apt/apt.conf.d/01proxy" || true
  mount -t proc proc "$root/proc" || fail "cannot mount proc in $root: that needs a machine, or a container, that may mount"
  git clone --quiet --no-hardlinks "$source_dir" "$root/root/freshet"
}

# Runs a command in the root, outside the repository, with nothing of this environment except the
# network settings.
inside() {
  local variable environment=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LANG=C.UTF-8)
  for variable in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [[ -z ${!variable:-} ]] || environment+=("$variable=${!variable}")
  done
  env -i "${environment[@]}" chroot "$root" bash -c "cd /tmp && $1"
}

step() {
  local name=$1 command=$2 start=$SECONDS
  say "$name: $command"
  inside "$command" || fail "$name failed after $((SECONDS - start)) s"
  say "$name passed in $((SECONDS - start)) s"
}

main() {
  parse_options "$@"
  ((EUID == 0)) || fail "needs root, for chroot"
  [[ -n $base ]] || command -v debootstrap >/dev/null || fail "needs debootstrap: apt-get install debootstrap"
  local start=$SECONDS
  make_root
  say "root made in $((SECONDS - start)) s, $(inside 'dpkg-query -W | wc -l') packages"
  say "commit $(inside 'git -C /root/freshet rev-parse --short HEAD')"
  step test '/root/freshet/dev test'
  step run '/root/freshet/dev run --exit'
  say "all passed in $((SECONDS - start)) s"
}

main "$@"
