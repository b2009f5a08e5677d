"""A site may have a long robots.txt for each of any number of names; what crawlers keep of them is bounded."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import tracemalloc
from types import ModuleType

import pytest

pytest.importorskip("httpx")
pytest.importorskip("protego")

import httpx  # noqa: E402
from protego import Protego  # noqa: E402

from crawl import EXAMPLES  # noqa: E402
from freshet.robots import MOST_BYTES, KeptRobots, bytes_of, origin_of  # noqa: E402


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
    # Again, and smaller.
    assert kept.keep("new", 70, until=50, now=6) == []
    assert kept.keep("one more", 1, until=50, now=6) == ["new"]


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

    # As much as four of them may take.
    monkeypatch.setattr(module, "bytes_of", lambda text: MOST_BYTES // 4)

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
