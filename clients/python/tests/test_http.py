"""Results from HTTP answers."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from datetime import datetime, timedelta, timezone

import pytest

from freshet import Assignment, Outcome
from freshet.http import Body, conditional_headers, parse_date, parse_retry_after, result_of

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
URL = "https://example.org/a/b"


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Outcome.CHANGED),
        (204, Outcome.CHANGED),
        (304, Outcome.UNCHANGED),
        (301, Outcome.MOVED),
        (308, Outcome.MOVED),
        (302, Outcome.ERROR),
        (404, Outcome.GONE),
        (410, Outcome.GONE),
        (403, Outcome.ERROR),
        (429, Outcome.ERROR),
        (503, Outcome.ERROR),
    ],
)
def test_each_status_has_its_outcome(status: int, outcome: Outcome) -> None:
    assert result_of(status, {}, b"", url=URL).outcome is outcome


def test_what_the_headers_say_is_in_the_result() -> None:
    headers = {"ETag": 'W/"1"', "Last-Modified": "Sun, 01 Mar 2026 11:00:00 GMT", "Retry-After": "120"}
    result = result_of(200, headers, b"text", url=URL, server_address="192.0.2.1")
    assert result.etag == 'W/"1"'
    assert result.last_modified == NOW - timedelta(hours=1)
    assert result.retry_after == timedelta(minutes=2)
    assert result.content_digest == hashlib.sha256(b"text").digest()
    assert result.server_address == "192.0.2.1"
    assert result_of(200, {}, b"text", url=URL, digest=b"main part").content_digest == b"main part"
    assert result_of(304, {}, b"", url=URL).content_digest == b""


@pytest.mark.parametrize(
    "text",
    [
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Tue, 01 Jan 1980 00:00:00 GMT",
        "Sun, 31 Dec 1989 23:59:59 GMT",
        "Sun, 01 Mar 2026 12:00:01 GMT",
        "Thu, 01 Jan 2099 00:00:00 GMT",
        "yesterday",
        "",
        "0",
        "-1",
    ],
)
def test_a_last_modified_that_cannot_be_is_none(text: str) -> None:
    assert result_of(200, {"Last-Modified": text}, b"", url=URL, fetch_time=NOW).last_modified is None


def test_a_last_modified_may_be_as_old_as_the_web_and_as_new_as_the_fetch() -> None:
    for date in (NOW, datetime(1990, 1, 1, tzinfo=timezone.utc)):
        text = date.strftime("%a, %d %b %Y %H:%M:%S GMT")
        assert result_of(200, {"Last-Modified": text}, b"", url=URL, fetch_time=NOW).last_modified == date


def test_where_a_page_has_moved_is_absolute() -> None:
    assert result_of(301, {"Location": "../c"}, b"", url=URL).moved_to == "https://example.org/c"
    assert result_of(301, {"Location": "https://[::1"}, b"", url=URL).moved_to == ""
    assert result_of(301, {}, b"", url=URL).moved_to == ""


@pytest.mark.parametrize(
    "text", ["", "soon", "-5", "1.5", "Sun, 99 Mar 2026", "\u0661", "Sun, 01 Mar 2026 11:00:00 GMT"]
)
def test_a_retry_after_that_says_nothing_is_none(text: str) -> None:
    assert parse_retry_after(text, NOW) is None


def test_a_retry_after_is_seconds_or_a_date() -> None:
    assert parse_retry_after(" 30 ", NOW) == timedelta(seconds=30)
    assert parse_retry_after("9" * 5_000, NOW) == timedelta(days=366)
    assert parse_retry_after("Sun, 01 Mar 2026 12:00:10 GMT", NOW) == timedelta(seconds=10)


def test_a_page_that_is_known_is_asked_for_conditionally() -> None:
    page = Assignment(URL, "DEFAULT", 1, NOW, etag='"x"', last_modified=NOW)
    assert conditional_headers(page) == {
        "If-None-Match": '"x"',
        "If-Modified-Since": "Sun, 01 Mar 2026 12:00:00 GMT",
    }
    assert parse_date(conditional_headers(page)["If-Modified-Since"]) == NOW
    assert conditional_headers(Assignment(URL, "DEFAULT", 1, NOW)) == {}
    assert conditional_headers(Assignment(URL, "DEFAULT", 1, NOW, etag='"é"')) == {}


def test_a_body_is_decoded_to_its_bound_alone() -> None:
    text = b"0123456789" * 100
    for coding, sent in (
        ("", text),
        ("gzip", gzip.compress(text)),
        ("X-GZIP", gzip.compress(text) + b"behind it"),
        ("deflate", zlib.compress(text)),
        ("utf-8", text),
        ("identity, gzip", gzip.compress(text)),
    ):
        whole, cut = Body(coding, 1001), Body(coding, 10)
        # One byte at a time: a network may cut anywhere.
        assert [whole.add(sent[i : i + 1]) for i in range(len(sent))].count(True) == 0
        assert whole.read() == text, coding
        assert cut.add(sent), coding
        assert cut.add(sent[-1:]), coding
        assert cut.read() == text[:10], coding
    bomb = Body("gzip", 100)
    assert bomb.add(gzip.compress(bytes(100 << 20)))
    assert len(bomb.read()) == 100


@pytest.mark.parametrize(
    "sent",
    [
        gzip.compress(b"text") + bytes(8 << 20),
        # Stored blocks of nothing (RFC 1951, 3.2.4).
        gzip.compress(b"")[:10] + b"\x00\x00\x00\xff\xff" * (1 << 20),
    ],
)
def test_a_body_without_an_end_ends_at_its_bound(sent: bytes) -> None:
    body = Body("gzip", 1 << 20)
    tracemalloc.start()
    parts = 0
    for at in range(0, len(sent), 1 << 16):
        parts += 1
        if body.add(sent[at : at + (1 << 16)]):
            break
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert parts == 16
    assert peak < 1 << 20
    assert body.read() in (b"", b"text")


@pytest.mark.parametrize("size", [1, 100])
def test_a_body_in_tiny_parts_is_refused(size: int) -> None:
    body = Body("", 10 << 20)
    with pytest.raises(ValueError, match="parts"):
        for _ in range(10_000):
            body.add(bytes(size))
    assert len(body.read()) >= 4_000 * size


def test_a_body_may_come_in_lines() -> None:
    line, page = Body("", 10 << 20), Body("", 10 << 20)
    assert not any(line.add(bytes(30)) for _ in range(4_000))
    assert [page.add(bytes(256)) for _ in range(40_960)].index(True) == 40_959


def test_others_have_turns_while_a_body_comes_in_small_parts() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def at_once() -> AsyncIterator[bytes]:
        for _ in range(10_000):
            yield bytes(256)

    async def receive() -> list[bool]:
        counting = asyncio.create_task(count())
        full = [await Body("", most).add_all(at_once()) for most in (10 << 20, 1_000_000)]
        counting.cancel()
        return full

    assert asyncio.run(receive()) == [False, True]
    assert turns > 100


@pytest.mark.parametrize("coding", ["gzip, gzip", "gzip,deflate", "br", "zstd", "compress"])
def test_a_body_of_other_codings_is_refused(coding: str) -> None:
    with pytest.raises(ValueError, match="Content-Encoding"):
        Body(coding, 10)


def test_a_body_that_breaks_its_coding_is_refused() -> None:
    with pytest.raises(ValueError, match="Content-Encoding"):
        Body("gzip", 10).add(b"no gzip at all")
