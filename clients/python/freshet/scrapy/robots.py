"""robots.txt as RFC 9309 has it: a parser that remembers the Crawl-delay of a host, which goes to the server with the
next result, and what asks for the text anew."""

from __future__ import annotations

import time
from collections import OrderedDict
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from protego import Protego
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.robotstxt import RobotParser
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import Deferred

from freshet.scrapy.bridge import Bridge

_LONGEST = 366 * 86_400.0
_LIFE = 86_400.0
_HOSTS = 10_000


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


class FreshetRobotParser(RobotParser):
    """For the setting ROBOTSTXT_PARSER."""

    def __init__(self, robotstxt_body: bytes, bridge: Bridge) -> None:
        # Some editors begin a text with a mark that says that it is UTF-8.
        self._rules = Protego.parse(robotstxt_body.decode("utf-8-sig", "replace"))
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
    """Scrapy's own, which keeps what it has read for as long as it runs, but reads it again after a day; and after a
    minute where it could not be read. Owner thread only."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._bridge = Bridge.of(crawler)
        self._until: OrderedDict[str, float] = OrderedDict()

    def process_request(self, request: Request, *arguments: Any, **named: Any) -> Any:
        host = urlparse_cached(request).netloc
        over = self._until.get(host, 0.0) <= time.monotonic() or self._bridge.was_unreachable(host)
        if over and not isinstance(self._parsers.get(host), Deferred):
            self._forget(host)
            self._until[host] = time.monotonic() + _LIFE
            if len(self._until) > _HOSTS:
                self._forget(next(iter(self._until)))
        return super().process_request(request, *arguments, **named)

    def _forget(self, host: str) -> None:
        self._until.pop(host, None)
        self._bridge.forget_unreachable(host)
        # Those who wait for a text that is under way would wait for ever.
        if not isinstance(self._parsers.get(host), Deferred):
            self._parsers.pop(host, None)
