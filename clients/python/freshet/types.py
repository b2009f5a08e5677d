"""Plain values that go to a server and come from it.

Times are `datetime` with a time zone, spans are `timedelta`. Values that a fetched site can influence never raise: a
field that cannot be sent is left out, as the server would do. The program's own wrong values raise ValueError.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from freshet.v1 import types_pb2

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_LONGEST_REPORTED = timedelta(days=366)
_MOST_ETAG_BYTES = 512
# The server refuses longer URLs.
MOST_URL_BYTES = 8192


class Outcome(enum.IntEnum):
    """What a crawl found; CrawlOutcome of the API explains the consequences of each."""

    CHANGED = 1
    UNCHANGED = 2
    ERROR = 3
    GONE = 4
    MOVED = 5
    ROBOTS_DENIED = 6


@dataclass(frozen=True)
class Assignment:
    """A page to fetch now, leased until `deadline`. Its validators are those of the last report."""

    url: str
    crawl_id: str
    lease_id: int
    deadline: datetime
    last_crawl_time: datetime | None = None
    etag: str = ""
    last_modified: datetime | None = None
    content_digest: bytes = b""
    expected_value: float = 0.0
    importance: float = 0.0
    forced: bool = False

    @classmethod
    def from_proto(cls, message: types_pb2.Assignment) -> Assignment:
        return cls(
            url=message.url,
            crawl_id=message.crawl_id,
            lease_id=message.lease_id,
            deadline=from_timestamp(message.deadline),
            last_crawl_time=from_timestamp(message.last_crawl_time) if message.HasField("last_crawl_time") else None,
            etag=message.etag,
            last_modified=from_timestamp(message.last_modified) if message.HasField("last_modified") else None,
            content_digest=message.content_digest,
            expected_value=message.expected_value,
            importance=message.importance,
            forced=message.forced,
        )


@dataclass(frozen=True)
class Result:
    """The result of one crawl.

    Without an `outcome` the server decides by digest and HTTP status. Worker.report fills in `url`, `crawl_id` and
    `lease_id` from the assignment; the result of a crawl without a lease needs `url`.
    """

    outcome: Outcome | None = None
    http_status: int | None = None
    content_digest: bytes = b""
    etag: str = ""
    last_modified: datetime | None = None
    retry_after: timedelta | None = None
    moved_to: str = ""
    crawl_delay: timedelta | None = None
    server_address: str = ""
    fetch_time: datetime | None = None
    url: str = ""
    crawl_id: str = ""
    lease_id: int = 0

    def to_proto(self, assignment: Assignment | None = None) -> types_pb2.CrawlResult:
        message = types_pb2.CrawlResult(
            url=assignment.url if assignment else self.url,
            crawl_id=assignment.crawl_id if assignment else self.crawl_id,
            lease_id=assignment.lease_id if assignment else self.lease_id,
            outcome=types_pb2.CrawlOutcome.Name(0 if self.outcome is None else int(self.outcome)),
            content_digest=self.content_digest,
            etag=_sendable(self.etag, _MOST_ETAG_BYTES),
            moved_to=_sendable(self.moved_to, MOST_URL_BYTES),
            server_address=_sendable(self.server_address, MOST_URL_BYTES),
        )
        if self.fetch_time is not None:
            message.fetch_time.CopyFrom(to_timestamp(self.fetch_time))
        if self.last_modified is not None:
            message.last_modified.CopyFrom(to_timestamp(self.last_modified))
        if self.http_status is not None and 100 <= self.http_status <= 599:
            message.http_status = self.http_status
        for name in ("retry_after", "crawl_delay"):
            span: timedelta | None = getattr(self, name)
            if span is not None and span >= timedelta(0):
                getattr(message, name).CopyFrom(to_duration(min(span, _LONGEST_REPORTED)))
        return message


@dataclass(frozen=True)
class Page:
    """A page and its settings; settings that are None stay as they are on the server, or get the default."""

    url: str
    crawl_id: str = ""
    importance: float | None = None
    min_interval: timedelta | None = None
    max_interval: timedelta | None = None
    not_before: datetime | None = None
    known_change_rate_per_day: float | None = None
    complete_signals: bool | None = None
    last_crawl_time: datetime | None = None

    def to_proto(self) -> types_pb2.PageSpec:
        message = types_pb2.PageSpec(url=self.url, crawl_id=self.crawl_id)
        for name in ("importance", "known_change_rate_per_day", "complete_signals"):
            value = getattr(self, name)
            if value is not None:
                setattr(message, name, value)
        for name in ("min_interval", "max_interval"):
            span = getattr(self, name)
            if span is not None:
                getattr(message, name).CopyFrom(to_duration(span))
        for name in ("not_before", "last_crawl_time"):
            instant = getattr(self, name)
            if instant is not None:
                getattr(message, name).CopyFrom(to_timestamp(instant))
        return message


@dataclass(frozen=True)
class Signal:
    """A claim that a page has changed, at `change_time` if the source says when. With a `signal_id` repeated claims
    count once; without one, all claims of a poll share one that the client makes."""

    url: str
    change_time: datetime | None = None
    signal_id: str = ""
    crawl_id: str = ""

    def to_proto(self, source: str, signal_id: str) -> types_pb2.ChangeSignal:
        message = types_pb2.ChangeSignal(
            url=self.url, crawl_id=self.crawl_id, source=source, signal_id=self.signal_id or signal_id
        )
        if self.change_time is not None:
            message.change_time.CopyFrom(to_timestamp(self.change_time))
        return message


def from_timestamp(message: Timestamp) -> datetime:
    """Converts to UTC; instants beyond datetime's range become its first or last."""
    try:
        return _EPOCH + timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)
    except OverflowError:
        return datetime.max.replace(tzinfo=timezone.utc) if message.seconds > 0 else _EPOCH


def to_timestamp(instant: datetime) -> Timestamp:
    """Raises ValueError for a time without a zone, which would mean another instant on every machine."""
    if instant.tzinfo is None:
        raise ValueError(f"{instant.isoformat()} has no time zone; use datetime.now(timezone.utc) and the like")
    span = instant - _EPOCH
    return Timestamp(seconds=span.days * 86400 + span.seconds, nanos=span.microseconds * 1000)


def to_duration(span: timedelta) -> Duration:
    """Converts a span of either sign; in a Duration seconds and nanoseconds have the same sign."""
    microseconds = span // timedelta(microseconds=1)
    sign = -1 if microseconds < 0 else 1
    seconds, rest = divmod(abs(microseconds), 1_000_000)
    return Duration(seconds=sign * seconds, nanos=sign * rest * 1000)


def from_duration(message: Duration) -> timedelta:
    """Converts a span; those beyond timedelta's range become its longest ones."""
    try:
        return timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)
    except OverflowError:
        return timedelta.max if message.seconds > 0 else timedelta.min


def is_long(url: str) -> bool:
    """Whether the server would refuse the URL for its length."""
    return len(url) > MOST_URL_BYTES or (not url.isascii() and bytes_of_url(url) > MOST_URL_BYTES)


def bytes_of_url(url: str) -> int:
    return len(url.encode("utf-8", "surrogatepass"))


def _sendable(text: str, most: int) -> str:
    """Replaces lone surrogates, which Protobuf refuses, and which header parsers make of bytes that are not UTF-8.
    Drops text of more than `most` bytes: the server would leave it out, and a site must not fill the messages to the
    server."""
    encoded = text.encode("utf-8", "replace")
    return encoded.decode("utf-8") if len(encoded) <= most else ""
