#!/usr/bin/env python3
"""Writes the generated code of the package: messages and stubs of proto/freshet/v1 with their types, by protoc and its
gRPC plugin for Python (Debian's protobuf-compiler and protobuf-compiler-grpc), types of the stubs, and the blocking
Admin, which is derived from the one for asyncio.

    generate.py              writes them into the package
    generate.py --check      prints differences; exit code 0 = none, 77 = protoc has another version
"""

from __future__ import annotations

import ast
import difflib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROTO = HERE.parents[1] / "proto"
# Code of this version works with every release of protobuf for Python from 3.20 on; Debian 12 has it.
PROTOC = "libprotoc 3.21.12"
# Services that clients may not call.
BETWEEN_SERVERS = ("fleet.proto",)

ADMIN_HEADER = '''\
"""Calls of operators, and reads of pages, for programs without asyncio. Do not edit: generate.py derives this file from
freshet/aio/admin.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from types import TracebackType

from freshet import aio
from freshet._loop import background_loop
from freshet.backoff import Backoff
from freshet.target import Target
from freshet.v1 import admin_pb2, auth_pb2, pages_pb2


class Admin:
    """Parameters, calls and promises are those of freshet.aio.Admin. Thread-safe."""

    def __init__(
        self,
        target: Target | str | Sequence[str] | None = None,
        *,
        patience: float = 10.0,
        timeout: float = 60.0,
        backoff: Backoff | None = None,
        connect_timeout: float = 5.0,
    ) -> None:
        self._loop = background_loop()
        self._admin = aio.Admin(
            target, patience=patience, timeout=timeout, backoff=backoff, connect_timeout=connect_timeout
        )

    def __enter__(self) -> Admin:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
'''


def protoc(out: Path) -> None:
    plugin = shutil.which("grpc_python_plugin")
    if plugin is None:
        sys.exit("generate: grpc_python_plugin is missing (Debian: protobuf-compiler-grpc)")
    protos = (path for path in PROTO.glob("freshet/v1/*.proto") if path.name not in BETWEEN_SERVERS)
    sources = sorted(str(path.relative_to(PROTO)) for path in protos)
    subprocess.run(
        ["protoc", f"--proto_path={PROTO}", f"--python_out={out}", f"--pyi_out={out}", f"--grpc_python_out={out}"]
        + [f"--plugin=protoc-gen-grpc_python={plugin}", *sources],
        check=True,
    )
    for path in (out / "freshet/v1").glob("*_pb2_grpc.py"):
        if "class " in path.read_text():
            path.with_suffix(".pyi").write_text(stub_types(path))
        else:
            path.unlink()


def stub_types(stub: Path) -> str:
    """The types of the stubs in a file of the gRPC plugin, read from their calls. A channel of grpc.aio makes calls
    of grpc.aio, which a stub cannot know: so all calls are Any."""
    text = stub.read_text()
    module = stub.name.removesuffix("_grpc.py")
    lines = ["from typing import Any", "", "import grpc", "import grpc.aio", ""]
    for service in re.findall(r"^class (\w+)Stub\(", text, re.MULTILINE):
        body = text[text.index(f"class {service}Stub(") :].split("\nclass ")[0]
        calls = re.findall(r"self\.(\w+) = channel\.(\w+)\(", body)
        lines += [f"class {service}Stub:"]
        lines += [f"    # {kind.replace('_', ' to ')}, of {module}" + f"\n    {name}: Any" for name, kind in calls]
        lines += ["    def __init__(self, channel: grpc.Channel | grpc.aio.Channel) -> None: ...", ""]
    return "\n".join(lines)


def blocking_admin() -> str:
    source = (HERE / "freshet/aio/admin.py").read_text()
    tree = ast.parse(source)
    admin = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Admin")
    parts = [ADMIN_HEADER]
    for node in admin.body:
        if isinstance(node, ast.AsyncFunctionDef) and not node.name.startswith("_"):
            parts.append(blocking(node))
    return "\n".join(parts)


def blocking(node: ast.AsyncFunctionDef) -> str:
    positional = [arg.arg for arg in node.args.args[1:]]
    named = [arg.arg for arg in node.args.kwonlyargs]
    call = f"self._admin.{node.name}({', '.join(positional + [f'{name}={name}' for name in named])})"
    assert node.returns is not None
    returns = ast.unparse(node.returns)
    how = "run"
    if returns.startswith("AsyncIterator"):
        how, returns = "iterate", returns.replace("AsyncIterator", "Iterator")
    parameters = ["self"] + [written(a, d) for a, d in zip(node.args.args[1:], defaults(node), strict=True)]
    if named:
        parameters.append("*")
        parameters += [written(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
    lines = [f"    def {node.name}({', '.join(parameters)}) -> {returns}:"]
    if len(lines[0]) > 120:
        lines = [
            f"    def {node.name}(",
            *(f"        {parameter}," for parameter in parameters),
            f"    ) -> {returns}:",
        ]
    documentation = ast.get_docstring(node)
    if documentation:
        lines += textwrap.indent(f'"""{documentation}"""', " " * 8).splitlines()
    body = f"        return self._loop.{how}({call})"
    if len(body) > 120:
        arguments = call[call.index("(") + 1 : -1].split(", ")
        body = f"        return self._loop.{how}(\n            self._admin.{node.name}(\n"
        body += "".join(f"                {argument},\n" for argument in arguments) + "            )\n        )"
    return "\n".join(lines + [body]) + "\n"


def defaults(node: ast.AsyncFunctionDef) -> list[ast.expr | None]:
    missing = len(node.args.args) - 1 - len(node.args.defaults)
    return [None] * missing + list(node.args.defaults)


def written(argument: ast.arg, default: ast.expr | None) -> str:
    assert argument.annotation is not None
    text = f"{argument.arg}: {ast.unparse(argument.annotation)}"
    if default is None:
        return text
    return f"{text} = " + ('""' if ast.unparse(default) == "''" else ast.unparse(default))


def generated() -> dict[Path, str]:
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        protoc(out)
        files = {path.relative_to(out): path.read_text() for path in sorted((out / "freshet/v1").iterdir())}
    files[Path("freshet/admin.py")] = blocking_admin()
    return files


def main() -> int:
    version = subprocess.run(["protoc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if version != PROTOC:
        print(f"generate: the package is generated by {PROTOC}, this is {version}", file=sys.stderr)
        return 77
    files = generated()
    stale = [path for path in (HERE / "freshet/v1").glob("*_pb2*") if path.relative_to(HERE) not in files]
    if sys.argv[1:] != ["--check"]:
        for path in stale:
            path.unlink()
        for name, text in files.items():
            (HERE / name).write_text(text)
        return 0
    different = [str(path) for path in stale]
    for name, text in files.items():
        current = (HERE / name).read_text() if (HERE / name).exists() else ""
        if current != text:
            different.append(str(name))
            sys.stdout.writelines(
                difflib.unified_diff(current.splitlines(True), text.splitlines(True), str(name), "generated", n=1)
            )
    if different:
        print(f"generate: run `./dev python generate`; out of date: {', '.join(different)}", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
