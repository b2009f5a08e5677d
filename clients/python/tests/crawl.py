"""What all crawls of the local site share: the site, the server, and the checks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc

import freshet
from freshet.v1 import scheduler_pb2, types_pb2
from freshet.v1.scheduler_pb2_grpc import SchedulerServiceServicer, add_SchedulerServiceServicer_to_server
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
    """Whether every allowed page was fetched, and the busy host was tried again after its refusal."""
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
    """Changes pages, removes one, and returns a check that all of these were fetched."""
    changed = [(name, f"/{number}") for name in PLAIN for number in range(10, 20)]
    for name, path in changed:
        site.change(name, path)
    site.remove(PLAIN[2], "/0")

    def holds(requests: list[Request]) -> bool:
        news = {(r.host, r.path) for r in requests if r.status == 200 and r.version == 2}
        return news >= set(changed) and any(r.status == 404 for r in requests)

    return holds


def assert_polite(site: Site) -> None:
    """Checks that requests to a host came one at a time, and no faster than the delay allows."""
    for name in site.hosts:
        times = [request.time for request in site.requests if request.host == name]
        assert all(request.open_on_host == 1 for request in site.requests if request.host == name), name
        delay = CRAWL_DELAY if name == SLOW else MIN_DELAY
        # The delay holds between assignments; the time from an assignment to its request varies.
        assert len(times) <= (times[-1] - times[0]) / delay + 5, f"{name}: {len(times)} requests"
    refused = [request.time for request in site.requests if request.host == BUSY]
    gaps = [later - before for before, later in zip(refused, refused[1:], strict=False)]
    assert min(gaps) >= 0.95, f"Retry-After is a second, the requests were {gaps} apart"
    assert not [request for request in site.requests if request.path.startswith("/private/")]


def assert_known(site: Site, server: Server) -> None:
    """Checks that the server knows what the site said."""
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


# --- robots.txt, as the world answers -------------------------------------------------------------------------------

FORBIDS_PRIVATE = b"User-agent: *\nDisallow: /private/\n"
FORBIDS_ALL = b"User-agent: *\nDisallow: /\n"
MARK = b"\xef\xbb\xbf"


def robots_site(*, leads_nowhere: bool = True) -> Site:
    """Hosts whose robots.txt is redirected, marked, missing, or unreadable: see `robots_are_known`."""
    pages = ("/0", "/1", "/private/1")
    hosts = {f"127.0.1.{n}": Host({path: (1, begun()) for path in pages}) for n in range(1, 9 + leads_nowhere)}
    site = Site(hosts)

    def answer(number: int, path: str, status: int, body: bytes = b"", **headers: str) -> None:
        hosts[f"127.0.1.{number}"].answers[path] = (status, headers, body)

    # Five redirects, the last one to another host, which has other rules.
    for path, status, to in (
        ("/robots.txt", 301, "/a"),
        ("/a", 302, "/b"),
        ("/b", 307, "/c"),
        ("/c", 308, "d"),
        ("/d", 301, "//127.0.1.2:{port}/rules"),
    ):
        answer(1, path, status, Location=to)
    answer(2, "/rules", 200, MARK + FORBIDS_PRIVATE)
    answer(2, "/robots.txt", 200, MARK + FORBIDS_PRIVATE)
    # There is no robots.txt, whatever the page with the status says.
    answer(3, "/robots.txt", 404, FORBIDS_ALL)
    answer(4, "/robots.txt", 400, FORBIDS_ALL)
    answer(5, "/robots.txt", 429, FORBIDS_ALL)
    answer(6, "/robots.txt", 302, FORBIDS_ALL, Location="/robots.txt")
    # The robots.txt cannot be read.
    answer(7, "/robots.txt", 503, b"User-agent: *\nAllow: /\n")
    answer(8, "/robots.txt", 500)
    if leads_nowhere:
        answer(9, "/robots.txt", 302, Location="http://[::1")
    return site


def enter_robots_site(site: Site) -> list[str]:
    """Points redirects at the running site, and returns its pages."""
    for host in site.hosts.values():
        for path, (status, headers, body) in host.answers.items():
            host.answers[path] = status, {n: v.format(port=site.port) for n, v in headers.items()}, body
    return site.urls()


def robots_are_known(site: Site, admin: freshet.Admin) -> bool:
    """Whether the server has the result of each page that its robots.txt demands."""
    denied, fetched, failed = (
        types_pb2.CRAWL_OUTCOME_ROBOTS_DENIED,
        types_pb2.CRAWL_OUTCOME_CHANGED,
        types_pb2.CRAWL_OUTCOME_ERROR,
    )
    for number in range(1, len(site.hosts) + 1):
        for path in ("/0", "/1", "/private/1"):
            expected = fetched if number <= 6 else failed
            if path == "/private/1" and number <= 2:
                expected = denied
            outcome = admin.page(site.url(f"127.0.1.{number}", path)).page.last_outcome
            if outcome == types_pb2.CRAWL_OUTCOME_UNCHANGED:
                outcome = fetched
            if outcome == types_pb2.CRAWL_OUTCOME_UNSPECIFIED:
                return False
            assert outcome == expected, f"{number}{path}: {outcome}"
    return True


def assert_costly_robots_cost_little(command: list[str], directory: Path) -> None:
    """Checks the time of a robots.txt with costly rules: comparing a URL with all rules takes 30 seconds without a
    bound."""
    name = "127.0.1.1"
    site = Site({name: Host({})})
    rules = "".join(f"Disallow: /*{'a' * 400}{n}\n" for n in range(1200))
    site.hosts[name].answers["/robots.txt"] = (200, {}, f"User-agent: *\n{rules}".encode())
    with site, start_server(directory) as server:
        urls = [site.url(name, f"/{n}{'a' * 8000}") for n in range(8)]
        with freshet.Ingester(server.address) as ingester:
            ingester.upsert(urls)
        worker = subprocess.Popen(command, env=environment(server), stdout=subprocess.PIPE, text=True)
        try:
            until = time.monotonic() + 100
            with freshet.Admin(server.address) as admin:
                while outcomes := [admin.page(url).page.last_outcome for url in urls]:
                    if types_pb2.CRAWL_OUTCOME_UNSPECIFIED not in outcomes:
                        break
                    assert time.monotonic() < until, "it is still at it"
                    threading.Event().wait(0.05)
            times = Path(f"/proc/{worker.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
        finally:
            worker.terminate()
            worker.communicate(timeout=30)
    assert set(outcomes) == {types_pb2.CRAWL_OUTCOME_ROBOTS_DENIED}
    assert sum(map(int, times)) / os.sysconf("SC_CLK_TCK") < 15, "processor seconds"


def wait_for_robots(site: Site, server: Server, seconds: float = 100.0) -> None:
    until = time.monotonic() + seconds
    with freshet.Admin(server.address) as admin:
        while not robots_are_known(site, admin):
            assert time.monotonic() < until, site.summary()
            threading.Event().wait(0.05)
    fetched = {(request.host, request.path) for request in site.requests}
    assert not [host for host, _ in fetched if host in ("127.0.1.7", "127.0.1.8", "127.0.1.9")], (
        "what cannot be read forbids all"
    )
    assert not fetched & {("127.0.1.1", "/private/1"), ("127.0.1.2", "/private/1")}


# --- A server that does not keep its promises ------------------------------------------------------------------------

ORDERS = "\x1b]0;pwned\x07 \x9b2J \u202e"


class FaultyServer(SchedulerServiceServicer):
    """Greets with control characters for terminals, assigns one page, if any, and acknowledges nothing. `with
    FaultyServer() as server`."""

    def __init__(self, page: str = "") -> None:
        self.greeted = threading.Event()
        self.reported = threading.Event()
        self._page = page
        self._serving = grpc.server(ThreadPoolExecutor(4))
        add_SchedulerServiceServicer_to_server(self, self._serving)
        self.address = f"127.0.0.1:{self._serving.add_insecure_port('127.0.0.1:0')}"

    def __enter__(self) -> FaultyServer:
        self._serving.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._serving.stop(None).wait()

    def Crawl(self, request_iterator: Any, context: Any) -> Any:
        yield scheduler_pb2.CrawlResponse(notice=scheduler_pb2.Notice(text=ORDERS))
        for request in request_iterator:
            kind = request.WhichOneof("message")
            if kind == "credit":
                self.greeted.set()
            if kind == "credit" and self._page:
                page = types_pb2.Assignment(lease_id=1, url=self._page)
                self._page = ""
                yield scheduler_pb2.CrawlResponse(assignments=scheduler_pb2.AssignmentBatch(assignments=[page]))
            if kind == "results":
                self.reported.set()


def assert_no_orders_to_the_terminal(program: list[str], escaped: str) -> None:
    with FaultyServer() as server:
        worker = subprocess.Popen([*program, "--server", server.address], stderr=subprocess.PIPE, text=True)
        try:
            assert server.greeted.wait(30)
        finally:
            worker.terminate()
            _, said = worker.communicate(timeout=30)
    assert worker.returncode == 0
    assert escaped in said
    assert not [letter for letter in said if letter != "\n" and not letter.isprintable()]


def assert_a_stop_ends_without_a_server(program: list[str], *limit: str) -> None:
    with make_site() as site, FaultyServer(site.url(PLAIN[0], "/1")) as server:
        command = [*program, "--server", server.address, *limit]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert server.reported.wait(30)
            server.stop()
        finally:
            worker.terminate()
            try:
                said, _ = worker.communicate(timeout=30)
            finally:
                worker.kill()
    assert worker.returncode == 1
    assert "0 results acknowledged, 0 refused, 1 not acknowledged" in said
