#!/usr/bin/env python3
"""Measures the resources of a freshetd for a number of pages: usage: sizing.py BIN_DIR [PAGES...]

Adds pages with `freshet upsert`, a hundred a host, restarts the server, and verifies the store. Prints a table in
Markdown, as in docs/sizing.md. Sizes hardly depend on how the programs were built; times do.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

PAGES_PER_HOST = 100


class Server:
    def __init__(self, programs: pathlib.Path, data: pathlib.Path):
        flags = ["--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--log-level", "error"]
        self.process = subprocess.Popen(
            [programs / "freshetd", "--data-dir", data, *flags], stdout=subprocess.PIPE, text=True
        )
        ready = re.search(r"grpc=(\S+) .*recovered_seconds=(\S+)", self.process.stdout.readline())
        self.address, self.start_seconds = ready[1], float(ready[2])

    def memory(self) -> int:
        return int(re.search(r"VmRSS:\s+(\d+)", self._proc("status"))[1]) * 1024

    def processor_seconds(self) -> float:
        fields = self._proc("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait():
            raise SystemExit("sizing: the server did not stop in order")

    def _proc(self, name: str) -> str:
        return pathlib.Path(f"/proc/{self.process.pid}/{name}").read_text()


def urls(pages: int):
    for page in range(pages):
        yield f"https://www.site{page // PAGES_PER_HOST}.example/section/{page % 7}/article-{page}.html\n"


def disk(data: pathlib.Path) -> int:
    return sum(path.stat().st_size for path in data.rglob("*") if path.is_file())


def measure(programs: pathlib.Path, pages: int) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "data"
        server = Server(programs, data)
        load = subprocess.Popen(
            [programs / "freshet", "--server", server.address, "upsert"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        load.stdin.writelines(urls(pages))
        load.stdin.close()
        if load.wait():
            raise SystemExit("sizing: pages were refused")
        loaded, processor = server.memory(), server.processor_seconds()
        server.stop()
        on_disk = disk(data)
        again = Server(programs, data)
        started, start_seconds = again.memory(), again.start_seconds
        again.stop()
        begun = time.monotonic()
        subprocess.run([programs / "freshetd", "--verify", "--data-dir", data], check=True, stdout=subprocess.DEVNULL)
        verified = time.monotonic() - begun
    return [
        f"{pages:,}",
        f"{loaded / 2**20:,.0f} MiB",
        f"{started / 2**20:,.0f} MiB",
        f"{on_disk / 2**20:,.0f} MiB",
        f"{processor:.1f} s",
        f"{start_seconds:.1f} s",
        f"{verified:.1f} s",
    ]


def main() -> None:
    programs = pathlib.Path(sys.argv[1]).resolve()
    print(
        "| pages | memory, after loading | memory, after a start | disk | processor time of loading | start | verify |"
    )
    print("|---|---|---|---|---|---|---|")
    for pages in [int(word) for word in sys.argv[2:]] or [100_000, 1_000_000]:
        print("| " + " | ".join(measure(programs, pages)) + " |", flush=True)


if __name__ == "__main__":
    main()
