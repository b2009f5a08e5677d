"""The Scrapy project of examples/python crawls the local site from its links."""

from __future__ import annotations

import asyncio
import gzip
import json
import signal
import subprocess
import sys
import time
from datetime import datetime, timezone
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("scrapy")

import freshet  # noqa: E402
from crawl import (  # noqa: E402
    BUSY,
    EXAMPLES,
    all_fetched,
    assert_known,
    assert_polite,
    change_some,
    enter_robots_site,
    environment,
    make_site,
    robots_site,
    start_server,
    wait_for_robots,
)
from freshet import Page  # noqa: E402
from freshet.v1 import types_pb2  # noqa: E402
from local_site import Host, Site  # noqa: E402
from server import Server  # noqa: E402

PROJECT = EXAMPLES / "scrapy_project"


def start_spider(server: Server, directory: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "scrapy", "crawl", "pages", "-O", str(directory / "items.jsonl"), *arguments]
    with (directory / "scrapy.log").open("w") as log:
        return subprocess.Popen(command, cwd=PROJECT, env=environment(server), stderr=log, text=True)


def stop_spider(spider: subprocess.Popen[str], directory: Path) -> str:
    spider.send_signal(signal.SIGINT)
    assert spider.wait(timeout=30) == 0
    return (directory / "scrapy.log").read_text()


def wait_for_outcomes(server: Server, urls: list[str], seconds: float) -> list[types_pb2.CrawlOutcome]:
    """Waits until all pages have a result, and returns the last outcome of each."""
    with freshet.Admin(server.address) as admin:
        until = time.monotonic() + seconds
        while not all(outcomes := [admin.page(url).page.last_outcome for url in urls]):
            assert time.monotonic() < until, outcomes
            time.sleep(0.05)
    return outcomes


def test_a_site_that_changes_is_crawled_from_its_links(tmp_path: Path) -> None:
    with make_site() as site, start_server(tmp_path) as server:
        # The host that never answers names no links.
        start = ",".join([*(site.url(name, "/0") for name in site.hosts), site.url(BUSY, "/1"), site.url(BUSY, "/2")])
        spider = start_spider(server, tmp_path, "-a", f"start={start}")
        try:
            site.wait_for(all_fetched(site))
            news = change_some(site)
            with freshet.Ingester(server.address) as ingester:
                changed = [
                    site.url(r.host, r.path) for r in site.requests if r.path in {f"/{n}" for n in range(10, 20)}
                ]
                ingester.signal("sitemap", sorted(set(changed)))
                ingester.recheck([site.url("127.0.0.4", "/0")])
            site.wait_for(news)
        finally:
            log = stop_spider(spider, tmp_path)
        assert "Traceback" not in log, log
        assert_polite(site)
        assert_known(site, server)
        assert site.robots_requests == len(site.hosts), "robots.txt is read once a host"
        items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
        assert {item["url"] for item in items if item["text"].startswith("Version 2")} >= {site.url("127.0.0.2", "/10")}
        with freshet.Admin(server.address) as admin:
            # One page may have been on its way at that moment.
            assert sum(page.HasField("lease") for page in admin.pages()) <= 1, "leases are left open"
            assert admin.host("127.0.0.2").server_address == "127.0.0.2"


def test_robots_txt_is_followed_and_read_as_the_world_has_it(tmp_path: Path) -> None:
    # Scrapy treats an invalid redirect as an exception, and so as a permission.
    with robots_site(leads_nowhere=False) as site, start_server(tmp_path) as server:
        with freshet.Ingester(server.address) as ingester:
            ingester.upsert(enter_robots_site(site))
        spider = start_spider(server, tmp_path)
        try:
            wait_for_robots(site, server)
        finally:
            log = stop_spider(spider, tmp_path)
        assert "Traceback" not in log, log


