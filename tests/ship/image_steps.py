"""Runs the steps of a Dockerfile in Debian roots. Knows only the steps of our Dockerfile; another one is an error."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field

from dockerfile_parse import DockerfileParser

# The base images of stages, each a minimal Debian here, and the package files that the slim one leaves out.
BASES = {
    "debian:12": "",
    "debian:12-slim": "".join(
        f"path-exclude /usr/share/{part}/*\n" for part in ("doc", "groff", "info", "linda", "lintian", "man")
    ),
}
NETWORK = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


@dataclass
class Image:
    """A stage: its root, and the settings of containers made from it."""

    root: pathlib.Path
    environment: dict = field(
        default_factory=lambda: {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    )
    arguments: dict = field(default_factory=dict)
    labels: dict = field(default_factory=dict)
    shell: list = field(default_factory=lambda: ["/bin/sh", "-c"])
    directory: str = "/"
    user: str = "0:0"
    volumes: list = field(default_factory=list)
    ports: list = field(default_factory=list)
    entrypoint: list = field(default_factory=list)
    command: list = field(default_factory=list)
    health: list = field(default_factory=list)
    stop_signal: str = "SIGTERM"

    def inside(self, path):
        return self.root / os.path.normpath(os.path.join(self.directory, path)).lstrip("/")


class Builder:
    """Makes the images of a Dockerfile. `given` maps stage names to {path: directory}, used instead of the steps."""

    def __init__(self, context, base, scratch, given):
        self.context, self.base, self.scratch, self.given = context, base, scratch, given
        self.images = {}
        self.image = None
        self.skipping = False

    def build(self):
        parser = DockerfileParser(path=str(self.context), cache_content=True)
        for step in parser.structure:
            if step["instruction"] == "COMMENT" or (self.skipping and step["instruction"] != "FROM"):
                continue
            print(f"== image: {step['instruction']} {step['value'][:100]}", flush=True)
            handler = getattr(self, "do_" + step["instruction"].lower(), None)
            if handler is None:
                raise SystemExit(f"Dockerfile line {step['startline'] + 1}: {step['instruction']} is not known here")
            handler(step["value"])
        return self.image

    def expand(self, text):
        known = {**self.image.arguments, **self.image.environment}
        return re.sub(r"\$\{?([A-Za-z_]\w*)\}?", lambda match: known.get(match[1], ""), text)

    def pairs(self, text):
        return dict(word.split("=", 1) for word in shlex.split(self.expand(text)))

    def do_from(self, value):
        words = value.split()
        name = words[2] if len(words) == 3 and words[1].upper() == "AS" else str(len(self.images))
        root = self.scratch / f"stage-{len(self.images)}"
        self.image = self.images[name] = Image(root)
        self.skipping = name in self.given
        if self.skipping:
            for path, source in self.given[name].items():
                shutil.copytree(source, root / path.lstrip("/"))
            return
        subprocess.run(["cp", "-a", str(self.base), str(root)], check=True)
        if excluded := BASES[words[0]]:
            (root / "etc/dpkg/dpkg.cfg.d/docker").write_text(excluded)

    def do_arg(self, value):
        name, _, default = value.partition("=")
        self.image.arguments[name] = os.environ.get("BUILD_ARG_" + name, self.expand(default))

    def do_env(self, value):
        self.image.environment.update(self.pairs(value))

    def do_label(self, value):
        self.image.labels.update(self.pairs(value))

    def do_workdir(self, value):
        self.image.directory = os.path.join(self.image.directory, self.expand(value))
        self.image.inside(".").mkdir(parents=True, exist_ok=True)

    def do_shell(self, value):
        self.image.shell = json.loads(value)

    def do_user(self, value):
        self.image.user = self.expand(value)

    def do_volume(self, value):
        self.image.volumes += json.loads(value) if value.startswith("[") else value.split()

    def do_expose(self, value):
        self.image.ports += value.split()

    def do_stopsignal(self, value):
        self.image.stop_signal = value

    def do_entrypoint(self, value):
        self.image.entrypoint = json.loads(value)

    def do_cmd(self, value):
        self.image.command = json.loads(value)

    def do_healthcheck(self, value):
        words = value.split("CMD", 1)
        self.image.health = json.loads(words[1])

    def do_copy(self, value):
        words = value.split()
        options = [word for word in words if word.startswith("--")]
        *sources, target = [word for word in words if not word.startswith("--")]
        if any(not option.startswith("--from=") for option in options):
            raise SystemExit(f"COPY {options} is not known here")
        from_root = self.images[options[0].split("=")[1]].root if options else None
        into = self.image.inside(target)
        into.mkdir(parents=True, exist_ok=True)
        for source in sources:
            within = from_root or self.context
            # glob() has no pattern for the directory itself.
            name = os.path.normpath(source.lstrip("/"))
            paths = [within] if name == "." else sorted(within.glob(name))
            if not paths:
                raise SystemExit(f"COPY {source}: there is no such file")
            for path in paths:
                self.copy(path, into)

    def copy(self, path, into):
        if path != self.context:
            subprocess.run(["cp", "-a", "--no-preserve=ownership", str(path), str(into)], check=True)
            return
        ignored = {line.strip("/") for line in (path / ".dockerignore").read_text().split() if line}
        for entry in path.iterdir():
            if entry.name not in ignored:
                self.copy(entry, into)

    def do_run(self, value):
        mounts = []
        while value.startswith("--"):
            option, value = value.split(None, 1)
            parts = dict(part.split("=") for part in option.removeprefix("--mount=").split(","))
            if parts.pop("type") != "bind" or set(parts) != {"from", "source", "target"}:
                raise SystemExit(f"RUN {option} is not known here")
            mounts.append((self.images[parts["from"]].inside(parts["source"]), self.image.inside(parts["target"])))
        lines = [f"mount -t proc proc {shlex.quote(str(self.image.root / 'proc'))}"]
        for source, target in mounts:
            target.mkdir()
            lines.append(f"mount --bind {shlex.quote(str(source))} {shlex.quote(str(target))}")
        command = [*self.image.shell, f"cd {shlex.quote(self.image.directory)} && {value}"]
        lines.append("exec " + shlex.join(["chroot", str(self.image.root), *command]))
        environment = {"HOME": "/root", **self.image.arguments, **self.image.environment}
        environment.update({name: os.environ[name] for name in NETWORK if name in os.environ})
        subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "sh", "-ec", "\n".join(lines)], env=environment, check=True
        )
        for _, target in mounts:
            target.rmdir()
