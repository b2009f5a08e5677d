"""Reports the results of assigned pages to the server, and marks the links of each page."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import load_object

from freshet.http import MOVED_PERMANENTLY, NOT_MODIFIED, result_of
from freshet.robots import origin_of
from freshet.scrapy.bridge import Bridge
from freshet.scrapy.links import site_of
from freshet.scrapy.scheduler import ENDS, FOUND_AT, META, is_link
from freshet.types import Assignment, Outcome, Result

logger = logging.getLogger(__name__)

Digest = Callable[[Response], bytes]

# Key in the meta of a request for robots.txt: the host to which the text applies, even after redirects.
ROBOTS_OF = "freshet_robots_of"
NOTHING_ALLOWED = b"User-agent: *\nDisallow: /\n"


class FreshetMiddleware:
    """A downloader middleware, outside of all others. Spiders see the same answers as without it, except those without
    content: unchanged pages, and permanent redirects.

    A page and its redirects end with the page's lease: the server then considers the host free, and a slow site would
    otherwise occupy one more place with each lease.

    FRESHET_DIGEST names a function of a response that returns the digest of the part that matters; unset, the digest is
    that of the whole body.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._bridge = Bridge.of(crawler)
        self._timeout = crawler.settings.getfloat("DOWNLOAD_TIMEOUT")
        name = crawler.settings.get("FRESHET_DIGEST")
        self._digest: Digest | None = load_object(name) if name else None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> FreshetMiddleware:
        return cls(crawler)

    def process_request(self, request: Request, **_: Any) -> Response | None:
        url = urlparse_cached(request)
        if request.callback is NO_CALLBACK and request.meta.get("dont_obey_robotstxt") and url.path == "/robots.txt":
            request.meta.setdefault(ROBOTS_OF, url.netloc)
            # It may be outside of the spider's domains, and applies nevertheless.
            request.meta["allow_offsite"] = True
            request.meta.setdefault(ENDS, self._bridge.end_of_robots())
        ends: float | None = request.meta.get(ENDS)
        if ends is None:
            return None
        left = ends - time.monotonic()
        if left > 0:
            timeout = request.meta.get("download_timeout") or getattr(
                self._crawler.spider, "download_timeout", self._timeout
            )
            request.meta["download_timeout"] = min(timeout or left, left)
            return None
        if ROBOTS_OF in request.meta:
            return Response(request.url, status=599)
        raise IgnoreRequest("the lease of the page is over")

    def process_response(self, request: Request, response: Response, **_: Any) -> Response:
        if ROBOTS_OF in request.meta:
            return self._robots(request.meta[ROBOTS_OF], response)
        assignment: Assignment | None = request.meta.get(META)
        if assignment is None:
            return response
        self._bridge.report(request, assignment, self._result(assignment, request, response))
        if response.status == NOT_MODIFIED or response.status in MOVED_PERMANENTLY:
            raise IgnoreRequest(f"{response.status}: reported to Freshet")
        return response

    def process_exception(self, request: Request, exception: Exception, **_: Any) -> Response | None:
        if ROBOTS_OF in request.meta and not isinstance(exception, IgnoreRequest):
            return self._robots(request.meta[ROBOTS_OF], Response(request.url, status=599))
        assignment: Assignment | None = request.meta.get(META)
        if assignment is None:
            return None
        outcome = Outcome.ERROR
        if isinstance(exception, IgnoreRequest) and "robots.txt" in str(exception):
            # An unreadable robots.txt forbids a page only for now, unlike a site's own rule.
            unreachable = self._bridge.is_unreachable(urlparse_cached(request).netloc)
            outcome = Outcome.ERROR if unreachable else Outcome.ROBOTS_DENIED
        crawl_delay = self._bridge.crawl_delay(origin_of(assignment.url))
        self._bridge.report(request, assignment, Result(outcome=outcome, crawl_delay=crawl_delay))
        return None

    def _robots(self, host: str, response: Response) -> Response:
        """Turns the status of a robots.txt into a text (RFC 9309, section 2.3.1), since Scrapy's parsers see no
        status."""
        if 200 <= response.status < 300:
            return response
        if response.status < 500:
            return response.replace(body=b"")
        self._bridge.set_unreachable(host)
        return response.replace(body=NOTHING_ALLOWED)

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


class FreshetLinksMiddleware(BaseSpiderMiddleware):
    """A spider middleware, next to the engine: marks links with the site that names them, and drops links of a page
    beyond FRESHET_LINKS_PER_PAGE."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._bridge = Bridge.of(crawler)
        self._follows_links = crawler.settings.getbool("FRESHET_ADD_LINKS", True)
        self._most = crawler.settings.getint("FRESHET_LINKS_PER_PAGE", 1_000)
        self._links_of: WeakKeyDictionary[Response, int] = WeakKeyDictionary()

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        if response is None or not self._follows_links or not is_link(request):
            return request
        links = self._links_of[response] = self._links_of.get(response, 0) + 1
        if links > self._most:
            self._bridge.drop(response.url)
            return None
        request.meta[FOUND_AT] = site_of(response.url)
        return request
