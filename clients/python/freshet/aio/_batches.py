"""Sends messages on a stream of batches and waits for their acknowledgements, over reconnects.

At most 16 messages are unacknowledged: so many share a sync of the server, and the source is read no further. Messages
without acknowledgement when a stream ends are sent again on the next one; each item counts once.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio

from freshet._acks import Summary, judge
from freshet.aio._bell import Bell
from freshet.aio._connections import Connections, failure, is_transient
from freshet.errors import Unavailable
from freshet.v1 import types_pb2

_ON_THE_WAY = 16
# Attempts in all for an item that the server asks to send again.
_ATTEMPTS = 10


class _SourceFailed(Exception):
    """The program's own source of items has raised an exception."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


async def _next_of(source: AsyncIterator[Message]) -> Message | None:
    return await anext(source, None)


@dataclass
class Message:
    """Items of one message. `extra` has other fields of the request; `not_before` is on the clock time.monotonic."""

    items: list[Any]
    extra: dict[str, Any] = field(default_factory=dict)
    attempts: int = 1
    not_before: float = 0.0


@dataclass(frozen=True)
class Method:
    """A batch method of the API: its call on a channel, its request for a sequence number and a message, the
    acknowledgement in its response, and the name of its items in a refusal."""

    call: Callable[..., Any]
    request: Callable[[int, Message], Any]
    name: Callable[[Any], str]


class BatchStream:
    """One run over a source of messages. Owner thread only."""

    def __init__(
        self, method: Method, source: AsyncIterator[Message], connections: Connections, summary: Summary
    ) -> None:
        self._method = method
        self._source = source
        self._connections = connections
        self._again: deque[Message] = deque()
        self._sent: deque[tuple[int, Message]] = deque()
        self._source_ended = False
        self._sequence = 0
        self._pending: asyncio.Future[Message | None] | None = None
        self._bell = Bell()
        # The latest of these: the last acknowledgement, the first message sent after it, and the end of a stream that
        # had nothing to wait for.
        self._progress = time.monotonic()
        self.summary = summary

    async def run(self, patience: float) -> Summary:
        """Sends all messages. Raises Unavailable when the server owes acknowledgements and sends none for `patience`
        seconds, and otherwise what the status of the call says."""
        try:
            return await self._run(patience)
        finally:
            if self._pending is not None:
                self._pending.cancel()

    async def _run(self, patience: float) -> Summary:
        self._progress = time.monotonic()
        while not self._done:
            problem = await self._attempt(patience)
            if problem is None:
                continue
            self._rewind()
            self._connections.failed()
            pause = self._connections.pause()
            if time.monotonic() + pause - self._progress > patience:
                raise Unavailable(
                    f"{problem}; {self.summary.items} items were acknowledged, "
                    f"{sum(len(message.items) for message in self._again)} and what follows them were not"
                )
            await asyncio.sleep(pause)
        return self.summary

    @property
    def _done(self) -> bool:
        return self._source_ended and not self._again and not self._sent

    async def _attempt(self, patience: float) -> str | None:
        """Sends on one stream until all is done; returns None then, or the reason why the stream ended or is silent."""
        try:
            channel, metadata = await self._connections.open()
        except OSError as error:
            return str(error)
        try:
            call = self._method.call(channel, metadata)
            reader = asyncio.ensure_future(self._read(call))
            writer = asyncio.ensure_future(self._write(call))
            silence = asyncio.ensure_future(self._await_silence(patience))
            tasks = (reader, writer, silence)
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                problem = writer.exception() if writer.done() else None
                if isinstance(problem, _SourceFailed):
                    raise problem.error
                await asyncio.wait({reader, silence}, return_when=asyncio.FIRST_COMPLETED)
                return reader.result() if reader.done() else silence.result()
            finally:
                call.cancel()
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                if not self._sent and not self._again:
                    self._progress = time.monotonic()
        finally:
            await channel.close()

    async def _read(self, call: Any) -> str | None:
        try:
            while (response := await call.read()) is not grpc.aio.EOF:
                self._acknowledged(response.ack)
                self._bell.ring()
            code, details = await call.code(), await call.details()
        except grpc.aio.AioRpcError as error:
            code, details = error.code(), error.details()
        if not is_transient(code, details or ""):
            raise failure(code, details or "")
        if self._done and code == grpc.StatusCode.OK:
            return None
        return f"{self._connections.address}: {code.name}: {details or 'the stream ended'}"

    async def _await_silence(self, patience: float) -> str:
        """Waits until messages have had no acknowledgement for `patience` seconds; for ever if that does not happen."""
        while True:
            left = self._progress + patience - time.monotonic() if self._sent else patience
            if left <= 0:
                return f"{self._connections.address}: no acknowledgement for {patience:g} s"
            await asyncio.sleep(left)

    async def _write(self, call: Any) -> None:
        while (message := await self._next_message()) is not None:
            self._sequence += 1
            self._sent.append((self._sequence, message))
            await call.write(self._method.request(self._sequence, message))
        await call.done_writing()

    async def _next_message(self) -> Message | None:
        """The next message once it may be sent; None when everything is acknowledged."""
        while True:
            now = time.monotonic()
            if len(self._sent) >= _ON_THE_WAY:
                await self._bell.wait()
            elif self._again and self._again[0].not_before <= now:
                return self._again.popleft()
            elif not self._source_ended and not self._again:
                message = await self._from_source()
                if message is not None:
                    if not self._sent:
                        self._progress = time.monotonic()
                    return message
                self._source_ended = True
            elif self._done:
                return None
            else:
                await self._bell.wait(max(0.0, self._again[0].not_before - now) if self._again else None)

    async def _from_source(self) -> Message | None:
        """The next message of the source. A pending read survives the end of the stream, since cancelling it would
        end the source."""
        if self._pending is None:
            self._pending = asyncio.ensure_future(_next_of(self._source))
        await asyncio.wait({self._pending})
        pending, self._pending = self._pending, None
        try:
            return pending.result()
        except Exception as error:
            raise _SourceFailed(error) from None

    def _acknowledged(self, ack: types_pb2.BatchAck) -> None:
        self._progress = time.monotonic()
        self._connections.succeeded()
        if not self._sent or self._sent[0][0] != ack.sequence:
            return
        message = self._sent.popleft()[1]
        verdict = judge(ack, message.items, self._method.name, self.summary)
        if not verdict.again:
            return
        if message.attempts >= _ATTEMPTS:
            raise Unavailable(f"the server asked {_ATTEMPTS} times to send {len(verdict.again)} items later")
        self._again.append(
            Message(verdict.again, message.extra, message.attempts + 1, time.monotonic() + verdict.pause)
        )

    def _rewind(self) -> None:
        self._again.extendleft(message for _, message in reversed(self._sent))
        self._sent.clear()
