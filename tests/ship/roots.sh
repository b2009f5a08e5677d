#!/usr/bin/env bash
# Minimal Debian roots for the tests of what is shipped; sourced by them. The first is made by debootstrap and kept in
# build/ship; tests work on copies. Takes root, debootstrap and a network.
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
ship_dir=$repository/build/ship
mirror=${FRESHET_DEBIAN_MIRROR:-http://deb.debian.org/debian}

say() { printf '== %s: %s\n' "${0##*/}" "$*" >&2; }
fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# inside ROOT COMMAND [ARGUMENTS]: with nothing of this environment but the way to the network.
inside() {
  local root=$1 variable environment=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive)
  shift
  for variable in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [[ -z ${!variable:-} ]] || environment+=("$variable=${!variable}")
  done
  env -i "${environment[@]}" chroot "$root" "$@"
}

# The way out to the network is this machine's.
join_network() {
  cp /etc/resolv.conf "$1/etc/resolv.conf"
  apt-config dump 2>/dev/null | grep -iE '^Acquire::(http|https|ftp)::Proxy' >"$1/etc/apt/apt.conf.d/01proxy" || true
}

# kept_root NAME [PACKAGE...]: prints where a minimal Debian 12 with these packages is, made if it is not there.
kept_root() {
  local name=$1 root=$ship_dir/$1
  shift
  mkdir -p "$ship_dir"
  (
    flock 9
    [[ ! -d $root ]] || exit 0
    rm -rf --one-file-system "$root.new"
    if (($# == 0)); then
      say "debootstrap of $name"
      debootstrap --variant=minbase bookworm "$root.new" "$mirror" >"$root.log" 2>&1 || fail "debootstrap failed, its log is $root.log"
    else
      say "$name: minimal root with $*"
      cp -a "$ship_dir/minimal" "$root.new"
      join_network "$root.new"
      inside "$root.new" apt-get update -qq >"$root.log" 2>&1 &&
        inside "$root.new" apt-get install -y -qq --no-install-recommends "$@" >>"$root.log" 2>&1 || fail "installing $* failed, see $root.log"
    fi
    mv "$root.new" "$root"
  ) 9>"$ship_dir/$name.flock" || exit 1
  echo "$root"
}

need() {
  local program
  ((EUID == 0)) || fail "needs root"
  for program in "$@"; do
    command -v "$program" >/dev/null || fail "needs $program"
  done
}
