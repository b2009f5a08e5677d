"""Ingesters against a real server: refusals, long inputs, servers that disappear."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import grpc
import pytest

import freshet
from freshet import Backoff, Outcome, Page, Result, Signal, aio
from freshet.v1 import ingest_pb2_grpc
from server import Server
from test_worker import closed_port

FAST = Backoff(first=0.02, longest=0.2)


def urls(count: int) -> list[str]:
    return [f"https://example.org/{number}" for number in range(count)]


def test_a_bad_item_is_refused_by_itself(server: Server) -> None:
    with freshet.Ingester(server.address) as ingester:
        summary = ingester.upsert(["https://example.org/", "no url", Page("https://example.org/b", importance=-1)])
    assert (summary.applied, summary.refused, summary.items) == (1, 2, 3)
    assert [(r.item, r.code, r.field) for r in summary.refusals] == [
        ("no url", "INVALID_ARGUMENT", "url"),
        ("https://example.org/b", "INVALID_ARGUMENT", "importance"),
    ]


def test_a_link_that_no_message_can_hold_keeps_no_other_away(server: Server) -> None:
    """Each such link is refused as the server would, and the others are accepted."""
    long = ["https://evil.example/" + "x" * (17 << 20), "https://evil.example/" + "\u00e9" * 4_096]
    with freshet.Ingester(server.address, patience=5, backoff=FAST) as ingester:
        summary = ingester.upsert([long[0], *urls(998), long[1]])
        assert (summary.applied, summary.refused) == (998, 2)
        assert [(r.item, r.code, r.field, r.reason) for r in summary.refusals] == [
            (url[:8192], "INVALID_ARGUMENT", "url", f"{len(url.encode())} bytes, at most 8192 are allowed")
            for url in long
        ]
        assert ingester.signal("cdn", [long[0], *urls(2)]).refused == 1
        assert ingester.recheck([*urls(2), long[0]]).applied == 2
        assert ingester.report([Result(url=url, outcome=Outcome.CHANGED) for url in (long[0], *urls(2))]).items == 3
        assert ingester.remove([long[0]]).refused == 1


def test_a_message_that_the_server_finds_too_large_is_not_sent_again(tmp_path: Path) -> None:
    with Server(tmp_path, config="limits: {message_bytes: 10000}\n") as server:
        ingester = freshet.Ingester(server.address, patience=60, backoff=FAST)
        with pytest.raises(freshet.CallFailed, match="larger than max"):
            ingester.upsert(urls(1_000))
        assert ingester.upsert(urls(10)).applied == 10


def test_a_long_input_survives_kills_of_the_server(server: Server) -> None:
    """The source is read once, and items are under way whenever the server is killed."""
    count = 60_000
    read = 0

    def pages() -> Iterator[Page]:
        nonlocal read
        for url in urls(count):
            read += 1
            if read in (20_000, 40_000):
                reached.set()
            yield Page(url)

    reached = threading.Event()
    results: list[freshet.Summary] = []
    ingester = freshet.Ingester(server.address, backoff=FAST)
    sending = threading.Thread(target=lambda: results.append(ingester.upsert(pages())))
    sending.start()
    for _ in range(2):
        assert reached.wait(30)
        reached.clear()
        server.kill()
        server.start()
    sending.join(60)
    assert results[0].applied == count
    assert read == count
    with freshet.Admin(server.address) as admin:
        assert admin.statistics().pages.pages == count


def test_a_source_that_is_waited_for_survives_a_stream(server: Server) -> None:
    """The program's items come slowly, and streams end meanwhile: no item is skipped."""

    async def run() -> None:
        restarted = asyncio.Event()

        async def pages() -> AsyncIterator[str]:
            for number, url in enumerate(urls(2_500)):
                if number == 1_500:
                    restarting = asyncio.create_task(restart())
                    await restarted.wait()
                    await restarting
                yield url

        async def restart() -> None:
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
            restarted.set()

        summary = await aio.Ingester(server.address, backoff=FAST).upsert(pages())
        assert summary.applied == 2_500

    asyncio.run(run())


def test_an_error_of_the_source_is_the_callers(server: Server) -> None:
    def pages() -> Iterator[str]:
        yield from urls(10)
        raise LookupError("no more")

    with freshet.Ingester(server.address) as ingester, pytest.raises(LookupError, match="no more"):
        ingester.upsert(pages())


