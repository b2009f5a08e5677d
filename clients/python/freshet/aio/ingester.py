"""Sends a program's knowledge: pages, signals of changes, and results of crawls outside of streams."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, TypeVar

import grpc.aio

from freshet._acks import Refusal, Summary
from freshet.aio._batches import BatchStream, Message, Method
from freshet.aio._connections import Connections
from freshet.backoff import Backoff
from freshet.target import Target
from freshet.types import MOST_URL_BYTES, Page, Result, Signal, bytes_of_url, is_long
from freshet.v1 import ingest_pb2, pages_pb2, types_pb2
from freshet.v1.ingest_pb2_grpc import IngestServiceStub
from freshet.v1.pages_pb2_grpc import PagesServiceStub

T = TypeVar("T")

_ITEMS_PER_MESSAGE = 1_000
# Well below the server's limit of 16 MiB for a message.
_BYTES_PER_MESSAGE = 8 << 20

AnyIterable = Iterable[T] | AsyncIterable[T]


def _url(item: Any) -> str:
    return str(item.url) or str(getattr(item, "lease_id", ""))


def _upsert(reset: bool) -> Method:
    return Method(
        call=lambda channel, metadata: PagesServiceStub(channel).UpsertPages(metadata=metadata),
        request=lambda sequence, message: pages_pb2.UpsertPagesRequest(
            sequence=sequence, pages=message.items, reset_unset_settings=reset
        ),
        name=_url,
    )


_REPORT = Method(
    call=lambda channel, metadata: IngestServiceStub(channel).ReportCrawls(metadata=metadata),
    request=lambda sequence, message: ingest_pb2.ReportCrawlsRequest(sequence=sequence, results=message.items),
    name=_url,
)
_SIGNAL = Method(
    call=lambda channel, metadata: IngestServiceStub(channel).SignalChanges(metadata=metadata),
    request=lambda sequence, message: ingest_pb2.SignalChangesRequest(
        sequence=sequence, signals=message.items, **message.extra
    ),
    name=_url,
)


class Ingester:
    """Sends items in batches, with flow control: an iterable is read only as fast as the server accepts items, so it
    may
    have any length. Each call returns once everything is acknowledged, and so durable. Items are repeated when the
    server asks for it, ten times in all. The summary has the other refused items, and those with URLs too long for any
    server, which are not sent. When a connection breaks the next address is tried. Raises Unavailable when for
    `patience` seconds nothing could be sent, or nothing sent was acknowledged.

    Several calls may run side by side. Belongs to the event loop in which it is used.
    """

    def __init__(
        self,
        target: Target | str | Sequence[str] | None = None,
        *,
        patience: float = 60.0,
        backoff: Backoff | None = None,
        connect_timeout: float = 5.0,
        seed: int | None = None,
    ) -> None:
        self._target = Target.of(target)
        self._patience = patience
        self._backoff = backoff or Backoff()
        self._connect_timeout = connect_timeout
        self._random = random.Random(seed)

    async def __aenter__(self) -> Ingester:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    async def upsert(self, pages: AnyIterable[Page | str], *, reset_unset_settings: bool = False) -> Summary:
        """Adds pages or changes their settings; a string is a page without settings."""

        def spec(page: Page | str) -> types_pb2.PageSpec:
            return (Page(page) if isinstance(page, str) else page).to_proto()

        return await self._send(_upsert(reset_unset_settings), pages, spec)

    async def report(self, results: AnyIterable[Result]) -> Summary:
        """Reports crawls, with leases from Next or without any; each result names its page by url or lease_id."""
        return await self._send(_REPORT, results, Result.to_proto)

    async def signal(self, source: str, signals: AnyIterable[Signal | str], *, poll_size: int | None = None) -> Summary:
        """Reports the changes that one poll of a source has found; a string is a URL. The server learns from the
        number of pages in a poll, so everything that one poll found belongs into one call. More than a thousand
        signals are kept in memory, to be counted, unless `poll_size` gives their number; it is 1 for single pings
        that share a call."""
        identifier = uuid.uuid4().hex

        def message(signal: Signal | str) -> types_pb2.ChangeSignal:
            return (Signal(signal) if isinstance(signal, str) else signal).to_proto(source, identifier)

        extra: dict[str, Any] = {"poll_id": self._random.getrandbits(62) + 1}
        if poll_size is not None:
            extra["poll_size"] = poll_size
        else:
            signals = [signal async for signal in _each(signals)]
            if len(signals) > _ITEMS_PER_MESSAGE:
                extra["poll_size"] = len(signals)
        if poll_size == 1:
            extra["poll_id"] = 0
        return await self._send(_SIGNAL, signals, message, extra)

    async def remove(self, urls: AnyIterable[str], *, crawl_id: str = "") -> Summary:
        """Forgets pages with everything learned about them."""
        return await self._send_unary(
            lambda stub, items, metadata: stub.RemovePages(
                pages_pb2.RemovePagesRequest(crawl_id=crawl_id, urls=items), metadata=metadata
            ),
            urls,
        )

    async def recheck(self, urls: AnyIterable[str], *, crawl_id: str = "") -> Summary:
        """Makes pages due now, before those due by value."""
        return await self._send_unary(
            lambda stub, items, metadata: stub.RecheckPages(
                pages_pb2.RecheckPagesRequest(crawl_id=crawl_id, urls=items), metadata=metadata
            ),
            urls,
        )

    def _connections(self) -> Connections:
        return Connections(self._target, self._backoff, self._connect_timeout, self._random)

    async def _send(
        self,
        method: Method,
        items: AnyIterable[T],
        to_proto: Callable[[T], Any],
        extra: dict[str, Any] | None = None,
    ) -> Summary:
        summary = Summary()
        messages = _messages(_sendable(items, to_proto, method.name, summary), extra)
        return await BatchStream(method, messages, self._connections(), summary).run(self._patience)

    async def _send_unary(self, call: Callable[[Any, list[str], Any], Any], urls: AnyIterable[str]) -> Summary:
        """Makes a call for each thousand URLs, in the form of a stream, which handles reconnects."""

        def stream(channel: grpc.aio.Channel, metadata: Any) -> _UnaryCalls:
            return _UnaryCalls(lambda items: call(PagesServiceStub(channel), items, metadata))

        method = Method(call=stream, request=lambda sequence, message: (sequence, message.items), name=str)
        return await self._send(method, urls, str)


class _UnaryResponse:
    def __init__(self, sequence: int, ack: types_pb2.BatchAck) -> None:
        self.ack = types_pb2.BatchAck()
        self.ack.CopyFrom(ack)
        self.ack.sequence = sequence


class _UnaryCalls:
    """Makes successive unary calls look like the stream that BatchStream needs."""

    def __init__(self, call: Callable[[list[str]], Any]) -> None:
        self._call = call
        self._responses: asyncio.Queue[_UnaryResponse | None] = asyncio.Queue()
        self._code = grpc.StatusCode.OK
        self._details = ""

    async def write(self, request: tuple[int, list[str]]) -> None:
        try:
            response = await self._call(request[1])
        except grpc.aio.AioRpcError as error:
            self._code, self._details = error.code(), error.details() or ""
            self._responses.put_nowait(None)
            raise
        self._responses.put_nowait(_UnaryResponse(request[0], response.ack))

    async def done_writing(self) -> None:
        self._responses.put_nowait(None)

    async def read(self) -> Any:
        response = await self._responses.get()
        return grpc.aio.EOF if response is None else response

    async def code(self) -> grpc.StatusCode:
        return self._code

    async def details(self) -> str:
        return self._details

    def cancel(self) -> None:
        self._responses.put_nowait(None)


async def _each(items: AnyIterable[T]) -> AsyncIterator[T]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


async def _sendable(
    items: AnyIterable[T], to_proto: Callable[[T], Any], name: Callable[[Any], str], summary: Summary
) -> AsyncIterator[Any]:
    """Yields items that a message can hold, and refuses others. One long URL, which a site may have named, would make
    the server refuse the whole message."""
    async for item in _each(items):
        message = to_proto(item)
        url = name(message)
        if is_long(url):
            reason = f"{bytes_of_url(url)} bytes, at most {MOST_URL_BYTES} are allowed"
            summary.refuse(Refusal(item=url[:MOST_URL_BYTES], code="INVALID_ARGUMENT", field="url", reason=reason))
        else:
            yield message


async def _messages(items: AsyncIterator[Any], extra: dict[str, Any] | None) -> AsyncIterator[Message]:
    """Groups items into messages, limited by number and size."""
    batch: list[Any] = []
    size = 0
    async for message in items:
        length = len(message) if isinstance(message, str) else message.ByteSize()
        if batch and (len(batch) >= _ITEMS_PER_MESSAGE or size + length > _BYTES_PER_MESSAGE):
            yield Message(batch, dict(extra or {}))
            batch, size = [], 0
        batch.append(message)
        size += length
    if batch:
        yield Message(batch, dict(extra or {}))
