#!/usr/bin/env bash
# Tests the Debian packages like a user: makes them from a build, checks them with lintian, then installs, runs,
# upgrades, removes and purges them in a minimal Debian 12. A real systemd runs there, in a container without a network,
# with the shipped unit.
# usage: packages_root.sh BUILD_DIR [--keep]. Needs root and some minutes.
set -euo pipefail
# shellcheck source=tests/ship/roots.sh
. "$(dirname "${BASH_SOURCE[0]}")/roots.sh"
build=$(cd "${1:?usage: packages_root.sh BUILD_DIR [--keep]}" && pwd)
keep=${2:-}
root=
container=

clean_up() {
  local code=$?
  if [[ -n $container ]]; then
    # After a second signal systemd does not wait for services.
    kill "$container" 2>/dev/null || true
    kill "$container" 2>/dev/null || true
    wait "$container" 2>/dev/null || true
  fi
  if [[ -n $keep ]]; then say "the root is left in $root"; elif [[ -n $root ]]; then rm -rf --one-file-system "$root"; fi
  exit "$code"
}

# check WHAT COMMAND...: the command must succeed in the container.
check() {
  local what=$1
  shift
  boxed "$@" >"$root.out" 2>&1 || {
    tail -n 20 "$root.out" >&2
    boxed journalctl --no-pager -n 30 -u freshet >&2 || true
    fail "$what: '$*' failed"
  }
}
check_not() {
  local what=$1
  shift
  ! boxed "$@" >"$root.out" 2>&1 || fail "$what: '$*' succeeded"
}
# expect WHAT OUTPUT COMMAND...: the command must print exactly this output in the container.
expect() {
  local what=$1 wanted=$2 found
  shift 2
  found=$(boxed "$@" 2>&1) || true
  [[ $found == "$wanted" ]] || fail "$what: '$*' printed '$found', not '$wanted'"
}
boxed() {
  nsenter --target "$init" --mount --uts --ipc --net --pid --cgroup \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive HOME=/root "$@"
}

