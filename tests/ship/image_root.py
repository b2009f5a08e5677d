"""Makes the image of the Dockerfile without Docker, and runs it as a container; image_root.sh calls it."""

import argparse
import hashlib
import os
import pathlib
import secrets
import shlex
import signal
import subprocess
import sys
import time

import yaml
from image_steps import Builder

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def fail(what):
    raise SystemExit(f"image_root: {what}")


def expect(holds, what):
    if not holds:
        fail(what)


class Container:
    """Runs the image like `docker run --read-only --cap-drop ALL --security-opt no-new-privileges`, in its own network.
    The program is process 1; `volume` is kept between runs."""

    def __init__(self, image, volume, arguments=None, program=None, etc=None):
        """`arguments` replaces CMD, `program` replaces ENTRYPOINT and CMD; `etc` is mounted at /etc/freshet."""
        self.image, self.volume = image, volume
        # Container engines write this file, too.
        (image.root / "etc/hosts").write_text("127.0.0.1 localhost\n")
        root, mounted = str(image.root), str(image.inside(image.volumes[0]))
        if not volume.exists():
            # A new volume starts as a copy of the image's directory, with the same owner.
            subprocess.run(["cp", "-a", mounted, str(volume)], check=True)
        program = program or [*image.entrypoint, *(image.command if arguments is None else arguments)]
        quoted = shlex.quote(root)
        lines = [
            "ip link set lo up",
            f"mount --bind {quoted} {quoted}",
            f"mount --bind {shlex.quote(str(volume))} {shlex.quote(mounted)}",
            f"mount --bind {shlex.quote(str(etc))} {shlex.quote(root + '/etc/freshet')}" if etc else "",
            f"mount -o remount,bind,ro {quoted}",
            f"mount -t proc proc {shlex.quote(root + '/proc')}",
            "exec " + shlex.join(["chroot", root, *self.unprivileged(), *program]),
        ]
        apart = ["unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child"]
        self.process = subprocess.Popen(
            [*apart, "sh", "-ec", "\n".join(lines)],
            env=image.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def unprivileged(self):
        user, group = self.image.user.split(":")
        return [
            "setpriv",
            "--reuid",
            user,
            "--regid",
            group,
            "--clear-groups",
            "--no-new-privs",
            "--inh-caps=-all",
            "--bounding-set=-all",
        ]

    def first_process(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0]) if children else None

    def run(self, *command):
        """Runs a command like `docker exec`; returns exit code and output."""
        entered = [
            "nsenter",
            "--target",
            str(self.first_process()),
            "--mount",
            "--net",
            "--pid",
            "--ipc",
            "--uts",
            "--root",
        ]
        done = subprocess.run(
            [*entered, "--", *self.unprivileged(), *command],
            env=self.image.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout

    def is_healthy(self):
        return self.run(*self.image.health)[0] == 0

    def probe(self, get):
        """Asks like a kubelet, with any certificate; returns the status of a path, None without an answer."""
        scheme, path, port = get["scheme"].lower(), get["path"], get["port"]
        ask = (
            "import ssl, sys, urllib.request, urllib.error\n"
            "context = ssl._create_unverified_context()\n"
            "try: print(urllib.request.urlopen(sys.argv[1], timeout=10, context=context).status)\n"
            "except urllib.error.HTTPError as error: print(error.code)\n"
        )
        entered = ["nsenter", "--target", str(self.first_process()), "--net", "--"]
        asked = [sys.executable, "-c", ask, f"{scheme}://127.0.0.1:{port}{path}"]
        done = subprocess.run([*entered, *asked], env={}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return int(done.stdout) if done.stdout else None

    def await_health(self, healthy=None, seconds=300):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            if self.first_process() and (healthy or self.is_healthy)():
                return
            time.sleep(0.2)
        self.process.kill()
        fail(f"not healthy after {seconds} s: {self.process.communicate()[0]}")

    def stop(self, seconds=30):
        """Sends the image's stop signal, waits as long as deploy/compose.yml, and returns the exit code."""
        os.kill(self.first_process(), getattr(signal, self.image.stop_signal))
        return self.process.wait(seconds)


def status_of(process):
    lines = pathlib.Path(f"/proc/{process}/status").read_text().splitlines()
    return {name: value.split() for name, value in (line.split(":", 1) for line in lines)}


def check_user(container):
    status = status_of(container.first_process())
    expect(
        set(status["Uid"]) == {"7071"} and set(status["Gid"]) == {"7071"}, f"runs as {status['Uid']} {status['Gid']}"
    )
    expect(int(status["CapEff"][0], 16) == 0 and status["NoNewPrivs"] == ["1"], "has capabilities")
    expect(status["NSpid"][-1] == "1", "is not process 1")
    expect(container.run("touch", "/usr/bin/written")[0] != 0, "can write its root file system")
    expect(container.run("id", "-un")[1] == "freshet\n", "its user has no name")


def check_image(image, scratch):
    volume = scratch / "volume"
    print("== image: runs as its user, healthy, with pages", flush=True)
    container = Container(image, volume)
    container.await_health()
    check_user(container)
    code, said = container.run("freshet", "upsert", "https://example.org/")
    expect(code == 0, f"freshet upsert: {said}")
    code, said = container.run("freshet", "next", "--wait", "10s")
    expect(code == 0 and "https://example.org/" in said, f"freshet next: {said}")
    expect(container.stop() == 0, f"{image.stop_signal} ends it with {container.process.returncode}")

    print("== image: runs again on its volume, with flags", flush=True)
    container = Container(image, volume, ["--insecure", "--crawl-rate", "25"])
    container.await_health()
    expect(container.run("freshet", "list")[1].count("https://example.org/") == 1, "the page is gone")
    os.kill(container.first_process(), signal.SIGSTOP)
    expect(not container.is_healthy(), "is healthy while it does nothing")
    os.kill(container.first_process(), signal.SIGCONT)
    expect(container.stop() == 0, f"{image.stop_signal} ends it with {container.process.returncode}")

    print("== image: refuses to be open without being told to", flush=True)
    refused = Container(image, volume, [])
    said = refused.process.communicate(timeout=60)[0]
    expect(refused.process.returncode == 2 and "insecure" in said, f"exit code {refused.process.returncode}: {said}")


def make_secrets(etc, token):
    """Writes the files that the pod mounts: configuration, certificate, and an operator with the token."""
    (etc / "tls").mkdir(parents=True)
    (etc / "auth").mkdir()
    (etc / "freshet.yaml").write_text((REPOSITORY / "deploy/k8s/freshet.yaml").read_text())
    files = ["-keyout", str(etc / "tls/tls.key"), "-out", str(etc / "tls/tls.crt")]
    names = ["-subj", "/CN=freshet", "-addext", "subjectAltName=DNS:freshet.freshet.svc,DNS:localhost"]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    subprocess.run(["openssl", "req", "-x509", *kind, *files, *names], check=True, stderr=subprocess.DEVNULL)
    digest = hashlib.sha256(token.encode()).hexdigest()
    operator = {"name": "operator", "token_sha256": [digest], "roles": ["admin", "reader", "ingester"]}
    (etc / "auth/auth.yaml").write_text(yaml.safe_dump({"identities": [operator]}))
    for path in etc.rglob("*"):
        os.chown(path, 0, 7071)
        path.chmod(0o750 if path.is_dir() else 0o440)


def check_pod(image, scratch):
    """Runs the container of deploy/k8s on a volume like a cluster's: owned by root and the pod's group."""
    print("== image: as the pod of deploy/k8s, with TLS and identities", flush=True)
    stateful = yaml.safe_load((REPOSITORY / "deploy/k8s/statefulset.yaml").read_text())
    pod = stateful["spec"]["template"]["spec"]["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in pod["ports"]}
    probes = [dict(pod[name]["httpGet"]) for name in ("startupProbe", "livenessProbe", "readinessProbe")]
    for get in probes:
        get["port"] = ports[get["port"]]
    token = secrets.token_hex(32)
    make_secrets(scratch / "etc", token)
    volume = scratch / "claim"
    (volume / "lost+found").mkdir(parents=True)
    os.chown(volume, 0, 7071)
    volume.chmod(0o2775)
    container = Container(image, volume, program=[*pod["command"], *pod["args"]], etc=scratch / "etc")
    container.await_health(lambda: all(container.probe(get) == 200 for get in probes))
    client = ["freshet", "--server", "localhost:7071", "--tls-ca", "/etc/freshet/tls/tls.crt"]
    code, said = container.run("env", f"FRESHET_TOKEN={token}", *client, "upsert", "https://example.org/")
    expect(code == 0, f"an operator is refused: {said}")
    code, said = container.run(*client, "upsert", "https://example.org/other")
    expect(code == 1, f"who has no token is not refused: {said}")
    code, said = container.run(*client, "health")
    expect(code == 0, f"health: {said}")
    expect(container.probe({**probes[0], "path": "/metrics"}) == 200, "Prometheus is refused")
    expect(container.stop() == 0, f"SIGTERM ends the pod with {container.process.returncode}")


def check_contents(image, base):
    for left in ("packages", "var/lib/freshet", "var/cache/apt/archives/*.deb", "var/lib/apt/lists/*"):
        expect(not list(image.root.glob(left)), f"/{left} is left in the image")
    for label in ("title", "description", "licenses", "version", "revision"):
        expect(image.labels.get("org.opencontainers.image." + label), f"has no label {label}")
    expect(
        image.ports == ["7071", "7072"] and image.volumes == ["/data"], f"ports {image.ports}, volumes {image.volumes}"
    )
    sizes = [int(subprocess.check_output(["du", "-sm", "-x", str(root)]).split()[0]) for root in (image.root, base)]
    print(f"== image: {sizes[0]} MB, of which the Debian root takes {sizes[1]} MB", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--base", type=pathlib.Path, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--packages", type=pathlib.Path, help="Debian packages to take instead of building them")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    given = {"build": {"/src/build/packages": options.packages}} if options.packages else {}
    image = Builder(REPOSITORY, options.base, options.scratch, given).build()
    check_contents(image, options.base)
    check_image(image, options.scratch)
    check_pod(image, options.scratch)
    print("== image: all passed", flush=True)


main()