def test_an_answer_that_is_too_large_or_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    large = bytes(11 << 20)
    answers = {
        "/large": (200, {}, large),
        "/large-once-decoded": (200, {"Content-Encoding": "gzip"}, gzip.compress(large)),
        "/broken": (200, {"Content-Encoding": "gzip"}, b"no gzip"),
        "/around": (302, {"Location": "/around"}, b""),
    }
    site = Site({f"127.0.1.{n}": Host(answers=answers) for n in (1, 2)})
    with site, start_server(tmp_path) as server:
        urls = [site.url(name, path) for name in site.hosts for path in answers]
        with freshet.Ingester(server.address) as ingester:
            ingester.upsert(urls)
        # Two unreported pages would occupy all places until their leases end.
        spider = start_spider(server, tmp_path, "-s", "FRESHET_CAPACITY=2")
        try:
            outcomes = wait_for_outcomes(server, urls, 60)
        finally:
            stop_spider(spider, tmp_path)
        assert set(outcomes) == {types_pb2.CRAWL_OUTCOME_ERROR}


def test_redirects_end_with_the_lease_of_their_page(tmp_path: Path) -> None:
    """Each redirect takes a second, and Scrapy follows 20."""
    robots = {"/robots.txt": (302, {"Location": "/robots.txt"}, b"")}
    hosts = {"127.0.1.1": Host(found={"/1": "/1"}, delay=1.0), "127.0.1.2": Host(answers=robots, delay=1.0)}
    with Site(hosts) as site, start_server(tmp_path) as server:
        urls = [site.url(name, "/1") for name in hosts]
        with freshet.Ingester(server.address) as ingester:
            ingester.upsert(urls)
        spider = start_spider(server, tmp_path, "-s", "FRESHET_LEASE_SECONDS=3")
        try:
            outcomes = wait_for_outcomes(server, urls, 15)
        finally:
            log = stop_spider(spider, tmp_path)
        assert set(outcomes) == {types_pb2.CRAWL_OUTCOME_ERROR}
        assert "max redirections" not in log


def test_a_request_takes_no_longer_than_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    from scrapy import Request
    from scrapy.exceptions import IgnoreRequest
    from scrapy.http.request import NO_CALLBACK
    from scrapy.utils.test import get_crawler

    from freshet.scrapy import Bridge, FreshetMiddleware, FreshetScheduler

    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    crawler = get_crawler(settings_dict={"DOWNLOAD_TIMEOUT": 60})
    Bridge.of(crawler).worker = SimpleNamespace(lease_left=lambda _: 100.0, lease_seconds=200.0)  # type: ignore[assignment]
    middleware = FreshetMiddleware.from_crawler(crawler)
    page = freshet.Assignment("https://a.test/", "DEFAULT", 1, datetime.now(timezone.utc))
    request = FreshetScheduler.from_crawler(crawler)._request_of(page)
    robots = Request("https://a.test/robots.txt", meta={"dont_obey_robotstxt": True}, callback=NO_CALLBACK)
    direct = Request("https://a.test/login")
    for after, timeout, of_robots in ((0, 60, 40), (30, 50, 10), (79, 1, None)):
        now = 1000.0 + after
        # The request after a redirect.
        request = request.replace(url=f"https://a.test/{after}")
        assert middleware.process_request(request) is None
        assert request.meta["download_timeout"] == pytest.approx(timeout)
        answer = middleware.process_request(robots)
        if of_robots is None:
            assert answer is not None
            assert answer.status == 599
        else:
            assert robots.meta["download_timeout"] == pytest.approx(of_robots)
    now += 1
    with pytest.raises(IgnoreRequest, match="lease"):
        middleware.process_request(request)
    assert middleware.process_request(direct) is None
    assert "download_timeout" not in direct.meta


