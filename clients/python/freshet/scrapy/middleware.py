"""Reports to the server what became of the pages that it has handed out."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.misc import load_object

from freshet.http import MOVED_PERMANENTLY, NOT_MODIFIED, result_of
from freshet.scrapy.bridge import Bridge
from freshet.scrapy.robots import origin_of
from freshet.scrapy.scheduler import META
from freshet.types import Assignment, Outcome, Result

logger = logging.getLogger(__name__)

Digest = Callable[[Response], bytes]


class FreshetMiddleware:
    """A downloader middleware, outside of all others. Spiders get what they would get without it, but for answers
    without content: those that say that a page is the same as before, and those that say that it has moved for good.

    FRESHET_DIGEST names a function of a response that returns the digest of what matters in it; unset it is that of
    the whole body.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._bridge = Bridge.of(crawler)
        name = crawler.settings.get("FRESHET_DIGEST")
        self._digest: Digest | None = load_object(name) if name else None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> FreshetMiddleware:
        return cls(crawler)

    def process_response(self, request: Request, response: Response, **_: Any) -> Response:
        assignment: Assignment | None = request.meta.get(META)
        if assignment is None:
            return response
        self._bridge.report(assignment, self._result(assignment, request, response))
        if response.status == NOT_MODIFIED or response.status in MOVED_PERMANENTLY:
            raise IgnoreRequest(f"{response.status}: reported to Freshet")
        return response

    def process_exception(self, request: Request, exception: Exception, **_: Any) -> None:
        assignment: Assignment | None = request.meta.get(META)
        if assignment is None:
            return
        outcome = Outcome.ERROR
        if isinstance(exception, IgnoreRequest) and "robots.txt" in str(exception):
            outcome = Outcome.ROBOTS_DENIED
        crawl_delay = self._bridge.crawl_delay(origin_of(assignment.url))
        self._bridge.report(assignment, Result(outcome=outcome, crawl_delay=crawl_delay))

    def _result(self, assignment: Assignment, request: Request, response: Response) -> Result:
        headers = {name: self._header(response, name) for name in ("ETag", "Last-Modified", "Location", "Retry-After")}
        digest = None
        if self._digest is not None and 200 <= response.status < 300:
            digest = self._digest(response)
        same = request.url == assignment.url
        return result_of(
            response.status,
            {name: value for name, value in headers.items() if value},
            response.body,
            url=request.url,
            digest=digest,
            server_address=str(response.ip_address) if response.ip_address and same else "",
            crawl_delay=self._bridge.crawl_delay(origin_of(assignment.url)),
        )

    def _header(self, response: Response, name: str) -> str:
        value = response.headers.get(name)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
