"""The content of the package: generated code matches the API, and pip builds it without a network."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1]


def test_generated_code_is_that_of_the_api() -> None:
    if shutil.which("protoc") is None or shutil.which("grpc_python_plugin") is None:
        pytest.skip("protoc and its plugin for Python are not here")
    check = subprocess.run([sys.executable, str(PACKAGE / "generate.py"), "--check"], capture_output=True, text=True)
    if check.returncode == 77:
        pytest.skip(check.stderr.strip())
    assert check.returncode == 0, check.stdout + check.stderr


def test_pip_builds_it_offline(tmp_path: Path) -> None:
    source, installed = tmp_path / "source", tmp_path / "installed"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("tests", "__pycache__", "build", "*.egg-info"))
    offline = ["--no-index", "--no-build-isolation", "--no-deps", "--disable-pip-version-check", "--no-compile"]
    command = [sys.executable, "-m", "pip", "install", "--quiet", *offline, "--target", str(installed), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    assert (installed / "freshet/py.typed").exists()
    assert (installed / "freshet/v1/scheduler_pb2.pyi").exists()
    program = "import freshet, freshet.http; print(freshet.__file__, freshet.Outcome.CHANGED.name, freshet.__version__)"
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    version = re.search(r'^version = "(.+)"', (PACKAGE / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    assert run.stdout.split() == [str(installed / "freshet/__init__.py"), "CHANGED", version[1]], run.stderr


def test_what_a_user_sees_is_documented() -> None:
    import freshet
    from freshet import aio

    for name in freshet.__all__:
        thing = getattr(freshet, name)
        assert thing.__doc__, f"{name} says nothing of itself"
    for name in aio.__all__:
        public = [member for member in vars(getattr(freshet, name)) if not member.startswith("_")]
        assert set(public) <= set(vars(getattr(aio, name))), f"{name} has what aio.{name} has not"
