"""Connects to one address after the other, with pauses, and interprets the status of a call that ended."""

from __future__ import annotations

import asyncio
import logging
import random

import grpc
import grpc.aio

from freshet.backoff import Backoff
from freshet.errors import CallFailed, Denied, FreshetError
from freshet.target import Target

logger = logging.getLogger("freshet")

# Statuses after which the same call may succeed: the server is stopping, starting, or elsewhere by now
# (docs/operations.md, "Stopping and crashing"); gRPC turns broken connections into UNKNOWN and INTERNAL.
_TRANSIENT = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.OK,
}


# gRPC's text for a message that the receiver refuses: a retry would not make it shorter.
_TOO_LARGE = "larger than max"


def is_transient(code: grpc.StatusCode, details: str = "") -> bool:
    return code in _TRANSIENT and not (code == grpc.StatusCode.RESOURCE_EXHAUSTED and _TOO_LARGE in details)


def failure(code: grpc.StatusCode, reason: str) -> FreshetError:
    """Returns the exception for a status that retries cannot help."""
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
        return Denied(f"{code.name}: {reason}")
    return CallFailed(code.name, reason)


async def _ready(channel: grpc.aio.Channel, address: str) -> None:
    """Waits for a connection. Unlike channel_ready it stops when nobody listens: there may be other addresses."""
    state = channel.get_state(try_to_connect=True)
    while state != grpc.ChannelConnectivity.READY:
        if state in (grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.SHUTDOWN):
            raise OSError(f"cannot connect to {address}")
        await channel.wait_for_state_change(state)
        state = channel.get_state(try_to_connect=True)


class Connections:
    """Connects to the addresses of a target in turn, to the next one after each failure. Owner thread only."""

    def __init__(self, target: Target, backoff: Backoff, connect_timeout: float, source: random.Random) -> None:
        self._target = target
        self._backoff = backoff
        self._connect_timeout = connect_timeout
        self._source = source
        self._failures = 0
        self._next = 0

    @property
    def address(self) -> str:
        """The address of the next attempt, or of the last connection."""
        return self._target.addresses[self._next % len(self._target.addresses)]

    def pause(self) -> float:
        """Seconds to wait before the next attempt. Tries each address once before any is tried again."""
        rounds = -(-self._failures // len(self._target.addresses))
        whole_round = self._failures % len(self._target.addresses) == 0
        return self._backoff.pause(rounds, self._source) if whole_round else 0.0

    def failed(self) -> None:
        self._failures += 1
        self._next += 1

    def succeeded(self) -> None:
        self._failures = 0

    async def open(self) -> tuple[grpc.aio.Channel, tuple[tuple[str, str], ...]]:
        """Returns a connected channel, and the metadata of its calls. Raises OSError: no server within the time, or
        an unreadable file."""
        metadata = self._target.metadata()
        channel = self._target.open_channel(self.address)
        try:
            await asyncio.wait_for(_ready(channel, self.address), self._connect_timeout)
        except asyncio.TimeoutError:
            await channel.close()
            raise OSError(f"no server answers at {self.address} within {self._connect_timeout:g} s") from None
        except BaseException:
            await channel.close()
            raise
        return channel, metadata
