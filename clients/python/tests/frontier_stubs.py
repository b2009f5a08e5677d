"""Messages and stubs of the crawl-frontier API, for tests and tests/fleet, which use it as crawlers do."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

REPOSITORY = Path(__file__).resolve().parents[3]


def make_stubs(directory: Path) -> tuple[ModuleType, ModuleType]:
    """Makes messages and stubs from our .proto, as its users do."""
    proto = REPOSITORY / "proto/urlfrontier"
    plugin = f"--plugin=protoc-gen-grpc_python={shutil.which('grpc_python_plugin')}"
    outputs = [f"--python_out={directory}", f"--grpc_python_out={directory}"]
    subprocess.run(["protoc", f"-I{proto}", plugin, *outputs, str(proto / "urlfrontier.proto")], check=True)
    sys.path.insert(0, str(directory))
    try:
        return importlib.import_module("urlfrontier_pb2"), importlib.import_module("urlfrontier_pb2_grpc")
    finally:
        sys.path.remove(str(directory))
