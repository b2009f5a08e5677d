"""The play's own network: a namespace for each server and broker, whose packets all pass through the play's namespace.

Nothing outside can reach it, as the play's namespace has no other link. A cut is a rule in that namespace that drops
the packets from one address to another silently, like a pulled cable. A slow link is a rule that sends them to a tun
device, where slow.py delays them, since kernels may lack netem.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

INSIDE = "FRESHET_FLEET_NETWORK"
# Priorities. Cuts come before the rule that delivers packets to the namespace's own addresses.
CUT, SLOW, LOCAL = "10", "20", "100"
TUN, TABLE = "slow0", "20"


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


def enter() -> bool:
    """Starts this program again in private namespaces. Returns False if there are none, or if it already runs there."""
    if INSIDE in os.environ or shutil.which("unshare") is None or shutil.which("ip") is None:
        return INSIDE in os.environ
    command = ["unshare", "--net", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"])]
    probe = "ip link add probe0 type veth peer name probe1 && ip rule add pref 9 from 10.9.0.2 to 10.9.0.6 blackhole"
    probe += f" && ip tuntap add dev {TUN} mode tun"
    if subprocess.run([*command, "sh", "-c", probe], capture_output=True, check=False).returncode != 0:
        return False
    os.environ[INSIDE] = "1"
    os.execvp(command[0], [*command, sys.executable, *sys.argv])


class Place:
    """The place of a server or broker: a namespace with one address, kept by a process of ours until the play ends."""

    def __init__(self, number: int) -> None:
        self.address = f"10.9.{number}.2"
        hub, link = f"10.9.{number}.1", f"place{number}"
        self.link = link
        # The process ends with its input, and so with the play, however that ends.
        self._holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec cat"], stdin=-1, stdout=-1)
        assert self._holder.stdout is not None
        self._holder.stdout.readline()
        pid = str(self._holder.pid)
        self.prefix = ["nsenter", f"--net=/proc/{pid}/ns/net", "--"]
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "uplink", "netns", pid)
        run("ip", "addr", "add", f"{hub}/30", "dev", link)
        run("ip", "link", "set", link, "up")
        for command in (
            "ip link set lo up",
            f"ip addr add {self.address}/30 dev uplink",
            "ip link set uplink up",
            f"ip route add default via {hub}",
        ):
            run(*self.prefix, *command.split())

    def leave(self) -> None:
        self._holder.kill()
        self._holder.wait()


class Net:
    """The network of a play: `with Net() as net`. Thread-compatible."""

    def __init__(self) -> None:
        self._places: list[Place] = []
        self._lock = threading.Lock()
        self._slow: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Net:
        run("ip", "link", "set", "lo", "up")
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1", encoding="ascii")
        run("ip", "rule", "add", "pref", LOCAL, "lookup", "local")
        run("ip", "rule", "del", "pref", "0")
        return self

    def place(self) -> Place:
        self._places.append(Place(len(self._places) + 1))
        return self._places[-1]

    def cut(self, one: Place, other: Place, *, both_ways: bool = True) -> None:
        """Drops all packets from `one` to `other`, and by default those back."""
        pairs = [(one, other), (other, one)] if both_ways else [(one, other)]
        for a, b in pairs:
            run("ip", "rule", "add", "pref", CUT, "from", a.address, "to", b.address, "blackhole")

    def make_slow(self, latency: float, rate: float) -> None:
        """Sets the latency of slow links in seconds, and their common rate in bytes a second."""
        command = [sys.executable, str(Path(__file__).parent / "slow.py"), TUN, str(latency), str(rate)]
        self._slow = subprocess.Popen(command, stdin=-1, stdout=-1)
        assert self._slow.stdout is not None
        self._slow.stdout.readline()
        run("ip", "link", "set", TUN, "up")
        run("ip", "route", "add", "default", "dev", TUN, "table", TABLE)

    def slow_down(self, one: Place, other: Place) -> None:
        """Slows both directions; call after `make_slow`. Packets from the device match no rule again."""
        for a, b in ((one, other), (other, one)):
            run("ip", "rule", "add", "pref", SLOW, "iif", a.link, "from", a.address, "to", b.address, "lookup", TABLE)

    def heal(self) -> None:
        for pref in (CUT, SLOW):
            while subprocess.run(["ip", "rule", "del", "pref", pref], capture_output=True, check=False).returncode == 0:
                pass
        self._end_slow()

    def _end_slow(self) -> None:
        """Ends the process, and with it the device and its route."""
        if self._slow:
            self._slow.kill()
            self._slow.wait()
            self._slow = None

    def __exit__(self, *_: object) -> None:
        self._end_slow()
        for place in self._places:
            place.leave()
