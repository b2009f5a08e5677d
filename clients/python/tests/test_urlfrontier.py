"""A client of the crawl-frontier API crawls the local site, scheduled by Freshet, with and without signals."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

import freshet
from crawl import MIN_DELAY, PLAIN, POLITE
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
    """Changes some pages of every host, has it told, and returns how long they waited on average."""
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
