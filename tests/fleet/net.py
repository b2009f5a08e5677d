"""The play's own network: a namespace for each server and broker, which packets leave by way of the play's alone.

Nothing of it can be reached from elsewhere: the play's namespace has no other link. A cut is a rule there by which what
comes from one address and goes to another is dropped without a word, as by a cable that is pulled.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

INSIDE = "FRESHET_FLEET_NETWORK"
# Rules of cuts come before the one by which packets reach addresses of the namespace itself.
CUT, LOCAL = "10", "100"


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


def enter() -> bool:
    """Starts this program again in namespaces of its own; False: the system has none for us, or it is in there already."""
    if INSIDE in os.environ or shutil.which("unshare") is None or shutil.which("ip") is None:
        return INSIDE in os.environ
    command = ["unshare", "--net", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"])]
    probe = "ip link add probe0 type veth peer name probe1 && ip rule add pref 9 from 10.9.0.2 to 10.9.0.6 blackhole"
    if subprocess.run([*command, "sh", "-c", probe], capture_output=True, check=False).returncode != 0:
        return False
    os.environ[INSIDE] = "1"
    os.execvp(command[0], [*command, sys.executable, *sys.argv])


class Place:
    """Where a server or a broker is: a namespace with one address, which a process of ours keeps until the play ends."""

    def __init__(self, number: int) -> None:
        self.address = f"10.9.{number}.2"
        hub, link = f"10.9.{number}.1", f"place{number}"
        # Ends when its input does: with the play, however that ends.
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
    """`with Net() as net`. Thread-compatible."""

    def __init__(self) -> None:
        self._places: list[Place] = []
        self._lock = threading.Lock()

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
        """Nothing of `one` reaches `other` any more, and nothing of that `one`."""
        pairs = [(one, other), (other, one)] if both_ways else [(one, other)]
        for a, b in pairs:
            run("ip", "rule", "add", "pref", CUT, "from", a.address, "to", b.address, "blackhole")

    def heal(self) -> None:
        while subprocess.run(["ip", "rule", "del", "pref", CUT], capture_output=True, check=False).returncode == 0:
            pass

    def __exit__(self, *_: object) -> None:
        for place in self._places:
            place.leave()
