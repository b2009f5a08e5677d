"""What the parts of a crawler share: its worker, its ingester, and facts about hosts. Everything runs in the event
loop of Scrapy's reactor."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import timedelta
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from freshet import aio
from freshet.errors import FreshetError
from freshet.scrapy.links import FoundLinks
from freshet.target import DEFAULT_ADDRESS, Target
from freshet.text import safe_text
from freshet.types import Assignment, Page, Result, is_long

logger = logging.getLogger(__name__)

# Key in a request's meta: its result was reported.
_REPORTED = "freshet_reported"
_SEEN = 100_000
_FOUND = 20_000
_HOSTS = 10_000
_ROBOTS_RETRY = 60.0
# The page's own share of its lease. The rest is for a robots.txt for which the page waits.
_PAGES_SHARE = 0.8
_MOST_PER_UPSERT = 1_000
_FEWEST_PER_UPSERT = 50
# If a turn of links takes more seconds than this, results have to wait too long.
_LONG_TURN = 0.5
_LOOK_AT_RESULTS = 0.05
# Seconds for the remaining links when the crawler closes.
_LAST_LINKS = 30.0
_WORD_EVERY = 60.0


def target_of(settings: BaseSettings) -> Target:
    """The server and the caller's proof, from FRESHET_* settings; without FRESHET_SERVER from the environment."""
    server = settings.get("FRESHET_SERVER")
    if not server:
        return Target.from_environment()
    addresses = server.split(",") if isinstance(server, str) else list(server)
    return Target(
        addresses=tuple(address.strip() for address in addresses) or (DEFAULT_ADDRESS,),
        ca_file=settings.get("FRESHET_TLS_CA"),
        certificate_file=settings.get("FRESHET_TLS_CERTIFICATE"),
        key_file=settings.get("FRESHET_TLS_KEY"),
        token_file=settings.get("FRESHET_TOKEN_FILE"),
    )


