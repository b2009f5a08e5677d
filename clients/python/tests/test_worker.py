"""Workers against a real server, which is killed during the tests."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta

import pytest

import freshet
from freshet import Assignment, Backoff, Outcome, Page, Result, aio
from server import Server

FAST = Backoff(first=0.02, longest=0.2)
SHORT = timedelta(seconds=2)
PAGES = 300


def urls(count: int = PAGES) -> list[str]:
    return [f"https://site-{number % 10}.example/{number}" for number in range(count)]


def fetched(assignment: Assignment) -> Result:
    return Result(http_status=200, content_digest=assignment.url.encode())


async def assert_none_is_lost(server: Server, reported: Mapping[str, int]) -> None:
    """Checks that each page has a result and none more than were reported. A page has two if its lease ended before
    the first came."""
    async with aio.Admin(server.address) as admin:
        crawls = {page.url: page.crawls async for page in admin.pages()}
    assert crawls.keys() == reported.keys()
    assert all(1 <= crawls[url] <= reported[url] for url in crawls)


async def assert_each_counts_once(server: Server, count: int = PAGES) -> None:
    async with aio.Admin(server.address) as admin:
        crawls = {page.url: page.crawls async for page in admin.pages()}
    assert crawls == dict.fromkeys(urls(count), 1), "a result was lost, or counted twice"


def closed_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def test_nothing_is_lost_or_counted_twice_when_the_server_is_killed(server: Server) -> None:
    async def run() -> None:
        assert (await aio.Ingester(server.address).upsert(urls())).applied == PAGES
        worker = aio.Worker(server.address, name="w", capacity=20, lease_duration=SHORT, backoff=FAST)
        reported, progress = Counter[str](), asyncio.Event()

        async def handle(assignment: Assignment) -> Result:
            reported[assignment.url] += 1
            if reported.total() in (60, 150):
                progress.set()
            return fetched(assignment)

        async with worker:
            running = asyncio.create_task(worker.run(handle))
            for _ in range(2):
                await progress.wait()
                progress.clear()
                await asyncio.to_thread(server.kill)
                await asyncio.to_thread(server.start)
            while len(reported) < PAGES:
                await asyncio.wait({running}, timeout=0.02)
            await worker.stop()
            await running
        assert worker.statistics.connections >= 3
        assert worker.statistics.results.items == reported.total()
        assert worker.statistics.results.refused == 0
        await assert_none_is_lost(server, reported)

    asyncio.run(run())


def test_results_of_a_server_that_is_away_are_sent_to_the_next(server: Server) -> None:
    """The worker reports while no server listens; another address acknowledges the kept results later."""

    async def run() -> None:
        await aio.Ingester(server.address).upsert(urls(20))
        addresses = [closed_port(), server.address, closed_port()]
        async with aio.Worker(addresses, name="w", capacity=20, backoff=FAST) as worker:
            pages = [await worker.next() for _ in range(20)]
            await asyncio.to_thread(server.kill)
            for page in pages:
                assert page is not None
                await worker.report(page, fetched(page))
            assert len(worker.unacknowledged()) == 20
            server.address = addresses[2]
            await asyncio.to_thread(server.start)
            await worker.flush()
            assert worker.unacknowledged() == []
        await assert_each_counts_once(server, 20)

    asyncio.run(run())


def test_a_server_that_drains_gets_what_is_open_and_the_worker_goes_on(server: Server) -> None:
    async def run() -> None:
        await aio.Ingester(server.address).upsert(urls(40))
        async with aio.Worker(server.address, name="w", capacity=4, backoff=FAST) as worker:
            for number in range(40):
                page = await worker.next()
                assert page is not None
                if number == 20:
                    await asyncio.to_thread(server.terminate)
                    await asyncio.to_thread(server.start)
                await worker.report(page, fetched(page))
            await worker.flush()
        await assert_each_counts_once(server, 40)

    asyncio.run(run())


def test_stopping_finishes_what_has_begun_and_gives_back_the_rest(server: Server) -> None:
    async def run() -> None:
        await aio.Ingester(server.address).upsert(urls(10))
        async with aio.Worker(server.address, name="w", capacity=10) as worker:
            begun = await worker.next()
            assert begun is not None
            while worker.waiting < 9:
                await asyncio.wait({asyncio.ensure_future(asyncio.sleep(0.01))})
            stopping = asyncio.create_task(worker.stop())
            await asyncio.sleep(0)
            assert await worker.next() is None
            assert not stopping.done()
            await worker.report(begun, fetched(begun))
            await stopping
            assert worker.statistics.returned == 9
            with pytest.raises(freshet.Stopped):
                await worker.report(begun, fetched(begun))
        async with aio.Admin(server.address) as admin:
            pages = {page.url: page async for page in admin.pages()}
        assert not any(page.HasField("lease") for page in pages.values()), "no lease is left open"
        assert pages[begun.url].crawls == 1

    asyncio.run(run())


def test_fetches_that_take_longer_than_the_stop_are_given_back(server: Server) -> None:
    async def assert_nothing_is_open() -> None:
        async with aio.Admin(server.address) as admin:
            assert not [page.url async for page in admin.pages() if page.HasField("lease")]

    async def run() -> None:
        await aio.Ingester(server.address).upsert(urls(10))
        begun: list[str] = []

        async def handle(assignment: Assignment) -> Result:
            begun.append(assignment.url)
            await asyncio.sleep(1000)
            raise AssertionError

        async with aio.Worker(server.address, name="w", capacity=4, stop_timeout=2.0) as worker:
            running = asyncio.create_task(worker.run(handle))
            while len(begun) < 4:
                await asyncio.wait({running}, timeout=0.01)
        await running
        assert worker.statistics.returned == worker.statistics.assignments
        await assert_nothing_is_open()

    asyncio.run(run())
    # A thread cannot be cancelled: it ends with its fetch.
    begun, over = threading.Event(), threading.Event()

    def handle(assignment: Assignment) -> Result:
        begun.set()
        over.wait(60)
        return fetched(assignment)

    with freshet.Worker(server.address, name="w", capacity=1, stop_timeout=2.0) as worker:
        crew = threading.Thread(target=lambda: worker.run(handle, threads=1))
        crew.start()
        assert begun.wait(60)
        worker.stop()
        asyncio.run(assert_nothing_is_open())
        over.set()
        crew.join(60)
    assert worker.statistics.results.items == 0


def test_stopping_takes_credit_back_while_a_fetch_takes_its_time(server: Server) -> None:
    """A page that becomes due after the stop goes to other workers, although this one had credit for it."""

    async def run() -> None:
        await aio.Ingester(server.address).upsert(urls(1))
        async with aio.Worker(server.address, name="w", capacity=10, backoff=FAST) as worker:
            begun = await worker.next()
            assert begun is not None
            connections = worker.statistics.connections
            stopping = asyncio.create_task(worker.stop())
            while worker.statistics.connections == connections:
                await asyncio.wait({stopping}, timeout=0.01)
            await aio.Ingester(server.address).upsert(urls(5)[1:])
            async with aio.Worker(server.address, name="other", capacity=10) as other:
                for _ in range(4):
                    page = await other.next()
                    assert page is not None
                    await other.report(page, fetched(page))
            await worker.report(begun, fetched(begun))
            await stopping
        assert worker.statistics.assignments == 1
        await assert_each_counts_once(server, 5)

    asyncio.run(run())


def test_a_handler_that_fails_is_an_error_of_the_page(server: Server) -> None:
    async def run() -> None:
        await aio.Ingester(server.address).upsert(urls(1))

        async def handle(assignment: Assignment) -> Result:
            raise RuntimeError("no way")

        async with aio.Worker(server.address, name="w") as worker:
            running = asyncio.create_task(worker.run(handle))
            while worker.statistics.results.items < 1:
                await asyncio.wait({running}, timeout=0.01)
            await worker.stop()
            await running
        async with aio.Admin(server.address) as admin:
            assert (await admin.page(urls()[0])).page.consecutive_errors == 1

    asyncio.run(run())


def test_a_server_that_knows_nobody_by_the_token_ends_the_worker(tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("auth")
    (directory / "auth.yaml").write_text(
        "identities:\n  - {name: fleet, roles: [worker], token_sha256: " + "ab" * 32 + "}\n"
    )
    with Server(directory, "--auth-file", str(directory / "auth.yaml")) as server:
        with freshet.Worker(freshet.Target((server.address,), token="hunter2"), name="w") as worker:
            with pytest.raises(freshet.Denied) as denied:
                worker.next(timeout=20)
            assert "hunter2" not in str(denied.value)


def test_a_hello_that_is_refused_ends_the_worker(server: Server) -> None:
    with freshet.Worker(server.address, name="w", lease_duration=timedelta(days=2)) as worker:
        with pytest.raises(freshet.CallFailed, match="lease_duration") as refused:
            worker.next(timeout=20)
        assert refused.value.code == "INVALID_ARGUMENT"


def test_threads_share_a_blocking_worker_over_a_kill(server: Server) -> None:
    with freshet.Ingester(server.address) as ingester:
        assert ingester.upsert(Page(url) for url in urls()).applied == PAGES
    lock, middle, done = threading.Lock(), threading.Event(), threading.Event()
    reported = Counter[str]()

    def handle(assignment: Assignment) -> Result:
        with lock:
            reported[assignment.url] += 1
            if reported.total() == 100:
                middle.set()
            if len(reported) == PAGES:
                done.set()
        return fetched(assignment)

    with freshet.Worker(server.address, name="w", capacity=20, lease_duration=SHORT, backoff=FAST) as worker:
        running = threading.Thread(target=worker.run, args=(handle,), kwargs={"threads": 4})
        running.start()
        assert middle.wait(30)
        server.kill()
        server.start()
        assert done.wait(30)
        worker.flush()
        worker.stop()
        running.join(30)
        assert not running.is_alive()
    assert worker.stopping
    assert worker.unacknowledged() == []
    asyncio.run(assert_none_is_lost(server, reported))


def test_a_blocking_worker_waits_no_longer_than_told(server: Server) -> None:
    with freshet.Worker(server.address, name="w") as worker:
        with pytest.raises(TimeoutError, match="no page"):
            worker.next(timeout=0.05)
        worker.stop()
        assert list(worker) == []
        with pytest.raises(freshet.Stopped):
            page = Assignment(url="https://example.org/", crawl_id="DEFAULT", lease_id=1, deadline=None)  # type: ignore[arg-type]
            worker.report(page, Result(outcome=Outcome.ERROR))
