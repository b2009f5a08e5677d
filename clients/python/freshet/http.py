"""Makes results from HTTP answers of any HTTP client: extracts what Freshet wants to know."""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections.abc import AsyncIterable, Mapping
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime, parsedate_to_datetime
from urllib.parse import urljoin

from freshet.types import Assignment, Outcome, Result

MOVED_PERMANENTLY = frozenset({301, 308})
GONE = frozenset({404, 410})
NOT_MODIFIED = 304
ACCEPT_ENCODING = {"Accept-Encoding": "gzip"}
_DECODED = frozenset({"gzip", "x-gzip", "deflate"})
_REFUSED = frozenset({"br", "compress", "x-compress", "zstd"})
# Each part costs time however small it is, and a site cuts its answer as it likes. This many parts may be small; beyond
# them each must have 256 bytes on average.
_SMALL_PARTS = 4_000
_BYTES_PER_PART = 256
_PARTS_PER_TURN = 100
_WEB_BEGAN = datetime(1990, 1, 1, tzinfo=timezone.utc)


class Body:
    """Decodes the body of an answer to at most `most` bytes. Send `ACCEPT_ENCODING` with the request and pass in the
    bytes as they arrive, not as an HTTP client decodes them. Such clients decode a whole part at once with every
    coding that a site names, and 300 bytes can become gigabytes. Raises ValueError for any coding but gzip and
    deflate, for more than one, for a corrupt body, and for thousands of tiny parts."""

    def __init__(self, content_encoding: str, most: int) -> None:
        # Some sites put names there that are not compressions, such as utf-8.
        names = (name.strip() for name in content_encoding.lower().split(","))
        codings = [name for name in names if name in _DECODED | _REFUSED]
        if len(codings) > 1 or not _DECODED.issuperset(codings):
            raise ValueError(f"the site answers with Content-Encoding: {content_encoding[:100]}")
        self._decoder = zlib.decompressobj(zlib.MAX_WBITS | 32) if codings else None
        self._most = most
        self._received = 0
        self._parts = 0
        self._bytes = bytearray()

    def add(self, part: bytes) -> bool:
        """Adds the next bytes. Returns True once there are `most` bytes, decoded or as they arrived; the rest is
        left out. Drops bytes behind the end of the compressed data."""
        self._received += len(part)
        self._parts += 1
        if self._parts - _SMALL_PARTS > self._received / _BYTES_PER_PART:
            raise ValueError(f"the site sends {self._received} bytes in {self._parts} parts")
        left = self._most - len(self._bytes)
        if self._decoder is None:
            self._bytes += part[:left]
        elif left > 0 and not self._decoder.eof:
            try:
                self._bytes += self._decoder.decompress(part, left)
            except zlib.error as error:
                raise ValueError(f"the body is not what its Content-Encoding says: {error}") from error
        return max(len(self._bytes), self._received) >= self._most

    async def add_all(self, parts: AsyncIterable[bytes]) -> bool:
        """Adds parts until there are `most` bytes, and then returns True. Lets other tasks run meanwhile: one read
        of a connection can bring thousands of parts."""
        async for part in parts:
            if self.add(part):
                return True
            if self._parts % _PARTS_PER_TURN == 0:
                await asyncio.sleep(0)
        return False

    def read(self) -> bytes:
        """All decoded bytes so far."""
        return bytes(self._bytes)


def conditional_headers(assignment: Assignment) -> dict[str, str]:
    """Headers of a request for a page that was fetched before: the server need not send an unchanged page again."""
    headers = {}
    # HTTP clients refuse to send other values.
    if assignment.etag.isascii() and assignment.etag.isprintable() and assignment.etag:
        headers["If-None-Match"] = assignment.etag
    if assignment.last_modified is not None:
        headers["If-Modified-Since"] = format_datetime(assignment.last_modified.astimezone(timezone.utc), usegmt=True)
    return headers


def result_of(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    url: str,
    digest: bytes | None = None,
    server_address: str = "",
    crawl_delay: timedelta | None = None,
    fetch_time: datetime | None = None,
) -> Result:
    """The result of an answer to a request for `url` that followed no permanent redirect. `headers` are looked up by
    their usual names. `digest` represents the content, best only the part of the page that matters; if it is not
    given, the digest is of the whole body."""
    now = fetch_time or datetime.now(timezone.utc)
    outcome: Outcome | None = None
    content_digest = b""
    moved_to = ""
    if status == NOT_MODIFIED:
        outcome = Outcome.UNCHANGED
    elif status in MOVED_PERMANENTLY:
        outcome, moved_to = Outcome.MOVED, _joined(url, headers.get("Location", ""))
    elif status in GONE:
        outcome = Outcome.GONE
    elif 200 <= status < 300:
        # The server compares digests; without an earlier one the page counts as changed.
        outcome = Outcome.CHANGED
        content_digest = hashlib.sha256(body).digest() if digest is None else digest
    else:
        outcome = Outcome.ERROR
    return Result(
        outcome=outcome,
        http_status=status,
        content_digest=content_digest,
        etag=headers.get("ETag", ""),
        last_modified=parse_last_modified(headers.get("Last-Modified", ""), now),
        retry_after=parse_retry_after(headers.get("Retry-After", ""), now),
        moved_to=moved_to,
        crawl_delay=crawl_delay,
        server_address=server_address,
        fetch_time=fetch_time,
    )


def parse_date(text: str) -> datetime | None:
    """A date of HTTP; None for anything else."""
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return date.replace(tzinfo=timezone.utc) if date.tzinfo is None else date


def parse_last_modified(text: str, fetched: datetime) -> datetime | None:
    """A date of HTTP that is possible as a last modification: from 1990 on, and not after the fetch. After a date in
    1970 or 2099 the site would answer for ever that nothing has changed."""
    date = parse_date(text)
    return date if date is not None and _WEB_BEGAN <= date <= fetched else None


def parse_retry_after(text: str, now: datetime) -> timedelta | None:
    """Seconds or a date, as in Retry-After; None for anything else, and for a past date."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return timedelta(seconds=min(int(text[:12]), 366 * 86_400))
    date = parse_date(text)
    return date - now if date is not None and date > now else None


def _joined(url: str, location: str) -> str:
    try:
        return urljoin(url, location) if location else ""
    except ValueError:
        return ""