make_packages() {
  export FRESHET_DEB_COMPRESSION=gzip
  "$repository/tools/release/packages.sh" "$build" "$root/packages/old" >&2
  "$repository/tools/release/packages.sh" "$build" "$root/packages/new" 99.0 >&2
  "$repository/tools/release/packages.sh" "$build" "$root/packages/again" >&2
  local package
  for package in "$root"/packages/old/*.deb; do
    cmp "$package" "$root/packages/again/${package##*/}" || fail 'made again it is something else'
  done
  say 'lintian'
  lintian --allow-root --tag-display-limit 0 --fail-on error,warning "$root"/packages/old/*.deb || fail 'lintian complains'
}

boot() {
  # Fetches the dependencies of the packages; the container has no network.
  inside "$root" bash -c 'apt-get install -y -qq --no-install-recommends --download-only /packages/old/*.deb' >"$root.out" 2>&1 ||
    { tail -n 20 "$root.out" >&2 && fail 'what the packages depend on cannot be fetched'; }
  systemd-nspawn --quiet --register=no --keep-unit --private-network --resolv-conf=off --console=pipe \
    --directory "$root" --boot </dev/null >"$root.console" 2>&1 &
  container=$!
  local attempt
  for ((attempt = 0; attempt < 600; attempt++)); do
    init=$(pgrep -P "$container" | head -n 1) || true
    [[ -z $init ]] || ! boxed systemctl is-system-running --wait >"$root.out" 2>&1 || return 0
    grep -qx degraded "$root.out" 2>/dev/null && return 0
    kill -0 "$container" 2>/dev/null || break
    sleep 0.1
  done
  tail -n 20 "$root.console" >&2
  fail 'systemd does not boot in the container'
}

# serves WHAT: the service must be active and healthy.
serves() {
  check "$1" systemctl is-active freshet
  check "$1" bash -c 'for i in {1..100}; do freshet health && exit; sleep 0.2; done; exit 1'
}
main_pid() { boxed systemctl show --value --property MainPID freshet; }
apt() { check "apt-get $*" apt-get -y -qq --no-install-recommends "$@"; }
install_version() { check "installing $1" bash -c "apt-get -y -qq --no-install-recommends install /packages/$1/*.deb"; }

check_installation() {
  say 'installed: enabled, started, confined'
  install_version old
  check 'after the installation' systemctl is-enabled freshet
  serves 'after the installation'
  local pid field
  pid=$(main_pid)
  expect 'who runs it' freshet ps -o user= -p "$pid"
  expect 'the directory of the store' '700 freshet freshet' stat -c '%a %U %G' /var/lib/freshet
  for field in 'Seccomp:2' 'NoNewPrivs:1' 'CapEff:0000000000000000' 'CapBnd:0000000000000000'; do
    expect 'confinement' "${field#*:}" bash -c "awk '/^${field%:*}:/ { print \$2 }' /proc/$pid/status"
  done
  check 'confinement' systemd-analyze security --threshold=20 freshet
  check 'completion' bash -c '. /usr/share/bash-completion/completions/freshet && complete -p freshet'
  check 'the simulator' bash -c 'freshet-sim worlds | grep -q .'
}

# Does work that needs many system calls, under the system call filter of the unit.
check_work() {
  say 'works: pages, results, epochs, checkpoints, reload'
  check 'work' freshet upsert https://example.org/ https://example.org/news
  check 'work' freshet next --wait 10s
  check 'work' freshet report https://example.org/ changed
  check 'work' freshet signal https://example.org/news sitemap
  check 'work' freshet epoch
  check 'work' freshet compact
  check 'work' freshet checkpoint before-upgrade
  check 'work' systemctl reload freshet
  serves 'after a reload'
  expect 'pages' 2 bash -c 'freshet list --json 2>/dev/null | wc -l'
  check_not 'what the filter forbids' bash -c 'journalctl --no-pager -u freshet | grep -iE "not permitted|SIGSYS|core-dump"'
}

check_upgrade() {
  say 'upgraded: restarted, with its data and its configuration'
  check 'a change of the configuration' sed -i 's/^crawl_rate: 10/crawl_rate: 12.5/' /etc/freshet/freshet.yaml
  local before after
  before=$(main_pid)
  install_version new
  after=$(main_pid)
  [[ $before != "$after" && $after != 0 ]] || fail "the upgrade did not restart the service: process $before, then $after"
  serves 'after the upgrade'
  expect 'version' '99.0' bash -c "dpkg-query -W freshet-server | cut -f 2"
  expect 'pages after the upgrade' 2 bash -c 'freshet list --json 2>/dev/null | wc -l'
  check 'what was learned' bash -c 'freshet get --json https://example.org/ | grep -q "\"crawls\":1"'
  check 'the configuration' grep -q '^crawl_rate: 12.5' /etc/freshet/freshet.yaml
  say 'disabled by an administrator: stays so'
  check 'disabling' systemctl disable --now freshet
  check 'reinstalling' bash -c 'apt-get -y -qq --reinstall install /packages/new/*.deb'
  check_not 'a service that was disabled' systemctl is-enabled freshet
  check_not 'a service that was disabled' systemctl is-active freshet
  check 'enabling' systemctl enable --now freshet
  serves 'after enabling it'
}

check_removal() {
  say 'removed: stopped, with its data left; purged: nothing left'
  local pid
  pid=$(main_pid)
  apt remove freshet-server freshet-client
  check_not 'after the removal' test -e "/proc/$pid"
  check_not 'after the removal' test -e /usr/bin/freshetd
  check 'the store after the removal' test -e /var/lib/freshet/CURRENT -o -n "$(boxed ls /var/lib/freshet)"
  check 'the configuration after the removal' test -e /etc/freshet/freshet.yaml
  install_version new
  serves 'after coming back'
  expect 'pages after coming back' 2 bash -c 'freshet list --json 2>/dev/null | wc -l'
  check 'the configuration after coming back' grep -q '^crawl_rate: 12.5' /etc/freshet/freshet.yaml
  apt purge freshet-server freshet-client
  expect 'what a purge leaves' '' bash -c 'find / -xdev -path /proc -prune -o -path /packages -prune -o -name "*freshet*" -print'
  check_not 'the service after a purge' systemctl cat freshet
}

main() {
  need debootstrap systemd-nspawn nsenter lintian
  local base start=$SECONDS
  kept_root minimal >/dev/null
  base=$(kept_root systemd systemd systemd-sysv dbus procps)
  trap clean_up EXIT
  root=$(mktemp -d "$ship_dir/packages.XXXXXX")
  cp -a "$base/." "$root/"
  chmod 755 "$root"
  join_network "$root"
  mkdir -p "$root/packages"
  make_packages
  boot
  check_installation
  check_work
  check_upgrade
  check_removal
  say "all passed in $((SECONDS - start)) s"
}

main
