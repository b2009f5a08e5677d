#!/usr/bin/env bash
# Makes minimal Debian roots for the tests of shipped files, which source this. debootstrap makes the first root, which
# is kept in build/ship; tests work on copies. Needs root, debootstrap and a network.
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
ship_dir=$repository/build/ship
mirror=${FRESHET_DEBIAN_MIRROR:-http://deb.debian.org/debian}

say() { printf '== %s: %s\n' "${0##*/}" "$*" >&2; }
fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# inside ROOT COMMAND [ARGUMENTS]: runs a command in the root, with only the proxy variables of this environment.
inside() {
  local root=$1 variable environment=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive)
  shift
  for variable in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [[ -z ${!variable:-} ]] || environment+=("$variable=${!variable}")
  done
  env -i "${environment[@]}" chroot "$root" "$@"
}

# join_network ROOT: the root uses the name servers and proxies of this machine.
join_network() {
  cp /etc/resolv.conf "$1/etc/resolv.conf"
  apt-config dump 2>/dev/null | grep -iE '^Acquire::(http|https|ftp)::Proxy' >"$1/etc/apt/apt.conf.d/01proxy" || true
}

# kept_root NAME [PACKAGE...]: prints the path of a minimal Debian 12 with these packages, which is made if missing.
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
