"""Servers of a cluster on loopback, which can be killed, stopped and started again."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import struct
import subprocess
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brokers import free_ports

if TYPE_CHECKING:
    from brokers import Brokers
    from net import Place


CLUSTER = "fleet"
# States of a disk, as in machine.c: works; writes fail with EIO; writes wait for another state.
WELL, FAILS, HANGS = range(3)


def cluster_settings(
    brokers: Brokers,
    name: str,
    silence: int,
    *,
    forward: bool = False,
    division: tuple[int, int] = (0, 1),
    host: str = "127.0.0.1",
) -> str:
    """The settings of a server of a cluster, besides those of any server.

    `forward`: it forwards calls as a standby, and items of other divisions. `division`: its division and their
    number.
    """
    address = f", address: '{host}:0'" if forward else ""
    address += f", division: {division[0]}, divisions: {division[1]}"
    properties = json.dumps(brokers.properties)  # JSON is YAML
    return (
        f"cluster: {{name: {CLUSTER}, brokers: '{brokers.addresses}', node: {name}, silence: {silence}s{address},"
        f" properties: {properties}}}\n"
    )


@dataclass
class Machine:
    """The place of a node, unless it is this machine itself."""

    place: Place
    faults: Path  # the library that makes its clock and disk wrong
    disk_bytes: int


class Node:
    """A freshetd that is started again when it ends by itself, as by a service manager."""

    def __init__(
        self,
        directory: Path,
        program: Path,
        name: str,
        settings: str,
        left: Path | None = None,
        machine: Machine | None = None,
    ) -> None:
        """`settings`: lines of its configuration. `left`: data of a cluster's server from which it is made."""
        self.name = name
        self.place = machine.place if machine else None
        host = self.place.address if self.place else "127.0.0.1"
        grpc_port, http_port = free_ports(2)
        self.address = f"{host}:{grpc_port}"
        self.http = f"{host}:{http_port}"
        self.directory = (directory / name).resolve()
        self.directory.mkdir()
        self._disk = self.directory / "disk"
        self._disk.mkdir()
        if machine:
            size = f"size={machine.disk_bytes}"
            subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", self._disk], check=True)
        self.data = self._disk / "data"
        config = self.directory / "freshet.yaml"
        config.write_text(settings, encoding="utf-8")
        self._faults = self.directory / "faults"
        self._environment = dict(os.environ)
        self._offset, self._disk_state = 0.0, WELL
        self._tell_faults()
        self._program = str(program)
        self._arguments = ["--config", str(config), "--data-dir", str(self.data)]
        self._arguments += ["--listen", self.address, "--http-listen", self.http]
        self._command = [self._program, *self._arguments]
        if machine:
            self._environment |= {"LD_PRELOAD": str(machine.faults), "FRESHET_MACHINE": str(self._faults)}
            self._environment["FRESHET_DISK"] = str(self._disk)
            self._command = [*machine.place.prefix, *self._command, "--insecure"]
        if left is not None:
            self._restore(left, "--leave-cluster")
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._wanted = True
        self.ended_by_itself = 0
        self.start()
        threading.Thread(target=self._watch, daemon=True).start()

    def start(self, after: subprocess.Popen[bytes] | None = None) -> None:
        """Starts the node again once the process has ended, unless a caller has ended or started it since."""
        with self._lock, (self.directory / "log").open("ab") as log:
            if not self._wanted or self._process is not after:
                return
            self._process = subprocess.Popen(self._command, env=self._environment, stdout=log, stderr=log)

    def _watch(self) -> None:
        while self._wanted:
            with self._lock:
                process = self._process
            if process is not None and process.poll() is not None:
                self.ended_by_itself += 1
                time.sleep(0.2)
                self.start(after=process)
            time.sleep(0.1)

    def _signal(self, number: int) -> None:
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                self._process.send_signal(number)

    def kill(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def lose_disk(self) -> None:
        """Removes the data. Precondition: killed."""
        subprocess.run(["rm", "-rf", str(self.data)], check=True)

    def restore(self, checkpoint: str) -> None:
        """Restores a checkpoint from its data, and removes the rest. Precondition: killed."""
        kept = self._disk / "checkpoint"
        subprocess.run(["rm", "-rf", str(kept)], check=True)
        Path(checkpoint).rename(kept)
        self.lose_disk()
        self._restore(kept)

    def _restore(self, source: Path, *arguments: str) -> None:
        command = [self._program, "--restore", str(source), "--data-dir", str(self.data), *arguments]
        with (self.directory / "log").open("ab") as log:
            subprocess.run(command, stdout=log, stderr=log, check=True)

    def set_clock(self, offset: float) -> None:
        """Sets the seconds by which its clock is ahead."""
        self._offset = offset
        self._tell_faults()

    def set_disk(self, state: int) -> None:
        """Sets the state of its disk: WELL, FAILS or HANGS."""
        self._disk_state = state
        self._tell_faults()

    def _tell_faults(self) -> None:
        # One write into the same file, which the process has mapped.
        with self._faults.open("r+b" if self._faults.exists() else "wb") as faults:
            faults.write(struct.pack("<qq", int(self._offset * 1e9), self._disk_state))

    def fill_disk(self, left: int) -> None:
        """Fills the disk until at most `left` bytes are free."""
        free = shutil.disk_usage(self._disk).free
        with (self._disk / "filler").open("wb") as filler:
            os.posix_fallocate(filler.fileno(), 0, max(1, free - left))

    def empty_disk(self) -> None:
        (self._disk / "filler").unlink(missing_ok=True)

    def verify(self) -> str:
        """The output of --verify. Precondition: killed."""
        command = [self._program, "--verify", "--data-dir", str(self.data)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def end(self) -> None:
        self._wanted = False
        self.kill()

    def clear(self) -> None:
        """Unmounts its disk. Precondition: ended."""
        if self.place:
            subprocess.run(["umount", self._disk], check=False)

    @property
    def pid(self) -> int:
        with self._lock:
            return self._process.pid if self._process is not None else 0

    def keep_stacks(self) -> None:
        """Writes the stacks of all its threads beside its log, if gdb is installed."""
        debugger = shutil.which("gdb")
        if debugger is None or not self.pid:
            return
        command = [debugger, "-p", str(self.pid), "-batch", "-ex", "thread apply all bt 16"]
        with (self.directory / "stacks").open("wb") as stacks, contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, stdout=stacks, stderr=subprocess.DEVNULL, timeout=60, check=False)

    def ready(self) -> bool:
        return self.readiness() == "ok"

    def status(self, patience: float = 5) -> dict[str, Any]:
        """The content of /status.json; empty if there is no answer within `patience` seconds."""
        try:
            with urllib.request.urlopen(f"http://{self.http}/status.json", timeout=patience) as answer:
                status: dict[str, Any] = json.load(answer)
                return status
        except (OSError, HTTPException, ValueError):
            return {}

    def readiness(self) -> str:
        """The text of /readyz: ok, or the reason why not."""
        try:
            try:
                answer = urllib.request.urlopen(f"http://{self.http}/readyz", timeout=1)
            except urllib.error.HTTPError as error:
                answer = error
            with answer:
                text: str = answer.read().decode().strip()
                return text
        except (OSError, HTTPException) as error:
            return str(error)


def await_serving(nodes: list[Node], seconds: float) -> float:
    """Waits until one of the nodes serves; returns the seconds."""
    start = time.monotonic()
    while not any(node.ready() for node in nodes):
        if time.monotonic() - start > seconds:
            said = "; ".join(f"{node.name}: {node.readiness()}" for node in nodes)
            message = f"no node serves after {seconds} s: {said}"
            raise TimeoutError(message)
        time.sleep(0.05)
    return time.monotonic() - start
