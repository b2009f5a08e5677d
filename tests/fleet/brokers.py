"""Kafka brokers on loopback that can be killed, stopped and started again. Each is also a controller (KRaft)."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from net import Place

PROPERTIES = """\
process.roles=broker,controller
node.id={node}
controller.quorum.voters={voters}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}
default.replication.factor={copies}
min.insync.replicas={insync}
offsets.topic.replication.factor={copies}
offsets.topic.num.partitions=4
transaction.state.log.replication.factor={copies}
transaction.state.log.min.isr={insync}
transaction.state.log.num.partitions=4
auto.create.topics.enable=false
unclean.leader.election.enable=false
group.min.session.timeout.ms=1000
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
controller.quorum.election.timeout.ms=1000
controller.quorum.fetch.timeout.ms=2000
"""
# Compacts replaced rows within seconds.
COMPACTING = """\
log.roll.ms=4000
log.cleaner.backoff.ms=1000
log.cleaner.min.cleanable.ratio=0.01
log.segment.delete.delay.ms=1000
"""
LOG = ["defaultLogLevel=info", "showDateTime=true", "dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSS"]
# Clients use a separate listener, authenticate, and have only granted rights. Brokers and tools use the other listener
# and may do everything.
SECURED = """\
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller},CLIENT://{host}:{secured}
advertised.listeners=PLAINTEXT://{host}:{port},CLIENT://{host}:{secured}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,CLIENT:SASL_SSL
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.client.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
ssl.keystore.type=PEM
ssl.keystore.location={keystore}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
"""
CLUSTER_ID = "freshetfleetfreshetfle"  # 16 bytes in base64


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def make_certificate(certificate: Path, hosts: list[str]) -> Path:
    """Makes a self-signed certificate for these addresses; returns the file that also has its key."""
    key, both = certificate.with_suffix(".key"), certificate.with_suffix(".keystore")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    names = ",".join(f"IP:{host}" for host in sorted(set(hosts)))
    name = ["-subj", "/CN=brokers", "-addext", f"subjectAltName={names}"]
    subprocess.run([*command, *name, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    both.write_text(key.read_text("ascii") + certificate.read_text("ascii"), encoding="ascii")
    return both


class Broker:
    def __init__(self, directory: Path, jars: Path, settings: dict[str, object], place: Place | None) -> None:
        self._directory = directory
        self._jars = jars
        self.place = place
        self.host = place.address if place else "127.0.0.1"
        self._port = int(str(settings["port"]))
        self._process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True)
        self._properties = directory / "server.properties"
        # The broker takes the later of two lines for a setting.
        template = PROPERTIES + (COMPACTING if settings["compacting"] else "") + (SECURED if "secured" in settings else "")
        self._data = directory / "data"
        self._properties.write_text(template.format(data=self._data, host=self.host, **settings), encoding="utf-8")
        users = ["--add-scram", f"SCRAM-SHA-512=[{settings['user']}]"] if "secured" in settings else []
        self.java("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(self._properties), *users)

    def _command(self, *arguments: str) -> list[str]:
        log = [f"-Dorg.slf4j.simpleLogger.{setting}" for setting in LOG]
        return ["java", "-Xms64m", "-Xmx384m", "-XX:+UseSerialGC", *log, "-cp", f"{self._jars}/*", *arguments]

    def java(self, *arguments: str) -> None:
        """Runs one of Kafka's tools."""
        done = subprocess.run(self._command(*arguments), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        with (self._directory / "log").open("ab") as log:
            prefix = self.place.prefix if self.place else []
            command = [*prefix, *self._command("kafka.Kafka", str(self._properties))]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

    def await_listening(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex((self.host, self._port)) == 0:
                    return
            time.sleep(0.1)
        message = f"broker at {self._port} does not listen: {self._directory / 'log'}"
        raise TimeoutError(message)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def copy_disk(self) -> None:
        """Copies the data. Precondition: killed."""
        shutil.copytree(self._data, self._directory / "older", dirs_exist_ok=True)

    def take_older_disk(self) -> None:
        """Replaces the data by the copy, so that later writes are lost. Precondition: killed."""
        shutil.rmtree(self._data)
        (self._directory / "older").rename(self._data)


USER = ("freshet", "not-told-to-anybody")
# Rights of the user on names with the cluster's prefix: those of docs/cluster.md, and those that tests need on topics.
RIGHTS = [
    ("--topic", ["Create", "Delete", "Describe", "DescribeConfigs", "Read", "Write"]),
    ("--group", ["Describe", "Read"]),
    ("--transactional-id", ["Describe", "Write"]),
]


class Brokers:
    """A cluster of brokers: `with Brokers(directory, jars, 3) as brokers` starts it.

    `secured_for`: clients authenticate as USER by SASL_SSL, and may use names with this prefix.
    """

    def __init__(
        self,
        directory: Path,
        jars: Path,
        count: int,
        secured_for: str | None = None,
        *,
        places: list[Place] | None = None,
        compacting: bool = False,
    ) -> None:
        """`places`: the place of each broker; None = 127.0.0.1. `compacting`: compact all the time."""
        ports = free_ports(3 * count)
        hosts = [place.address for place in places] if places else ["127.0.0.1"] * count
        voters = ",".join(f"{i + 1}@{host}:{ports[count + i]}" for i, host in enumerate(hosts))
        self._open_addresses = ",".join(f"{host}:{port}" for host, port in zip(hosts, ports, strict=False))
        self.addresses = self._open_addresses
        self.properties: dict[str, str] = {}  # for clients
        self._secured_for = secured_for
        secured: list[dict[str, object]] = [{} for _ in range(count)]
        if secured_for is not None:
            authority = directory / "brokers.pem"
            keystore = make_certificate(authority, hosts)
            credentials = f"name={USER[0]},password={USER[1]}"
            self.properties = {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": USER[0],
                "sasl.password": USER[1],
                "ssl.ca.location": str(authority),
            }
            for i, settings in enumerate(secured):
                settings.update(secured=ports[2 * count + i], user=credentials, keystore=keystore)
            self.addresses = ",".join(f"{host}:{port}" for host, port in zip(hosts, ports[2 * count :], strict=True))
        self.each = [
            Broker(
                directory / f"broker{i + 1}",
                jars,
                {
                    "node": i + 1,
                    "voters": voters,
                    "port": ports[i],
                    "controller": ports[count + i],
                    "copies": count,
                    "insync": min(count, 2),
                    "compacting": compacting,
                    **secured[i],
                },
                places[i] if places else None,
            )
            for i in range(count)
        ]

    def __enter__(self) -> Brokers:
        for broker in self.each:
            broker.start()
        for broker in self.each:
            broker.await_listening(120)
        if self._secured_for is not None:
            self._allow(self._secured_for)
        return self

    def set_topic(self, topic: str, **settings: str | None) -> None:
        """Sets settings of a topic, as an operator would. Names have _ for dots; None = the default."""
        change = {name.replace("_", "."): value for name, value in settings.items()}
        self._configure(["--entity-type", "topics", "--entity-name", topic], change)

    def set_quota(self, **settings: str | None) -> None:
        """Sets quotas for all clients with the same name together, at each broker; None = no quota."""
        self._configure(["--entity-type", "clients", "--entity-default"], settings)

    def _configure(self, entity: list[str], change: dict[str, str | None]) -> None:
        added = ",".join(f"{name}={value}" for name, value in change.items() if value is not None)
        deleted = ",".join(name for name, value in change.items() if value is None)
        self.each[0].java(
            *("kafka.admin.ConfigCommand", "--bootstrap-server", self._open_addresses, "--alter", *entity),
            *(("--add-config", added) if added else ()),
            *(("--delete-config", deleted) if deleted else ()),
        )

    def _allow(self, cluster: str) -> None:
        for kind, operations in RIGHTS:
            self.each[0].java(
                *("kafka.admin.AclCommand", "--bootstrap-server", self._open_addresses, "--add"),
                *("--allow-principal", f"User:{USER[0]}", "--resource-pattern-type", "prefixed", kind, cluster),
                *(argument for operation in operations for argument in ("--operation", operation)),
            )

    def __exit__(self, *_: object) -> None:
        for broker in self.each:
            broker.kill()
