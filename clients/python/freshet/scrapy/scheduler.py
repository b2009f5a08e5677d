"""A scheduler without an order of its own: the next page is the one that the server assigns."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from scrapy import Request, Spider
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from freshet.errors import FreshetError
from freshet.http import MOVED_PERMANENTLY, conditional_headers
from freshet.scrapy.bridge import Bridge
from freshet.types import Assignment, Outcome, Page, Result

logger = logging.getLogger(__name__)

META = "freshet"
# Key in the meta of a link: the site whose page names it.
FOUND_AT = "freshet_found_at"
# Key in the meta of a request and its redirects: when it ends, on the monotonic clock.
ENDS = "freshet_ends"
# The spider's own requests that may wait at a time: forms, logins and others that are not pages to crawl again.
_MOST_DIRECT = 10_000


def is_link(request: Request) -> bool:
    """Whether the request is a page to add, if links are; else the crawler makes the request itself."""
    if META in request.meta or request.meta.get("freshet_direct"):
        return False
    return request.method == "GET" and not request.body and request.url.startswith(("http:", "https:"))


class FreshetScheduler(BaseScheduler):
    """For the setting SCHEDULER.

    An assigned page becomes a request to the spider's `parse`, or the request that its method `freshet_request` makes
    of
    the assignment, which is in `meta["freshet"]`. Redirects are fetched at once. Other GETs without a body are links:
    their URLs become pages of the server, and are assigned when due. All other requests, and those with
    `meta["freshet_direct"]`, are fetched at once, unknown to the server.

    The spider never becomes idle; it runs until it is stopped.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._bridge = Bridge.of(crawler)
        self._spider: Spider | None = None
        self._direct: deque[Request] = deque()
        self._follows_links = crawler.settings.getbool("FRESHET_ADD_LINKS", True)
        self._crawl_id: str = crawler.settings.get("FRESHET_CRAWL_ID", "")
        self._ended = False
        self._stopping: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> FreshetScheduler:
        return cls(crawler)

    def open(self, spider: Spider) -> Deferred[None]:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise NotConfigured(
                "freshet.scrapy needs the asyncio reactor: "
                'TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"'
            ) from None
        self._spider = spider
        return Deferred.fromFuture(loop.create_task(self._bridge.open(self._assigned)))

    def close(self, reason: str) -> Deferred[None]:
        """Gives back pages not begun, and returns once all results are acknowledged."""
        self._ended = True
        for request in self._direct:
            assignment = request.meta.get(META)
            if assignment is not None and self._bridge.worker is not None:
                self._bridge.worker.give_back(assignment)
        self._direct.clear()
        return Deferred.fromFuture(asyncio.get_running_loop().create_task(self._bridge.close()))

    def has_pending_requests(self) -> bool:
        return not self._ended

    def enqueue_request(self, request: Request) -> bool:
        if self._follows_links and is_link(request):
            crawl_id = request.meta.get("freshet_crawl_id", self._crawl_id)
            page = Page(request.url, crawl_id=crawl_id, importance=request.meta.get("freshet_importance"))
            return self._bridge.add(page, request.meta.get(FOUND_AT, ""))
        if META not in request.meta and len(self._direct) >= _MOST_DIRECT:
            self._bridge.count("direct_dropped")
            return False
        assignment: Assignment | None = request.meta.get(META)
        if assignment is not None and request.url != assignment.url:
            # The target of a temporary redirect may have moved; the page itself has not.
            statuses = request.meta.get("handle_httpstatus_list", [])
            request.meta["handle_httpstatus_list"] = [s for s in statuses if s not in MOVED_PERMANENTLY]
        self._direct.append(request)
        return True

    def next_request(self) -> Request | None:
        if self._direct:
            return self._direct.popleft()
        assignment = self._next_assignment()
        return None if assignment is None else self._request_of(assignment)

    def _next_assignment(self) -> Assignment | None:
        if self._ended or self._bridge.worker is None:
            return None
        try:
            return self._bridge.worker.try_next()
        except FreshetError as error:
            logger.error("the crawl ends: %s", error)
            self._ended = True
            stop: Any = getattr(self._crawler, "stop_async", self._crawler.stop)
            stopping = stop()
            if asyncio.iscoroutine(stopping):
                self._stopping = asyncio.get_running_loop().create_task(stopping)
            return None

    def _assigned(self) -> None:
        """Tells the engine that pages have come: an engine that gets a request asks for more. Also learns when no
        page will ever come."""
        engine = self._crawler.engine
        if engine is None or self._ended:
            return
        assignment = self._next_assignment()
        if assignment is not None:
            engine.crawl(self._request_of(assignment))

    def _request_of(self, assignment: Assignment) -> Request:
        self._bridge.count("assignments")
        make: Any = getattr(self._spider, "freshet_request", None)
        request: Request = Request(assignment.url) if make is None else make(assignment)
        for name, value in conditional_headers(assignment).items():
            request.headers.setdefault(name, value)
        # The server must learn that a page has moved; it also decides about retries.
        statuses = [*request.meta.get("handle_httpstatus_list", []), *MOVED_PERMANENTLY]
        meta = {META: assignment, "dont_retry": True, "dont_cache": True, "handle_httpstatus_list": statuses}
        meta[ENDS] = self._bridge.end_of(assignment)
        errback = partial(self._failed, assignment, request.errback)
        return request.replace(meta={**request.meta, **meta}, errback=errback, dont_filter=True)

    def _failed(self, assignment: Assignment, errback: Callable[[Failure], Any] | None, failure: Failure) -> Any:
        """Reports failures that no middleware sees: those of other middlewares at an answer that becomes too large
        when decoded, or has too many redirects."""
        request: Request = failure.request  # type: ignore[attr-defined]
        self._bridge.report(request, assignment, Result(outcome=Outcome.ERROR))
        return failure if errback is None else errback(failure)
