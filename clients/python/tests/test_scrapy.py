"""A Scrapy project, that of examples/python, crawls the local site from its links."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

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
            # But for a page that may have been on its way just then.
            assert sum(page.HasField("lease") for page in admin.pages()) <= 1, "leases are left open"
            assert admin.host("127.0.0.2").server_address == "127.0.0.2"


def test_robots_txt_is_followed_and_read_as_the_world_has_it(tmp_path: Path) -> None:
    # What leads nowhere is an exception to Scrapy, which takes it for a permission.
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
        # Two that nobody reports would take all places until their leases end.
        spider = start_spider(server, tmp_path, "-s", "FRESHET_CAPACITY=2")
        try:
            with freshet.Admin(server.address) as admin:
                until = time.monotonic() + 60
                while not all(outcomes := [admin.page(url).page.last_outcome for url in urls]):
                    assert time.monotonic() < until, outcomes
                    time.sleep(0.05)
        finally:
            stop_spider(spider, tmp_path)
        assert set(outcomes) == {types_pb2.CRAWL_OUTCOME_ERROR}


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
        # As much as four of them may take.
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
    # What robots.txt forbids is another result than an error.
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

    from freshet import Page
    from freshet.scrapy import Bridge

    crawler = get_crawler(settings_dict={})
    bridge = Bridge.of(crawler)
    assert not bridge.add(Page("https://example.org/" + "x" * 8_192))
    assert not bridge._found
    assert not bridge._seen
    assert crawler.stats is not None
    assert crawler.stats.get_value("freshet/links_refused") == 1


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
