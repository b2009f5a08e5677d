"""What the crawls of the local site have in common, whoever makes them: the site, the server, what must hold."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import freshet
from freshet.v1 import types_pb2
from local_site import Host, Request, Site, begun
from server import REPOSITORY, Server

EXAMPLES = REPOSITORY / "examples/python"
MIN_DELAY = 0.03
CRAWL_DELAY = 0.4
PAGES_PER_HOST = 70
PLAIN = ("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5")
BUSY, SLOW = "127.0.0.6", "127.0.0.7"
POLITE = "politeness: {min_delay: 30ms, max_in_flight: 1, min_page_interval: 100ms}\n"


def make_site() -> Site:
    hosts = {name: Host({f"/{n}": (1, begun()) for n in range(PAGES_PER_HOST)}) for name in PLAIN}
    hosts[PLAIN[0]].moved["/old"] = "/1"
    hosts[PLAIN[0]].found["/latest"] = "/2"
    hosts[PLAIN[1]].pages["/private/1"] = (1, begun())
    hosts[BUSY] = Host({f"/{n}": (1, begun()) for n in range(3)}, busy=True)
    hosts[SLOW] = Host({f"/{n}": (1, begun()) for n in range(4)}, robots=f"User-agent: *\nCrawl-delay: {CRAWL_DELAY}\n")
    return Site(hosts)


def start_server(directory: Path) -> Server:
    return Server(directory, "--crawl-rate", "400", config=POLITE)


def environment(server: Server) -> dict[str, str]:
    paths = os.pathsep.join(sys.path)
    return {**os.environ, "FRESHET_SERVER": server.address, "PYTHONPATH": paths, "PYTHONUNBUFFERED": "1"}


def all_fetched(site: Site) -> Callable[[list[Request]], bool]:
    """Whether every page that may be fetched was, and the busy host was tried again after it had said no."""
    expected = {
        (name, path)
        for name, host in site.hosts.items()
        for path in (*host.pages, *host.moved, *host.found)
        if not path.startswith("/private/") and not host.busy
    }

    def holds(requests: list[Request]) -> bool:
        seen = {(request.host, request.path) for request in requests}
        return expected <= seen and sum(request.status == 429 for request in requests) >= 2

    return holds


def change_some(site: Site) -> Callable[[list[Request]], bool]:
    """Changes pages, removes one, and returns whether all of that was fetched."""
    changed = [(name, f"/{number}") for name in PLAIN for number in range(10, 20)]
    for name, path in changed:
        site.change(name, path)
    site.remove(PLAIN[2], "/0")

    def holds(requests: list[Request]) -> bool:
        news = {(r.host, r.path) for r in requests if r.status == 200 and r.version == 2}
        return news >= set(changed) and any(r.status == 404 for r in requests)

    return holds


def assert_polite(site: Site) -> None:
    """One request at a time, and no more than the delay allows, however fast the machine was."""
    for name in site.hosts:
        times = [request.time for request in site.requests if request.host == name]
        assert all(request.open_on_host == 1 for request in site.requests if request.host == name), name
        delay = CRAWL_DELAY if name == SLOW else MIN_DELAY
        # The delay holds between assignments; what lies between one and its request varies.
        assert len(times) <= (times[-1] - times[0]) / delay + 5, f"{name}: {len(times)} requests"
    refused = [request.time for request in site.requests if request.host == BUSY]
    gaps = [later - before for before, later in zip(refused, refused[1:], strict=False)]
    assert min(gaps) >= 0.95, f"Retry-After is a second, the requests were {gaps} apart"
    assert not [request for request in site.requests if request.path.startswith("/private/")]


def assert_known(site: Site, server: Server) -> None:
    """What the server knows is what the site said."""
    with freshet.Admin(server.address) as admin:
        page = admin.page(site.url(PLAIN[0], "/10")).page
        assert (page.etag, page.changes >= 1, page.http_status in (200, 304)) == ('"2"', True, True)
        assert page.content_digest
        assert page.HasField("last_modified")
        moved = admin.page(site.url(PLAIN[0], "/old")).page
        assert moved.last_outcome == types_pb2.CRAWL_OUTCOME_MOVED
        assert moved.moved_to == site.url(PLAIN[0], "/1")
        found = admin.page(site.url(PLAIN[0], "/latest")).page
        assert found.content_digest == admin.page(site.url(PLAIN[0], "/2")).page.content_digest
        assert admin.page(site.url(PLAIN[2], "/0")).page.last_outcome == types_pb2.CRAWL_OUTCOME_GONE
        private = admin.page(site.url(PLAIN[1], "/private/1")).page
        assert private.last_outcome == types_pb2.CRAWL_OUTCOME_ROBOTS_DENIED
        assert admin.page(site.url(BUSY, "/0")).page.crawls == 0
        assert abs(admin.host(SLOW).crawl_delay.ToTimedelta().total_seconds() - CRAWL_DELAY) < 0.001
    assert sum(request.status == 304 for request in site.requests) > 0, "pages that are known are asked conditionally"
