"""The addresses of a server, and the caller's proof."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import grpc.aio

DEFAULT_ADDRESS = "127.0.0.1:7071"

# A lost connection is noticed within seconds, even if nobody closes it. Each channel has its own connections, so that
# the pause of one after a failure does not delay the next.
_OPTIONS: list[tuple[str, int]] = [
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.use_local_subchannel_pool", 1),
]


@dataclass(frozen=True)
class Target:
    """Addresses of one or more servers, and the caller's proof.

    Addresses are `host:port`, `[::1]:7071` or a name with a scheme of gRPC, such as `unix:/path`; they are tried in
    turn.
    Any of `tls`, `ca_file` and `certificate_file` asks for TLS; without `ca_file` the system's authorities are trusted.
    A
    token is sent only over TLS, or within this machine. Proxies of the environment (`http_proxy`) are used only for TLS
    to
    another machine, which hides the content from them. Files are read again at each connection, so that certificates
    and
    tokens can be replaced while a worker runs. No token is ever shown or logged.
    """

    addresses: tuple[str, ...] = (DEFAULT_ADDRESS,)
    tls: bool = False
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    token: str | None = field(default=None, repr=False)
    token_file: str | None = None

    def __post_init__(self) -> None:
        if not self.addresses or not all(self.addresses):
            raise ValueError("a target needs at least one address, and none may be empty")
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("certificate_file and key_file go together")
        if self.token is not None and self.token_file is not None:
            raise ValueError("give token or token_file, not both")
        if self.shows_token and not self.uses_tls:
            for address in self.addresses:
                if not _is_local(address):
                    raise ValueError(f"a token is not sent to {address} in plain text: use TLS (tls, ca_file)")

    @property
    def uses_tls(self) -> bool:
        return self.tls or self.ca_file is not None or self.certificate_file is not None

    @property
    def shows_token(self) -> bool:
        return self.token is not None or self.token_file is not None

    @classmethod
    def of(cls, target: Target | str | Sequence[str] | None) -> Target:
        """Returns a Target unchanged; else makes one from an address, or several (a string with commas); None =
        environment."""
        if isinstance(target, Target):
            return target
        if target is None:
            return cls.from_environment()
        parts = target.split(",") if isinstance(target, str) else target
        return cls(addresses=tuple(part.strip() for part in parts))

    @classmethod
    def from_environment(cls) -> Target:
        """Reads FRESHET_SERVER, FRESHET_TLS_CA, FRESHET_TLS_CERTIFICATE, FRESHET_TLS_KEY, FRESHET_TOKEN_FILE and
        FRESHET_TOKEN, as the command-line client does."""

        def value(name: str) -> str | None:
            return os.environ.get(name) or None

        token_file = value("FRESHET_TOKEN_FILE")
        return cls(
            addresses=tuple(part.strip() for part in (value("FRESHET_SERVER") or DEFAULT_ADDRESS).split(",")),
            ca_file=value("FRESHET_TLS_CA"),
            certificate_file=value("FRESHET_TLS_CERTIFICATE"),
            key_file=value("FRESHET_TLS_KEY"),
            token_file=token_file,
            token=None if token_file else value("FRESHET_TOKEN"),
        )

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The metadata of each call. Raises OSError when the token file cannot be read."""
        token = self.token if self.token_file is None else Path(self.token_file).read_text(encoding="ascii")
        return () if token is None else (("authorization", f"Bearer {token.strip()}"),)

    def open_channel(self, address: str) -> grpc.aio.Channel:
        """Opens a channel to one of the addresses, in the running event loop. Raises OSError if files cannot be
        read."""
        # A proxy would read a token in plain text, and does not lead to this machine.
        proxies = int(self.uses_tls and not _is_local(address))
        options = [*_OPTIONS, ("grpc.enable_http_proxy", proxies)]
        if not self.uses_tls:
            return grpc.aio.insecure_channel(address, options=options)
        credentials = grpc.ssl_channel_credentials(
            root_certificates=_read(self.ca_file),
            private_key=_read(self.key_file),
            certificate_chain=_read(self.certificate_file),
        )
        return grpc.aio.secure_channel(address, credentials, options=options)


def _read(path: str | None) -> bytes | None:
    return None if path is None else Path(path).read_bytes()


def _is_local(address: str) -> bool:
    """Whether an address is surely this machine's, whatever a resolver says: a full IP address, or `localhost`. A
    name that merely begins like a number does not count; for gRPC an IPv6 address without brackets has no port."""
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0]
    bracketed = host.startswith("[") and host.endswith("]")
    try:
        if "%" in host:  # a zone, which no address of this machine needs
            return False
        return (ipaddress.IPv6Address(host[1:-1]) if bracketed else ipaddress.IPv4Address(host)).is_loopback
    except ValueError:
        return host == "localhost"
