"""Connecting: one address after the other, with pauses; and what the status of a call that ended means."""

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

# Statuses after which the same call may succeed: the server stops, starts, or is elsewhere by now (docs/operations.md,
# "Stopping and crashing"); UNKNOWN and INTERNAL are what gRPC makes of connections that break.
_TRANSIENT = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.OK,
}


# What gRPC says of a message that the receiver does not take: no other attempt makes it shorter.
_TOO_LARGE = "larger than max"


def is_transient(code: grpc.StatusCode, details: str = "") -> bool:
    return code in _TRANSIENT and not (code == grpc.StatusCode.RESOURCE_EXHAUSTED and _TOO_LARGE in details)


def failure(code: grpc.StatusCode, reason: str) -> FreshetError:
    """What a status that trying again does not help is raised as."""
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
        return Denied(f"{code.name}: {reason}")
    return CallFailed(code.name, reason)


async def _ready(channel: grpc.aio.Channel, address: str) -> None:
    """Unlike channel_ready does not go on trying where nobody listens: there may be other addresses."""
    state = channel.get_state(try_to_connect=True)
    while state != grpc.ChannelConnectivity.READY:
        if state in (grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.SHUTDOWN):
            raise OSError(f"cannot connect to {address}")
        await channel.wait_for_state_change(state)
        state = channel.get_state(try_to_connect=True)


class Connections:
    """Channels to the addresses of a target in turn, the next one after each failure. Owner thread only."""

    def __init__(self, target: Target, backoff: Backoff, connect_timeout: float, source: random.Random) -> None:
        self._target = target
        self._backoff = backoff
        self._connect_timeout = connect_timeout
        self._source = source
        self._failures = 0
        self._next = 0

    @property
    def address(self) -> str:
        """The address that is tried next, or was connected to last."""
        return self._target.addresses[self._next % len(self._target.addresses)]

    def pause(self) -> float:
        """Seconds to wait before the next attempt. All addresses are tried before any is tried again."""
        rounds = -(-self._failures // len(self._target.addresses))
        whole_round = self._failures % len(self._target.addresses) == 0
        return self._backoff.pause(rounds, self._source) if whole_round else 0.0

    def failed(self) -> None:
        self._failures += 1
        self._next += 1

    def succeeded(self) -> None:
        self._failures = 0

    async def open(self) -> tuple[grpc.aio.Channel, tuple[tuple[str, str], ...]]:
        """A channel that is connected, and what goes along with its calls. Raises OSError: no server within the time,
        or a file that cannot be read."""
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
