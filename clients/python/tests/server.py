"""A real freshetd for tests, with its own ports and directory, which can be killed and restarted."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
BIN = Path(os.environ.get("FRESHET_BIN") or REPOSITORY / "build/release/bin")


class Server:
    """A server. `with Server(directory) as server` starts it; `kill` is kill -9, `start` restarts it at the same
    address."""

    def __init__(self, directory: Path, *arguments: str, config: str = "") -> None:
        self._directory = directory
        self._arguments = list(arguments)
        self._process: subprocess.Popen[str] | None = None
        self.address = "127.0.0.1:0"
        self.http = ""  # set by start
        if config:
            path = directory / "freshet.yaml"
            path.write_text(config, encoding="utf-8")
            self._arguments += ["--config", str(path)]

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        command = [str(BIN / "freshetd"), "--data-dir", str(self._directory / "data"), "--listen", self.address]
        command += ["--http-listen", "127.0.0.1:0", "--log-level", "warn", *self._arguments]
        with (self._directory / "freshetd.log").open("a", encoding="utf-8") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self._process.stdout is not None
        ready = self._process.stdout.readline()
        assert ready.startswith("ready "), (self._directory / "freshetd.log").read_text(encoding="utf-8")
        fields = dict(field.split("=", 1) for field in ready.split() if "=" in field)
        self.address = fields["grpc"]
        self.http = fields["http"]

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def terminate(self) -> None:
        """Stops the server like an operator: it drains."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(number)
        self._process.wait(timeout=30)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None
