"""What the parts of a crawler share: its worker, its ingester, and what is known of hosts. Everything runs in the event
loop of Scrapy's reactor."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from datetime import timedelta
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from freshet import aio
from freshet.errors import FreshetError
from freshet.target import DEFAULT_ADDRESS, Target
from freshet.types import Assignment, Page, Result, is_long

logger = logging.getLogger(__name__)

# In the meta of a request whose result is reported.
_REPORTED = "freshet_reported"
_SEEN = 100_000
_FOUND = 20_000
_HOSTS = 10_000
_ROBOTS_RETRY = 60.0
_ITEMS_PER_UPSERT = 1_000


def target_of(settings: BaseSettings) -> Target:
    """The server and the proof of who calls, as FRESHET_* settings; without FRESHET_SERVER the environment's."""
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
    """One for each crawler. Owner thread only: that of the reactor."""

    _of: WeakKeyDictionary[Crawler, Bridge] = WeakKeyDictionary()

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.worker: aio.Worker | None = None
        self._ingester: aio.Ingester | None = None
        self._seen: OrderedDict[int, None] = OrderedDict()
        self._found: deque[Page] = deque()
        self._sending: asyncio.Task[None] | None = None
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
            await self._sending

    def report(self, request: Request, assignment: Assignment, result: Result) -> None:
        """The first result of a request counts."""
        if request.meta.get(_REPORTED):
            return
        request.meta[_REPORTED] = True
        if self.worker is not None and not self.worker.closed:
            self.worker.report_nowait(assignment, result)
            self.count(f"results/{result.outcome.name.lower() if result.outcome else 'undecided'}")

    def count(self, name: str) -> None:
        if self._crawler.stats is not None:
            self._crawler.stats.inc_value(f"freshet/{name}")

    # --- Links -------------------------------------------------------------------------------------------------------

    def add(self, page: Page) -> bool:
        """Has a page added, unless that was done not long ago; False when too many wait for the server already, or when
        the URL is too long for it."""
        if is_long(page.url):
            self.count("links_refused")
            return False
        key = hash((page.crawl_id, page.url))
        if key in self._seen:
            self._seen.move_to_end(key)
            return True
        if len(self._found) >= _FOUND:
            self.count("links_dropped")
            return False
        self._seen[key] = None
        if len(self._seen) > _SEEN:
            self._seen.popitem(last=False)
        self._found.append(page)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send())
        return True

    async def _send(self) -> None:
        assert self._ingester is not None
        while self._found:
            batch = [self._found.popleft() for _ in range(min(len(self._found), _ITEMS_PER_UPSERT))]
            try:
                summary = await self._ingester.upsert(batch)
            except FreshetError as error:
                logger.error("%d links were not added: %s", len(batch), error)
                self.count("links_dropped")
                continue
            for refusal in summary.refusals:
                logger.info("link %s was refused: %s", refusal.item, refusal.reason)
            for _ in range(summary.refused):
                self.count("links_refused")
            for _ in range(summary.applied):
                self.count("links_added")

    # --- Hosts -------------------------------------------------------------------------------------------------------

    def set_crawl_delay(self, origin: str, delay: timedelta) -> None:
        self._delays[origin] = delay
        self._delays.move_to_end(origin)
        if len(self._delays) > _HOSTS:
            self._delays.popitem(last=False)

    def crawl_delay(self, origin: str) -> timedelta | None:
        return self._delays.get(origin)

    def set_unreachable(self, host: str) -> None:
        """The robots.txt of a host cannot be read: nothing of it may be fetched for now."""
        self._unreachable[host] = time.monotonic() + _ROBOTS_RETRY
        self._unreachable.move_to_end(host)
        if len(self._unreachable) > _HOSTS:
            self._unreachable.popitem(last=False)

    def is_unreachable(self, host: str) -> bool:
        return host in self._unreachable

    def was_unreachable(self, host: str) -> bool:
        """Whether it is so long ago that one should try again."""
        return self._unreachable.get(host, math.inf) <= time.monotonic()

    def forget_unreachable(self, host: str) -> None:
        self._unreachable.pop(host, None)
