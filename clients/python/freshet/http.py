"""Makes results of HTTP answers, with any HTTP client: what a server says that Freshet wants to know."""

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
# A part costs time however small it is, and a site cuts its answer as it likes. This many may be small; of the others
# there is one for each 256 bytes.
_SMALL_PARTS = 4_000
_BYTES_PER_PART = 256
_PARTS_PER_TURN = 100
_WEB_BEGAN = datetime(1990, 1, 1, tzinfo=timezone.utc)


class Body:
    """The body of an answer as its bytes arrive, decoded to at most `most` bytes. Send `ACCEPT_ENCODING` with the
    request and give this class the bytes that arrive, not what an HTTP client makes of them: such clients decode a
    whole part at once with every coding that a site names, and 300 bytes can become gigabytes. Raises ValueError for
    any coding but gzip and deflate, for more than one, for a body that breaks its coding, and for one in thousands of
    tiny parts."""

    def __init__(self, content_encoding: str, most: int) -> None:
        # Some sites put names there that compress nothing, such as utf-8.
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
        """Takes the next bytes; True once there are `most` of them, decoded or as they arrived, and what follows is
        left out. What arrives behind the end of the compressed data is dropped."""
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
        """Takes parts until there are `most` bytes, and is True then. Other tasks have their turns meanwhile: one read
        of a connection can bring thousands of parts."""
        async for part in parts:
            if self.add(part):
                return True
            if self._parts % _PARTS_PER_TURN == 0:
                await asyncio.sleep(0)
        return False

    def read(self) -> bytes:
        """What has been taken so far."""
        return bytes(self._bytes)


def conditional_headers(assignment: Assignment) -> dict[str, str]:
    """Headers of a request for a page that has been fetched before: the server need not send it again if it is the
    same."""
    headers = {}
    # HTTP clients refuse to send others.
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
    """The result of an answer to a request for `url` that was not redirected for good before. `headers` are looked up
    by their usual names. `digest` stands for the content: that of the part of a page that matters is better than that
    of all of it, which is taken where none is given."""
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
        # The server compares digests; changed is what it is where there is none to compare with.
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
    """A date of HTTP that a page can have been modified last at: from 1990 on, and not after it was fetched. A site
    that says 1970 or 2099 would answer for ever that nothing has changed since."""
    date = parse_date(text)
    return date if date is not None and _WEB_BEGAN <= date <= fetched else None


def parse_retry_after(text: str, now: datetime) -> timedelta | None:
    """Seconds or a date, as Retry-After has them; None for anything else, and for a date that is over."""
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
