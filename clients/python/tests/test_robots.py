"""A site may have a long robots.txt for each of any number of names; the memory that crawlers keep is bounded."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import time
import tracemalloc
from datetime import datetime, timezone
from types import ModuleType

import pytest

pytest.importorskip("httpx")
pytest.importorskip("protego")

import httpx  # noqa: E402
from protego import Protego  # noqa: E402

from crawl import EXAMPLES  # noqa: E402
from freshet.robots import MOST_BYTES, KeptRobots, Rules, bounded, bytes_of, origin_of  # noqa: E402


def test_an_origin_is_the_same_whoever_asks() -> None:
    for url in ("http://a.test:80/1?q=@b", "http://u1@A.test:80/", "http://u:p@a.test:80"):
        assert origin_of(url) == "http://a.test:80"


def test_what_is_too_old_is_forgotten_first_and_then_the_longest() -> None:
    kept = KeptRobots(100)
    assert kept.keep("old", 10, until=5, now=0) == []
    assert kept.keep("small", 10, until=50, now=0) == []
    assert kept.keep("large", 60, until=50, now=0) == []
    assert kept.until("large") == 50
    assert kept.keep("new", 30, until=50, now=6) == ["old"]
    assert kept.until("old") == 0
    assert kept.keep("newer", 20, until=50, now=6) == ["large"]
    assert kept.keep("huge", 1000, until=50, now=6) == ["huge"]
    # The same origin again, with a smaller text.
    assert kept.keep("new", 70, until=50, now=6) == []
    assert kept.keep("one more", 1, until=50, now=6) == ["new"]


def test_an_origin_more_costs_the_same_however_many_there_are() -> None:
    few, many = KeptRobots(100), KeptRobots(100_000)
    for count, kept in ((100, few), (100_000, many)):
        for n in range(count):
            kept.keep(str(n), 1, until=50, now=0)

    def seconds_of(kept: KeptRobots) -> float:
        begun = time.process_time()
        for n in range(1000):
            assert len(kept.keep(f"new {n}", 1, until=50, now=0)) == 1
        return time.process_time() - begun

    # Without an index it would take a thousand times as long.
    assert seconds_of(many) < 100 * max(seconds_of(few), 0.001)


@pytest.mark.parametrize(
    "lines",
    ["Disallow: /%d\n", "Allow:/\n", "Allow:/*%d$\n", "Allow:/%d$\n", "User-agent:%d\n", "User-agent:%d\nAllow:/%d\n"],
)
def test_rules_take_no_more_memory_than_they_count_for(lines: str) -> None:
    text = "User-agent: *\n" + "".join(lines.replace("%d", str(n)) for n in range(5000))
    Protego.parse("User-agent: *\nAllow: /*a$\n").can_fetch("http://a.test/", "x")
    tracemalloc.start()
    try:
        rules = Protego.parse(text)
        rules.can_fetch("http://a.test/", "x")
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert taken <= bytes_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "User-agent: *\n" + "".join(f"allow:/*xxxx{n:x}z\n" for n in range(30_000)),
        "".join(f"User-agent:{n}\n" for n in range(300)) + "Allow:/*$\n" * 500,
        "".join(f"User-agent:a{'*' * n}\n" for n in range(300)) + "Allow:/\n" * 500,
        "".join(f"User-agent:{n}*\n" for n in range(500)) + "Allow:/\n" * 500,
        "User-agent:a\n"
        + "Allow:/*x\n" * 1_000
        + "".join(f"User-agent:a\nUser-agent:c{n}\nAllow:/*x\n" for n in range(500))
        + "Allow:/\n" * 500,
    ],
    ids=["wildcards", "agents", "names of stars", "names with stars", "groups of nothing"],
)
def test_no_robots_txt_takes_seconds_or_gigabytes(text: str) -> None:
    Protego.parse("User-agent: *\nAllow: /*a$\n").can_fetch("http://a.test/", "x")
    read = bounded(text)
    tracemalloc.start()
    try:
        rules = Protego.parse(read.text)
        assert rules.can_fetch("http://a.test/" + "x" * 8_000, "x")
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert taken <= read.size <= 20 << 20
    begun = time.process_time()
    assert rules.can_fetch("http://a.test/" + "x" * 8_000, "x")
    assert time.process_time() - begun < 0.2


def test_what_is_bounded_says_the_same() -> None:
    text = """\
Sitemap: https://a.test/sitemap.xml
USER-AGENT : One # the first
Useragent: two*
Disalow: /private/  # misspelt
crawl delay: 7
Allow /private/*.html$
User-agent: *
Disallow:
User-agent: three
Disallow: /
"""
    rules = Protego.parse(bounded(text).text)
    for agent in ("one", "Two/2.0"):
        assert not rules.can_fetch("https://a.test/private/1", agent)
        assert rules.can_fetch("https://a.test/private/1.html", agent)
        assert rules.crawl_delay(agent) == 7
    assert rules.can_fetch("https://a.test/private/1", "four")
    assert not rules.can_fetch("https://a.test/", "three")
    # Each agent has a thousand wildcards, wherever its group is.
    group = "".join(f"Disallow: /*/{n}/$\n" for n in range(1_000))
    rules = Protego.parse(bounded("".join(f"User-agent: a{n}\n{group}" for n in range(20))).text)
    assert not rules.can_fetch("https://a.test/x/999/", "a19")


def fetch_worker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("fetch_worker", EXAMPLES / "fetch_worker.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_a_site_with_many_names_fills_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    module = fetch_worker(monkeypatch)
    asked: list[str] = []

    async def get(url: str, *_: object) -> object:
        asked.append(url)
        return module.Answer(200, httpx.Headers(), b"User-agent: *\nDisallow: /private/\n", "")

    # Each text counts as a quarter of the memory.
    monkeypatch.setattr(module, "bounded", lambda text: Rules(text, MOST_BYTES // 4))

    async def crawl() -> None:
        fetcher = module.Fetcher("agent", most_bytes=1000, timeout=60.0, save=None)
        monkeypatch.setattr(fetcher, "_get", get)
        for n in range(50):
            rules = await fetcher._rules_of(f"http://u{n}@one.test/", module.ROBOTS_LIFE)
            assert not rules.parsed.can_fetch("http://one.test/private/1", "agent")
        assert asked == ["http://one.test/robots.txt"]
        for n in range(50):
            await fetcher._rules_of(f"http://n{n}.test/", module.ROBOTS_LIFE)
        assert len(fetcher._rules) <= 4
        await fetcher.close()

    asyncio.run(crawl())


def test_a_redirect_to_a_url_that_is_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    module = fetch_worker(monkeypatch)
    asked: list[str] = []

    async def get(url: str, *_: object) -> object:
        asked.append(url)
        if url.endswith("/robots.txt"):
            return module.Answer(404, httpx.Headers(), b"", "")
        return module.Answer(302, httpx.Headers({"Location": "http://two.test/" + "x" * 8_192}), b"", "")

    async def crawl() -> None:
        fetcher = module.Fetcher("agent", most_bytes=1000, timeout=60.0, save=None)
        monkeypatch.setattr(fetcher, "_get", get)
        page = module.Assignment(url="http://one.test/", crawl_id="", lease_id=1, deadline=datetime.now(timezone.utc))
        assert (await fetcher.fetch(page)).outcome == module.Outcome.ERROR
        assert asked == ["http://one.test/robots.txt", "http://one.test/"]
        await fetcher.close()

    asyncio.run(crawl())