class Bridge:
    """The shared state of one crawler. Owner thread only: that of the reactor."""

    _of: WeakKeyDictionary[Crawler, Bridge] = WeakKeyDictionary()

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.worker: aio.Worker | None = None
        self._ingester: aio.Ingester | None = None
        self._seen: OrderedDict[int, None] = OrderedDict()
        self._found = FoundLinks(_FOUND)
        self._sending: asyncio.Task[None] | None = None
        self._turn = _MOST_PER_UPSERT
        self._reported = 0
        self._dropped = 0
        self._next_word = 0.0
        self._delays: OrderedDict[str, timedelta] = OrderedDict()
        self._unreachable: OrderedDict[str, float] = OrderedDict()

    @classmethod
    def of(cls, crawler: Crawler) -> Bridge:
        bridge = cls._of.get(crawler)
        if bridge is None:
            bridge = cls._of[crawler] = Bridge(crawler)
        return bridge

    async def open(self, on_assigned: Callable[[], None]) -> None:
        settings = self._crawler.settings
        target = target_of(settings)
        seconds = settings.getfloat("FRESHET_LEASE_SECONDS")
        self._ingester = aio.Ingester(target)
        self.worker = aio.Worker(
            target,
            name=settings.get("FRESHET_WORKER") or settings["BOT_NAME"],
            capacity=settings.getint("FRESHET_CAPACITY") or settings.getint("CONCURRENT_REQUESTS"),
            lease_duration=timedelta(seconds=seconds) if seconds else None,
            on_assigned=on_assigned,
        )
        await self.worker.__aenter__()

    async def close(self) -> None:
        if self.worker is not None:
            await self.worker.stop()
            unacknowledged = len(self.worker.unacknowledged())
            if unacknowledged:
                logger.warning("%d results were not acknowledged", unacknowledged)
        if self._sending is not None:
            await asyncio.wait({self._sending}, timeout=_LAST_LINKS)
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)

    def report(self, request: Request, assignment: Assignment, result: Result) -> None:
        """Reports a result; only the first one of a request counts."""
        if request.meta.get(_REPORTED):
            return
        request.meta[_REPORTED] = True
        if self.worker is not None and not self.worker.closed:
            self.worker.report_nowait(assignment, result)
            self._reported += 1
            self.count(f"results/{result.outcome.name.lower() if result.outcome else 'undecided'}")

    def end_of(self, assignment: Assignment) -> float:
        """When the requests for a page end, redirects included, on the monotonic clock."""
        return time.monotonic() + (0.0 if self.worker is None else _PAGES_SHARE * self.worker.lease_left(assignment))

    def end_of_robots(self) -> float:
        """When requests for a robots.txt end that begin now."""
        seconds = math.inf if self.worker is None else self.worker.lease_seconds
        return time.monotonic() + (1 - _PAGES_SHARE) * seconds

    def count(self, name: str, number: int = 1) -> None:
        if self._crawler.stats is not None and number > 0:
            self._crawler.stats.inc_value(f"freshet/{name}", number)

    # --- Links -------------------------------------------------------------------------------------------------------

    def add(self, page: Page, site: str = "") -> bool:
        """Adds a page that a page of `site` names, unless that happened recently. Returns False when the site
        already has its share of waiting links, or the URL is too long for the server."""
        if is_long(page.url):
            self.count("links_refused")
            return False
        key = hash((page.crawl_id, page.url))
        if key in self._seen:
            self._seen.move_to_end(key)
            return True
        if not self._found.add(page, site):
            self.drop(site)
            return False
        self._seen[key] = None
        if len(self._seen) > _SEEN:
            self._seen.popitem(last=False)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send())
        return True

    def drop(self, found_at: str) -> None:
        """Counts a dropped link, beyond the limit of a page or a site, and logs that now and then."""
        self.count("links_dropped")
        self._dropped += 1
        now = time.monotonic()
        if now >= self._next_word:
            self._next_word = now + _WORD_EVERY
            last = safe_text(found_at) or "the start"
            logger.warning("%d links were dropped so far, the last one of %s", self._dropped, last)

    async def _send(self) -> None:
        """Sends links in turns, each after the results that are waiting: the server limits a client's rate of links
        and results together."""
        assert self._ingester is not None
        batch: list[Page] = []
        try:
            while self._found:
                begun = time.monotonic()
                await self._await_results()
                batch = self._found.take(self._turn)
                await self._upsert(self._ingester, batch)
                batch = []
                slow = time.monotonic() - begun > _LONG_TURN
                self._turn = max(_FEWEST_PER_UPSERT, self._turn // 2) if slow else min(_MOST_PER_UPSERT, self._turn * 2)
        except asyncio.CancelledError:
            logger.warning("%d links were not added", len(batch) + len(self._found))
            raise

    async def _await_results(self) -> None:
        if self.worker is None:
            return
        reported = self._reported
        while self.worker.statistics.results.items < reported and not self.worker.closed:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_AT_RESULTS)

    async def _upsert(self, ingester: aio.Ingester, batch: list[Page]) -> None:
        try:
            summary = await ingester.upsert(batch)
        except FreshetError as error:
            logger.error("%d links were not added: %s", len(batch), error)
            self.count("links_dropped", len(batch))
            return
        for refusal in summary.refusals:
            logger.info("link %s was refused: %s", safe_text(refusal.item), safe_text(refusal.reason))
        self.count("links_refused", summary.refused)
        self.count("links_added", summary.applied)

    # --- Hosts -------------------------------------------------------------------------------------------------------

    def set_crawl_delay(self, origin: str, delay: timedelta) -> None:
        self._delays[origin] = delay
        self._delays.move_to_end(origin)
        if len(self._delays) > _HOSTS:
            self._delays.popitem(last=False)

    def crawl_delay(self, origin: str) -> timedelta | None:
        return self._delays.get(origin)

    def set_unreachable(self, host: str) -> None:
        """Notes that the robots.txt of a host cannot be read: nothing of the host may be fetched for now."""
        self._unreachable[host] = time.monotonic() + _ROBOTS_RETRY
        self._unreachable.move_to_end(host)
        if len(self._unreachable) > _HOSTS:
            self._unreachable.popitem(last=False)

    def is_unreachable(self, host: str) -> bool:
        return host in self._unreachable

    def was_unreachable(self, host: str) -> bool:
        """Whether that was so long ago that it is time for another attempt."""
        return self._unreachable.get(host, math.inf) <= time.monotonic()

    def forget_unreachable(self, host: str) -> None:
        self._unreachable.pop(host, None)
