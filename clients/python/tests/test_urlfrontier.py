"""A client of the crawl-frontier API crawls the local site, scheduled by Freshet, with and without signals."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

import freshet
from crawl import EXAMPLES, MIN_DELAY, PLAIN, POLITE
from freshet.v1 import types_pb2
from frontier import Crawler
from frontier_stubs import make_stubs
from local_site import Host, Request, Site, begun
from server import BIN, Server

BUSY = "127.0.0.6"
PAGES_PER_HOST = 150
RATE = 100
SCHEDULED = POLITE + "frontier: {scheduled_crawls: [DEFAULT]}\nindexnow: {enabled: true, verify_keys: false}\n"


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> object:
    return make_stubs(tmp_path_factory.mktemp("stubs"))


def make_site() -> Site:
    hosts = {name: Host({f"/{n}": (1, begun()) for n in range(PAGES_PER_HOST)}) for name in PLAIN}
    hosts[BUSY] = Host({"/0": (1, begun())}, busy=True)
    return Site(hosts)


def fetched(count: int) -> Callable[[list[Request]], bool]:
    return lambda requests: len({(r.host, r.path) for r in requests if r.status == 200}) >= count


def poll(site: Site, server: Server, directory: Path, *hosts: str) -> None:
    command = [str(BIN / "freshet"), "--server", server.address, "sitemap", "--state", str(directory / "sent.db")]
    subprocess.run([*command, *(site.url(name, "/sitemap.xml") for name in hosts)], check=True)


def ping(server: Server, site: Site, host: str, paths: list[str]) -> None:
    body = {"host": host, "key": "0123456789abcdef", "urlList": [site.url(host, p) for p in paths]}
    request = urllib.request.Request(f"http://{server.http}/indexnow", json.dumps(body).encode())
    request.add_header("Content-Type", "application/json; charset=utf-8")
    with urllib.request.urlopen(request, timeout=10) as response:
        assert response.status == 200


def seconds_to_news(site: Site, tell: Callable[[], None]) -> float:
    """Changes some pages of every host, reports the changes, and returns how long they waited on average."""
    changed = {(name, f"/{number}") for name in PLAIN for number in range(10, 20)}
    begin = time.monotonic()
    for name, path in sorted(changed):
        site.change(name, path)
    tell()

    def news(requests: list[Request]) -> dict[tuple[str, str], float]:
        found: dict[tuple[str, str], float] = {}
        for r in requests:
            if r.version == 2 and r.status == 200:
                found.setdefault((r.host, r.path), r.time - begin)
        return found

    site.wait_for(lambda requests: set(news(requests)) >= changed)
    times = news(site.requests)
    return sum(times[page] for page in changed) / len(changed)


def crawl(directory: Path, stubs: object, signals: bool) -> float:
    with make_site() as site, Server(directory, "--crawl-rate", str(RATE), config=SCHEDULED) as server:
        with Crawler(server.address, stubs) as crawler:  # type: ignore[arg-type]
            crawler.discover([site.url(BUSY, "/0")])
            if signals:
                poll(site, server, directory, *PLAIN)
            crawler.discover(site.urls())
            site.wait_for(fetched(len(PLAIN) * PAGES_PER_HOST))

            def tell() -> None:
                if signals:
                    poll(site, server, directory, *PLAIN[:2])
                    for name in PLAIN[2:]:
                        ping(server, site, name, [f"/{number}" for number in range(10, 20)])

            waited = seconds_to_news(site, tell)
        assert_polite(site)
        with freshet.Admin(server.address) as admin:
            page = admin.page(site.url(PLAIN[0], "/10")).page
            assert page.changes == 1
            assert admin.page(site.url(BUSY, "/0")).page.last_outcome == types_pb2.CRAWL_OUTCOME_ERROR
    return waited


def assert_polite(site: Site) -> None:
    for name in PLAIN:
        times = [r.time for r in site.requests if r.host == name]
        assert all(r.open_on_host == 1 for r in site.requests if r.host == name), name
        assert len(times) <= (times[-1] - times[0]) / MIN_DELAY + 5, f"{name}: {len(times)} requests"
    assert sum(r.host == BUSY for r in site.requests) <= 4, "a host that says no is left alone for longer and longer"


def test_pages_that_changed_are_fetched_sooner_with_signals(tmp_path: Path, stubs: object) -> None:
    waited = {}
    for signals in (False, True):
        directory = tmp_path / str(signals)
        directory.mkdir()
        waited[signals] = crawl(directory, stubs, signals)
    print(f"seconds from change to fetch: {waited[False]:.2f} without signals, {waited[True]:.2f} with them")
    assert waited[True] < 0.6 * waited[False]


def copy_frontier(source: str, target: str, code: int = 0) -> str:
    command = [sys.executable, str(EXAMPLES / "copy_frontier.py"), source, target]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout


def test_urls_move_from_one_frontier_to_another_and_are_scheduled_there(tmp_path: Path, stubs: object) -> None:
    """Follows the instructions of docs/moving.md."""
    messages, services = stubs  # type: ignore[misc]
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    long_ago = int(time.time()) - 86400
    with Server(tmp_path / "old") as old, Server(tmp_path / "new") as new:
        frontier = services.URLFrontierStub(grpc.insecure_channel(old.address))
        news = services.URLFrontierStub(grpc.insecure_channel(new.address))

        def known(number: int) -> object:
            item = messages.URLItem()
            item.known.info.url = f"https://example.org/{number}"
            item.known.info.crawlID = "news"
            item.known.info.metadata["signature"].values.append(f"{number:02x}")
            last = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(long_ago))
            item.known.info.metadata["lastProcessedDate"].values.append(last)
            item.known.refetchable_from_date = int(time.time()) + 86400 + number
            return item

        assert all(ack.status == 0 for ack in frontier.PutURLs(known(n) for n in range(20)))

        def items(stub: object) -> list[object]:
            return list(stub.ListURLs(messages.ListUrlParams(crawlID="news", size=1000)))  # type: ignore[attr-defined]

        dump = tmp_path / "dump.jsonl.gz"
        assert copy_frontier(old.address, str(dump)) == "20 taken, 0 skipped, 0 failed\n"
        assert copy_frontier(old.address, new.address) == "20 taken, 0 skipped, 0 failed\n"
        assert sorted(str(item.known) for item in items(news)) == sorted(str(item.known) for item in items(frontier))  # type: ignore[attr-defined]
        copy_frontier(str(dump), new.address)
        assert sorted(str(item.known) for item in items(news)) == sorted(str(item.known) for item in items(frontier))  # type: ignore[attr-defined]

        def client(*arguments: str) -> str:
            command = [str(BIN / "freshet"), "--server", new.address, *arguments]
            return subprocess.run(command, check=True, capture_output=True, text=True).stdout

        client("import", "--format", "urlfrontier", str(dump))
        client("crawls", "set", "news", "--frontier-mode", "scheduled")
        with freshet.Admin(new.address) as admin:
            pages = {page.url: page for page in admin.pages() if page.crawl_id == "news"}
        assert len(pages) == 20
        assert all(page.crawls == 1 and page.last_crawl_time.seconds == long_ago for page in pages.values())
        urls = {info.url for info in news.GetURLs(messages.GetParams(crawlID="news", max_queues=1))}
        assert urls, "they are given out before their clients' dates"
        assert urls <= set(pages)


def test_documents_of_stormcrawler_become_urls_of_the_frontier(tmp_path: Path, stubs: object) -> None:
    messages, services = stubs  # type: ignore[misc]
    source = {
        "url": "https://example.org/",
        "status": "FETCHED",
        "metadata": {"fetch%2EstatusCode": ["200"], "signature": "00ff"},
        "nextFetchDate": "2026-08-01T00:00:00.000Z",
    }
    found = {"url": "https://example.org/new", "status": "DISCOVERED", "nextFetchDate": "2026-08-01T00:00:00Z"}
    dump = tmp_path / "status.jsonl"
    dump.write_text(json.dumps({"_source": source}) + "\n" + json.dumps(found) + "\n")
    with Server(tmp_path) as server:
        assert copy_frontier(str(dump), server.address) == "2 taken, 0 skipped, 0 failed\n"
        frontier = services.URLFrontierStub(grpc.insecure_channel(server.address))
        known = frontier.GetURLStatus(messages.URLStatusRequest(url="https://example.org/", crawlID="DEFAULT")).known
        assert known.refetchable_from_date == 1785542400
        assert {key: list(texts.values) for key, texts in known.info.metadata.items()} == {
            "fetch.statusCode": ["200"],
            "signature": ["00ff"],
        }
        dump.write_text("{\n")
        assert copy_frontier(str(dump), server.address, code=2) == ""
    assert copy_frontier(server.address, str(dump), code=2) == ""
