"""robots.txt as in RFC 9309: a parser that remembers the Crawl-delay of a host, which goes to the server with the
next result, and a middleware that reads the text again."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from protego import Protego
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.robotstxt import RobotParser
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import Deferred

from freshet.robots import KeptRobots, bounded, bytes_of, origin_of
from freshet.scrapy.bridge import Bridge
from freshet.types import MOST_URL_BYTES, is_long

_LONGEST = 366 * 86_400.0
_LIFE = 86_400.0
_MOST_BYTES = 500 << 10


class FreshetRobotParser(RobotParser):
    """For the setting ROBOTSTXT_PARSER."""

    def __init__(self, robotstxt_body: bytes, bridge: Bridge) -> None:
        # Some editors begin a text with the byte order mark of UTF-8.
        text, self.size = bounded(robotstxt_body[:_MOST_BYTES].decode("utf-8-sig", "replace"))
        self._rules = Protego.parse(text)
        self._bridge = bridge

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> FreshetRobotParser:
        return cls(robotstxt_body, Bridge.of(crawler))

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        text = url.decode() if isinstance(url, bytes) else url
        agent = user_agent.decode("utf-8", "replace") if isinstance(user_agent, bytes) else user_agent
        if self._bridge.is_unreachable(urlsplit(text).netloc):
            return False
        delay = self._rules.crawl_delay(agent) or 0.0
        self._bridge.set_crawl_delay(origin_of(text), timedelta(seconds=min(max(delay, 0.0), _LONGEST)))
        return bool(self._rules.can_fetch(text, agent))


class FreshetRobotsTxtMiddleware(RobotsTxtMiddleware):
    """Scrapy's own keeps texts for the whole run. This one reads a text again after a day, after a minute if it was
    unreadable, and when it was forgotten to save memory. Owner thread only."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._bridge = Bridge.of(crawler)
        self._kept = KeptRobots()
        self._asked: set[str] = set()  # hosts whose texts are under way

    def process_request(self, request: Request, *arguments: Any, **named: Any) -> Any:
        obeys = not request.meta.get("dont_obey_robotstxt")
        # Redirects may lead to such URLs, which would be compared with every rule.
        if obeys and is_long(request.url) and request.url.startswith(("http:", "https:")):
            raise IgnoreRequest(f"a URL of more than {MOST_URL_BYTES} bytes")
        host = urlparse_cached(request).netloc
        self._take_texts()
        over = self._kept.until(host) <= time.monotonic() or self._bridge.was_unreachable(host)
        if over and not isinstance(self._parsers.get(host), Deferred):
            self._forget(host)
            self._keep(host, bytes_of(""), time.monotonic() + _LIFE)
            if obeys:
                self._asked.add(host)
        return super().process_request(request, *arguments, **named)

    def _take_texts(self) -> None:
        there = [host for host in self._asked if not isinstance(self._parsers.get(host, Deferred()), Deferred)]
        for host in there:
            self._asked.discard(host)
            self._keep(host, getattr(self._parsers[host], "size", bytes_of("")), self._kept.until(host))

    def _keep(self, host: str, size: int, until: float) -> None:
        for other in self._kept.keep(host, size, until, time.monotonic()):
            self._forget(other)

    def _forget(self, host: str) -> None:
        self._kept.forget(host)
        self._bridge.forget_unreachable(host)
        # Pages that wait for a text under way would wait for ever.
        if not isinstance(self._parsers.get(host), Deferred):
            self._asked.discard(host)
            self._parsers.pop(host, None)