def test_nobody_there_is_said_after_some_patience() -> None:
    ingester = freshet.Ingester(closed_port(), patience=0.1, backoff=FAST)
    with pytest.raises(freshet.Unavailable, match="cannot connect"):
        ingester.upsert(urls(10))


def test_a_server_that_never_acknowledges_is_given_up() -> None:
    class Silent(ingest_pb2_grpc.IngestServiceServicer):
        def SignalChanges(self, request_iterator: Any, context: Any) -> Iterator[Any]:  # noqa: N802
            yield from (request for request in request_iterator if request is None)

    serving = grpc.server(ThreadPoolExecutor(2))
    ingest_pb2_grpc.add_IngestServiceServicer_to_server(Silent(), serving)
    port = serving.add_insecure_port("127.0.0.1:0")
    serving.start()
    ingester = freshet.Ingester(f"127.0.0.1:{port}", patience=0.3, backoff=FAST)
    with pytest.raises(freshet.Unavailable, match=r"no acknowledgement for 0\.3 s; 0 items"):
        ingester.signal("cdn", urls(10))
    serving.stop(None).wait()


def test_what_comes_after_a_long_silence_of_its_source_has_all_patience(server: Server) -> None:
    """The source is silent for longer than the patience, and the server restarts meanwhile."""

    async def run() -> None:
        async def pages() -> AsyncIterator[str]:
            for url in urls(1_000):
                yield url
            await asyncio.sleep(4.5)
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
            yield "https://example.org/last"

        summary = await aio.Ingester(server.address, patience=4, backoff=FAST).upsert(pages())
        assert summary.applied == 1_001

    asyncio.run(run())


def test_a_poll_counts_once_and_knows_its_size(server: Server) -> None:
    with freshet.Ingester(server.address) as ingester, freshet.Admin(server.address) as admin:
        ingester.upsert(urls(1_200))
        summary = ingester.signal("sitemap", urls(1_200))
        assert summary.applied == 1_200
        pending = admin.page(urls(1)[0]).page.pending_signals
        assert [(p.source, p.signals) for p in pending] == [("sitemap", 1)]
        assert pending[0].burst_class == freshet.v1.pages_pb2.BURST_CLASS_100_OR_MORE
        ping = Signal(urls(1)[0], signal_id="ping-7")
        assert ingester.signal("cdn", [ping]).applied == 1
        assert ingester.signal("cdn", [ping]).duplicate == 1
        refused = ingester.signal("nobody", ["https://example.org/1", "https://unknown.example/"])
        assert {r.code for r in refused.refusals} == {"UNKNOWN_SOURCE"}
        stale = Signal(urls(1)[0], change_time=datetime(2020, 1, 1, tzinfo=timezone.utc))
        ingester.report([Result(url=urls(1)[0], outcome=Outcome.CHANGED, fetch_time=datetime.now(timezone.utc))])
        assert ingester.signal("cdn", [stale]).stale == 1


def test_crawls_of_ones_own_are_reported(server: Server) -> None:
    with freshet.Ingester(server.address) as ingester, freshet.Admin(server.address) as admin:
        ingester.upsert(urls(1))
        fetched = datetime.now(timezone.utc) - timedelta(minutes=1)
        result = Result(url=urls(1)[0], outcome=Outcome.CHANGED, fetch_time=fetched, etag='"a"', content_digest=b"a")
        assert ingester.report([result]).applied == 1
        assert ingester.report([result]).items == 1
        page = admin.page(urls(1)[0]).page
        assert (page.crawls, page.etag, page.content_digest) == (1, '"a"', b"a")


def test_pages_are_rechecked_and_removed(server: Server) -> None:
    with freshet.Ingester(server.address) as ingester, freshet.Admin(server.address) as admin:
        ingester.upsert(urls(1_500))
        assert ingester.recheck(urls(2)).applied == 2
        assert admin.page(urls(1)[0]).page.recheck_pending
        assert ingester.remove(urls(1_600)).applied == 1_500
        assert list(admin.pages()) == []


def test_a_token_is_for_what_its_role_may(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"hunter2").hexdigest()
    (tmp_path / "auth.yaml").write_text(f"identities:\n  - {{name: fleet, roles: [worker], token_sha256: {digest}}}\n")
    with Server(tmp_path, "--auth-file", str(tmp_path / "auth.yaml")) as server:
        target = freshet.Target((server.address,), token="hunter2")
        with freshet.Ingester(target) as ingester, pytest.raises(freshet.Denied) as denied:
            ingester.upsert(urls(1))
        assert "hunter2" not in str(denied.value)
