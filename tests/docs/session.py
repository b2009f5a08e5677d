"""Runs commands one by one in a shell, in a directory that looks like a clone of the repository."""

import os
import pathlib
import random
import select
import shutil
import signal
import socket
import subprocess
import time

TIMEOUT = 120

# Without addresses on its command line, freshetd listens at the ports of this session.
SERVER = """#!/usr/bin/env bash
case " $* " in
  *' --verify '* | *' --repair '* | *' --restore'* | *' --version '* | *' --help '* | *-config\\ --*) ;;
  *' --check-config '* | *' --print-config '*) ;;
  *)
    [[ " $*" == *' --listen'* ]] || set -- --listen "$FRESHET_SERVER" "$@"
    [[ " $*" == *' --http-listen'* ]] || set -- --http-listen "$DOCTEST_HTTP" "$@"
    echo $$ > "$ROOT/server.pid"
    ;;
esac
exec "$DOCTEST_BIN/freshetd" "$@"
"""


class Failure(Exception):
    pass


def free_port() -> int:
    """A port below the system's ephemeral range, so that no other process gets it before its use."""
    while True:
        port = random.randint(10000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


class Session:
    def __init__(self, root: pathlib.Path, repository: pathlib.Path, programs: pathlib.Path):
        self.root = root
        self.clone = root / "clone"
        self.count = 0
        self.last_output = ""
        self.background: list[tuple[str, pathlib.Path]] = []
        self.grpc, self.http, self.site = free_port(), free_port(), free_port()
        self._lay_out(repository, programs)
        environment = {
            "PATH": f"{self.clone}/build/release/bin:{os.environ['PATH']}",
            "HOME": str(root / "home"),
            "TMPDIR": str(root / "tmp"),
            "LC_ALL": "C.UTF-8",
            "FRESHET_SERVER": f"127.0.0.1:{self.grpc}",
            "DOCTEST_HTTP": f"127.0.0.1:{self.http}",
            "DOCTEST_SITE": f"127.0.0.1:{self.site}",
            "DOCTEST_BIN": str(programs),
            "ROOT": str(root),
        }
        self.read_end, write_end = os.pipe()
        self.shell = subprocess.Popen(
            ["bash", "--norc", "-c", f'exec 3>&{write_end}; set -o pipefail; while IFS= read -r c; do . "$c"; done'],
            cwd=self.clone,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(write_end,),
            start_new_session=True,
            text=True,
        )
        os.close(write_end)

    def _lay_out(self, repository: pathlib.Path, programs: pathlib.Path) -> None:
        bin_dir = self.clone / "build/release/bin"
        for folder in (
            bin_dir,
            self.clone / "docs",
            *(self.root / name for name in ("home", "tmp", "var/lib", "etc", "backup")),
        ):
            folder.mkdir(parents=True)
        for name in ("examples", "clients", "deploy", "proto", "lab", "tests", "tools", "dev"):
            (self.clone / name).symlink_to(repository / name)
        for program in programs.iterdir():
            if program.name != "freshetd" and os.access(program, os.X_OK):
                (bin_dir / program.name).symlink_to(program)
        (bin_dir / "freshetd").write_text(SERVER)
        (bin_dir / "freshetd").chmod(0o755)

    def translate(self, text: str, rules: list[str] = ()) -> str:
        """Replaces ports and directories of the docs by those of this session."""
        for rule in rules:
            seen, _, here = rule.partition(" => ")
            text = text.replace(seen, here.replace("$DOCTEST_SITE", f"127.0.0.1:{self.site}"))
        text = text.replace("7071", str(self.grpc)).replace("7072", str(self.http))
        for folder in ("/var/lib/freshet", "/etc/freshet", "/backup"):
            if f"{self.root}{folder}" not in text:
                text = text.replace(folder, f"{self.root}{folder}")
        return text

    def run(self, text: str, background: bool = False, serve: bool = False) -> int:
        """Runs a command and returns its exit code; its output is in last_output."""
        self.count += 1
        stem = self.root / f"command{self.count}"
        script, output = stem.with_suffix(".sh"), stem.with_suffix(".out")
        script.write_text(text + "\n")
        output.touch()
        line = f". {script} </dev/null >{output} 2>&1"
        if background or serve:
            wrapper = f"{{ {line}; echo $? >{stem}.ended; }} & echo 0 >&3\n"
        else:
            wrapper = f"{line}\necho $? >&3\n"
        runner = stem.with_suffix(".run")
        runner.write_text(wrapper)
        self.shell.stdin.write(f"{runner}\n")
        self.shell.stdin.flush()
        code = self._answer(text, output)
        if serve:
            self._await_ready(text, output, stem.with_suffix(".ended"))
        if background or serve:
            self.background.append((text, stem))
        self.last_output = output.read_text(errors="replace")
        return code

    def stop(self) -> None:
        """Stops the server that was started last, without a kill."""
        if self.run('pid=$(cat "$ROOT/server.pid") && kill "$pid" && tail --pid="$pid" -f /dev/null'):
            raise Failure(f"the server cannot be stopped\n{self.last_output}")
        self.background = [(text, stem) for text, stem in self.background if "freshetd" not in text]

    def _answer(self, text: str, output: pathlib.Path) -> int:
        ready, _, _ = select.select([self.read_end], [], [], TIMEOUT)
        answer = os.read(self.read_end, 16).decode() if ready else ""
        self.last_output = output.read_text(errors="replace") if output.exists() else ""
        if not answer:
            raise Failure(f"{'the shell ended' if ready else f'no end after {TIMEOUT} s'}: {text}\n{self.last_output}")
        return int(answer)

    @staticmethod
    def _await_ready(text: str, output: pathlib.Path, ended: pathlib.Path) -> None:
        deadline = time.monotonic() + TIMEOUT
        while "ready grpc=" not in output.read_text(errors="replace"):
            if ended.exists() or time.monotonic() > deadline:
                raise Failure(f"never ready: {text}\n{output.read_text(errors='replace')}")
            select.select([], [], [], 0.02)

    def close(self) -> list[str]:
        """Ends everything; returns a message for each background command that had already ended."""
        gone = [
            f"ended before its time: {text}\n{stem.with_suffix('.out').read_text(errors='replace')}"
            for text, stem in self.background
            if stem.with_suffix(".ended").exists()
        ]
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.shell.pid, number)
            except ProcessLookupError:
                break
            deadline = time.monotonic() + 20
            while _lives(self.shell) and time.monotonic() < deadline:
                select.select([], [], [], 0.02)
        self.shell.stdin.close()
        self.shell.wait()
        os.close(self.read_end)
        shutil.rmtree(self.root, ignore_errors=True)
        return gone


def _lives(shell: subprocess.Popen) -> bool:
    """Whether any process of the shell's group is left."""
    shell.poll()
    try:
        os.killpg(shell.pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
