"""A parser of robots.txt that remembers the Crawl-delay of a host, which goes to the server with the next result."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlsplit

from protego import Protego
from scrapy.crawler import Crawler
from scrapy.robotstxt import RobotParser

from freshet.scrapy.bridge import Bridge

_LONGEST = 366 * 86_400.0


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


class FreshetRobotParser(RobotParser):
    """For the setting ROBOTSTXT_PARSER."""

    def __init__(self, robotstxt_body: bytes, bridge: Bridge) -> None:
        self._rules = Protego.parse(robotstxt_body.decode("utf-8", "replace"))
        self._bridge = bridge

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> FreshetRobotParser:
        return cls(robotstxt_body, Bridge.of(crawler))

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        text = url.decode() if isinstance(url, bytes) else url
        agent = user_agent.decode("utf-8", "replace") if isinstance(user_agent, bytes) else user_agent
        delay = self._rules.crawl_delay(agent) or 0.0
        self._bridge.set_crawl_delay(origin_of(text), timedelta(seconds=min(max(delay, 0.0), _LONGEST)))
        return bool(self._rules.can_fetch(text, agent))