@pytest.mark.parametrize("part", ["<a>", "<a href=x>", "<p>x"], ids=["anchors", "links", "paragraphs"])
def test_the_example_parses_no_page_for_seconds(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from scrapy import Request
    from scrapy.http import HtmlResponse

    monkeypatch.syspath_prepend(PROJECT)
    digest, settings, spiders = map(import_module, ("pages.digest", "pages.settings", "pages.spiders.pages"))
    request = Request("http://a.test/", meta={"freshet": SimpleNamespace(last_crawl_time=None)})
    body = part * (settings.DOWNLOAD_MAXSIZE // len(part))
    page = HtmlResponse(request.url, body=body, encoding="utf-8", request=request)
    begun = time.process_time()
    _, *links = spiders.PagesSpider().parse(page)
    digest.main_part(page)
    assert time.process_time() - begun < 2
    assert len(links) == (1_000 if "href" in part else 0)


def test_robots_txt_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from scrapy import Request
    from scrapy.utils.test import get_crawler

    from freshet.scrapy import Bridge, FreshetRobotsTxtMiddleware

    crawler = get_crawler(
        settings_dict={"ROBOTSTXT_OBEY": True, "ROBOTSTXT_PARSER": "freshet.scrapy.FreshetRobotParser"}
    )
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    middleware = FreshetRobotsTxtMiddleware(crawler)

    def is_kept() -> bool:
        request = Request("https://example.org/", meta={"dont_obey_robotstxt": True})
        answer = middleware.process_request(request)
        if hasattr(answer, "close"):
            answer.close()
        kept = "example.org" in middleware._parsers
        middleware._parsers["example.org"] = None
        return kept

    assert [is_kept(), is_kept()] == [False, True]
    now += 86_399
    assert is_kept()
    now += 2
    assert [is_kept(), is_kept()] == [False, True]
    Bridge.of(crawler).set_unreachable("example.org")
    now += 59
    assert is_kept()
    now += 2
    assert [is_kept(), is_kept()] == [False, True]


def test_a_site_with_many_names_fills_no_crawler() -> None:
    from scrapy import Request
    from scrapy.utils.test import get_crawler

    from freshet.robots import MOST_BYTES
    from freshet.scrapy import FreshetRobotParser, FreshetRobotsTxtMiddleware

    crawler = get_crawler(
        settings_dict={"ROBOTSTXT_OBEY": True, "ROBOTSTXT_PARSER": "freshet.scrapy.FreshetRobotParser"}
    )
    middleware = FreshetRobotsTxtMiddleware(crawler)
    for n in range(50):
        answer = middleware.process_request(Request(f"https://n{n}.test/"))
        if hasattr(answer, "close"):
            answer.close()
        parser = FreshetRobotParser.from_crawler(crawler, b"User-agent: *\nDisallow: /\n")
        # Each text counts as a quarter of the memory.
        parser.size = MOST_BYTES // 4
        middleware._parsers[f"n{n}.test"] = parser
    assert len(middleware._parsers) <= 5


def test_robots_txt_is_asked_about_no_url_that_is_too_long() -> None:
    from scrapy import Request
    from scrapy.exceptions import IgnoreRequest
    from scrapy.utils.test import get_crawler

    from freshet.scrapy import FreshetRobotsTxtMiddleware

    crawler = get_crawler(
        settings_dict={"ROBOTSTXT_OBEY": True, "ROBOTSTXT_PARSER": "freshet.scrapy.FreshetRobotParser"}
    )
    middleware = FreshetRobotsTxtMiddleware(crawler)
    with pytest.raises(IgnoreRequest) as ignored:
        middleware.process_request(Request("https://example.org/" + "x" * 8_192))
    # A page forbidden by robots.txt is not an error.
    assert "robots.txt" not in str(ignored.value)


def test_robots_txt_with_many_wildcards_holds_up_no_crawler() -> None:
    from scrapy.utils.test import get_crawler

    from freshet.scrapy import FreshetRobotParser

    text = "User-agent: *\n" + "".join(f"allow:/*xxxx{n:x}z\n" for n in range(30_000))
    parser = FreshetRobotParser.from_crawler(get_crawler(), text.encode())
    begun = time.process_time()
    assert parser.allowed("https://example.org/" + "x" * 8_000, "agent")
    assert time.process_time() - begun < 0.2


def test_a_link_that_is_too_long_takes_no_place() -> None:
    from scrapy.utils.test import get_crawler

    from freshet.scrapy import Bridge

    crawler = get_crawler(settings_dict={})
    bridge = Bridge.of(crawler)
    assert not bridge.add(Page("https://example.org/" + "x" * 8_192))
    assert not bridge._found
    assert not bridge._seen
    assert crawler.stats is not None
    assert crawler.stats.get_value("freshet/links_refused") == 1


def links_of(url: str, number: int) -> list[Page]:
    return [Page(f"{url}{n}") for n in range(number)]


def test_no_site_takes_the_places_of_other_sites_links() -> None:
    from freshet.scrapy.links import FoundLinks

    found = FoundLinks(2_000)
    for site, share in {"a.test": 750, "b.test": 375}.items():
        assert sum(found.add(page, site) for page in links_of(f"https://{site}/", 10_000)) == share
    # Wherever links lead, the site that names them pays.
    for n in range(400):
        for page in links_of(f"https://n{n}.test/", 10):
            found.add(page, f"n{n}.test")
    assert 1_500 <= len(found) < 1_900
    assert found.add(Page("https://good.test/"), "good.test")
    # An operator's own pages may use all free places.
    left = 2_000 - len(found)
    assert sum(found.add(page, "") for page in links_of("https://start.test/", 10_000)) == left
    # Each turn has one link of each site.
    turn = [page.url for page in found.take(404)]
    assert "https://good.test/" in turn
    assert sum(url.startswith("https://a.test/") for url in turn) == 1
    assert len(found.take(10_000)) == 2_000 - 404
    assert not found


def test_a_site_is_all_that_its_owner_can_name() -> None:
    from freshet.scrapy.links import site_of

    sites = {
        "https://a.b.Example.co.uk:8443/c": "example.co.uk",
        "https://one.github.io/": "one.github.io",
        "http://127.0.0.1:80/a.b": "127.0.0.1",
        "http://wiki.internal/": "wiki.internal",
        "http://localhost": "localhost",
        "http://[::1]:80/": "[::1]",
    }
    assert {url: site_of(url) for url in sites} == sites


def test_a_page_of_many_links_takes_no_place_of_others(caplog: pytest.LogCaptureFixture) -> None:
    from scrapy import Request
    from scrapy.http import Response
    from scrapy.utils.test import get_crawler

    from freshet.scrapy import Addon, Bridge, FreshetLinksMiddleware, FreshetScheduler

    crawler = get_crawler(settings_dict={"FRESHET_LINKS_PER_PAGE": 100, "ADDONS": {Addon: 0}})
    assert "freshet.scrapy.FreshetLinksMiddleware" in crawler.settings["SPIDER_MIDDLEWARES"]
    middleware = FreshetLinksMiddleware.from_crawler(crawler)
    scheduler = FreshetScheduler.from_crawler(crawler)

    def found(url: str, links: int) -> int:
        """Returns how many of a page's links are accepted."""
        answer = Response(url)
        named = [Request(f"{url}{n}") for n in range(links)]
        login = Request("https://login.test/", method="POST")
        *kept, last = middleware.process_spider_output(answer, [*named, login])
        assert last is login
        return sum(scheduler.enqueue_request(link) for link in kept)

    async def crawl() -> None:
        # No link is sent before its turn.
        assert [found("https://good.test/", 100), found("https://evil.com/", 20_000)] == [100, 100]
        for n in range(500):
            found(f"https://n{n}.evil.com/{n}/", 100)
        assert found("https://better.test/", 100) == 100
        urls = [page.url for page in Bridge.of(crawler)._found.take(90)]
        assert sum(url.startswith(("https://good.test/", "https://better.test/")) for url in urls) == 60

    asyncio.run(crawl())
    assert crawler.stats is not None
    assert crawler.stats.get_value("freshet/links_dropped") > 19_900 + 40_000
    # At most one line a minute.
    assert [record.getMessage() for record in caplog.records if "dropped" in record.getMessage()] == [
        "1 links were dropped so far, the last one of https://evil.com/"
    ]


class Ingester:
    """An ingester that is slow at first, like a server that limits a client."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    async def upsert(self, pages: list[Page]) -> freshet.Summary:
        self.batches.append(len(pages))
        await asyncio.sleep(0.2 if len(self.batches) <= 4 else 0)
        return freshet.Summary(applied=len(pages))


def test_links_wait_for_results(monkeypatch: pytest.MonkeyPatch) -> None:
    from scrapy import Request
    from scrapy.utils.test import get_crawler

    from freshet.scrapy import Bridge

    monkeypatch.setattr("freshet.scrapy.bridge._LONG_TURN", 0.1)
    crawler = get_crawler(settings_dict={})
    bridge = Bridge.of(crawler)
    results = freshet.Summary()
    worker = SimpleNamespace(closed=False, statistics=SimpleNamespace(results=results), report_nowait=lambda *_: None)
    ingester = Ingester()
    vars(bridge).update(worker=worker, _ingester=ingester)

    async def crawl() -> None:
        assignment = freshet.Assignment("https://a.test/", "DEFAULT", 1, datetime.now(timezone.utc))
        bridge.report(Request(assignment.url), assignment, freshet.Result())
        for page in links_of("https://a.test/", 4_000):
            bridge.add(page, "a.test")
        await asyncio.sleep(0.2)
        assert not ingester.batches
        results.applied = 1
        assert bridge._sending is not None
        await bridge._sending

    asyncio.run(crawl())
    # Slow parts become smaller, until they are fast enough.
    assert ingester.batches[:4] == [1000, 500, 250, 125]
    assert max(ingester.batches[4:]) > 900
    assert sum(ingester.batches) == 4_000
    assert crawler.stats is not None
    assert crawler.stats.get_value("freshet/links_added") == 4_000


def test_the_digest_of_what_matters_decides(tmp_path: Path) -> None:
    with make_site() as site, start_server(tmp_path) as server:
        with freshet.Ingester(server.address) as ingester:
            ingester.upsert([site.url("127.0.0.2", "/1")])
        spider = start_spider(server, tmp_path, "-s", "FRESHET_DIGEST=pages.digest.main_part")
        try:
            site.wait_for(lambda requests: len(requests) >= 1)
        finally:
            log = stop_spider(spider, tmp_path)
        assert "DEBUG" in log
        assert "[_cygrpc]" not in log, "gRPC fills the log"
        with freshet.Admin(server.address) as admin:
            import hashlib

            digest = admin.page(site.url("127.0.0.2", "/1")).page.content_digest
            assert digest == hashlib.sha256(b"Version 1 of /1").digest()


def test_a_server_that_is_killed_loses_no_result(tmp_path: Path) -> None:
    with make_site() as site, start_server(tmp_path) as server:
        with freshet.Ingester(server.address) as ingester:
            ingester.upsert(site.url("127.0.0.2", f"/{n}") for n in range(1, 61))
        spider = start_spider(server, tmp_path, "-s", "FRESHET_LEASE_SECONDS=2")
        try:
            site.wait_for(lambda requests: len(requests) >= 20)
            server.kill()
            server.start()
            site.wait_for(lambda requests: len({request.path for request in requests}) == 60)
        finally:
            log = stop_spider(spider, tmp_path)
        assert "not acknowledged" not in log
        with freshet.Admin(server.address) as admin:
            assert all(page.crawls >= 1 for page in admin.pages())


def test_a_server_that_knows_nobody_by_the_token_ends_the_crawl(tmp_path: Path) -> None:
    (tmp_path / "auth.yaml").write_text(
        "identities:\n  - {name: fleet, roles: [worker], token_sha256: " + "ab" * 32 + "}\n"
    )
    (tmp_path / "token").write_text("hunter2")
    with Server(tmp_path, "--auth-file", str(tmp_path / "auth.yaml")) as server:
        spider = start_spider(
            server, tmp_path, "-s", f"FRESHET_SERVER={server.address}", "-s", f"FRESHET_TOKEN_FILE={tmp_path}/token"
        )
        assert spider.wait(timeout=30) == 0
        log = (tmp_path / "scrapy.log").read_text()
        assert "the crawl ends: UNAUTHENTICATED" in log
        assert "hunter2" not in log
