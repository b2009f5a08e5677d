"""A client of the crawl-frontier API of a cluster, which checks the promises of its answers."""

from __future__ import annotations

import collections
import math
import random
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import grpc

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

    from memory import Timeline
    from nodes import Node

QUEUES = 30
LEASE = 6  # seconds; the server counts whole ones
REFETCH = 4  # seconds until a URL that is not completed is due again
# A crawl id whose URLs are given out by value, whatever their dates.
SCHEDULED = "scheduled"
SCHEDULED_QUEUES = 8
LEFT_OPEN = 0.02  # part of the URLs that get no answer


@dataclass
class GivenOut:
    url: str
    node: str
    asked: float  # begin of the call, before which no server gave it out
    received: float


@dataclass
class Answer:
    """The result of a fetch, which counts at some time from `sent` to `taken`."""

    date: int
    sent: float
    taken: float = math.inf  # time of the acknowledgement


@dataclass
class FrontierMemory:
    """What the crawler was told. Thread-safe within a process: appending to a list and setting a key are atomic."""

    urls: set[str] = field(default_factory=set)  # acknowledged ones
    given_out: list[GivenOut] = field(default_factory=list)
    answers: dict[str, list[Answer]] = field(default_factory=lambda: collections.defaultdict(list))
    faults: list[str] = field(default_factory=list)
    early: list[tuple[GivenOut, int]] = field(default_factory=list)  # given out before this date

    def by_value(self) -> int:
        """Number of URLs given out by value."""
        return sum(crawl_of(given.url) == SCHEDULED for given in self.given_out)

    def date(self, url: str, at: float) -> int | None:
        """The certain date of the URL at time `at`; None = unknown."""
        answers = self.answers.get(url, [])
        taken = [answer for answer in answers if answer.taken < at]
        if not taken:
            return None
        last = max(taken, key=lambda answer: answer.taken)
        # An answer without a lease overwrites others, however late it comes.
        sure = all(answer is last or answer.taken < last.sent for answer in answers)
        return last.date if sure or is_completed(url) else None


def crawl_of(url: str) -> str:
    return SCHEDULED if url.startswith("http://scheduled") else "DEFAULT"


def is_completed(url: str) -> bool:
    """Whether the URL is completed by its first fetch. Other URLs are fetched again and again."""
    return url.endswith(("0", "1", "2"))


class FrontierCrawler:
    """Puts URLs, takes due ones from any node, and reports them."""

    def __init__(
        self, nodes: list[Node], stubs: tuple[ModuleType, ModuleType], memory: FrontierMemory | None = None
    ) -> None:
        """`memory`: what another crawler was told; these nodes must have all of it. None = nothing."""
        self._nodes = nodes
        self._messages: Any = stubs[0]
        options = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 200)]
        self._stubs = [stubs[1].URLFrontierStub(grpc.insecure_channel(node.address, options)) for node in nodes]
        self.memory = memory or FrontierMemory()

    def threads(self, stop: threading.Event) -> list[threading.Thread]:
        works = [threading.Thread(target=self._work, args=(i, stop)) for i in range(len(self._nodes))]
        return [threading.Thread(target=self._discover, args=(stop,)), *works]

    def _put(self, items: list[Any]) -> list[str]:
        """Puts items at the first node that answers; returns the IDs of accepted ones."""
        for stub in self._stubs:
            try:
                acks = list(stub.PutURLs(iter(items), timeout=5))
            except grpc.RpcError:
                continue
            taken = {self._messages.AckMessage.OK, self._messages.AckMessage.SKIPPED}
            return [ack.ID for ack in acks if ack.status in taken]
        return []

    def _discover(self, stop: threading.Event) -> None:
        number = 0
        while not stop.wait(0.2):
            items = []
            for _ in range(10):
                url = f"http://queue{number % QUEUES}.test/{number}"
                if number % 4 == 0:
                    url = f"http://scheduled{number // 4 % SCHEDULED_QUEUES}.test/{number}"
                item = self._messages.URLItem(ID=url)
                item.discovered.info.url = url
                item.discovered.info.crawlID = crawl_of(url)
                items.append(item)
                number += 1
            self.memory.urls.update(self._put(items))

    def _work(self, i: int, stop: threading.Event) -> None:
        dice = random.Random(i)
        open_until: list[tuple[float, GivenOut]] = []
        while not stop.wait(0.1):
            asked = time.time()
            params = self._messages.GetParams(max_urls_per_queue=2, max_queues=8, delay_requestable=LEASE)
            if dice.random() < 0.5:
                params.crawlID = SCHEDULED
            urls: list[str] = []
            try:
                urls.extend(info.url for info in self._stubs[i].GetURLs(params, timeout=5))
            except grpc.RpcError:
                stop.wait(0.2)
            given = [GivenOut(url, self._nodes[i].name, asked, time.time()) for url in urls]
            self._note(given)
            # Some fetches take longer than their leases.
            open_until += [(time.time() + dice.choice([0, 0, 2, LEASE + 1]), each) for each in given]
            done = [each for until, each in open_until if until < time.time()]
            open_until = [(until, each) for until, each in open_until if until >= time.time()]
            self._answer([each for each in done if dice.random() >= LEFT_OPEN])

    def _note(self, given: list[GivenOut]) -> None:
        for each in given:
            date = self.memory.date(each.url, each.asked)
            if date == 0:
                self.memory.faults.append(f"{each.url}: given out by {each.node}, and is due at no time")
            elif date is not None and each.received < date and crawl_of(each.url) != SCHEDULED:
                self.memory.early.append((each, date))
        self.memory.given_out += given

    def _answer(self, given: list[GivenOut]) -> None:
        if not given:
            return
        items = []
        answers = {}
        for each in given:
            date = 0 if is_completed(each.url) else int(time.time()) + REFETCH
            item = self._messages.URLItem(ID=each.url)
            item.known.info.url = each.url
            item.known.info.crawlID = crawl_of(each.url)
            item.known.refetchable_from_date = date
            items.append(item)
            answers[each.url] = Answer(date, time.time())
            self.memory.answers[each.url].append(answers[each.url])
        for url in self._put(items):
            answers[url].taken = time.time()

    # --- Afterwards

    def check(self, timeline: Timeline) -> list[str]:
        faults = list(self.memory.faults)
        for each, date in self.memory.early:
            # Dates follow the server's clock, which may be ahead.
            if (early := date - timeline.clock(each.asked, each.received) - each.received) > 0:
                faults.append(f"{each.url}: given out by {each.node} {early:.3f} s before it was due")
        latest: dict[str, GivenOut] = {}
        for each in sorted(self.memory.given_out, key=lambda given: given.received):
            before = latest.get(each.url)
            # A server whose clock is ahead counts from a later time than the next server.
            clock = timeline.clock(each.received - LEASE, each.received)
            if before is not None and each.received < self._over(before) - clock:
                early = self._over(before) - each.received
                at = each.received - self.memory.given_out[0].received
                faults.append(
                    f"{each.url}: given out by {each.node} after {at:.3f} s, {early:.3f} s before that by "
                    f"{before.node} was over"
                )
            latest[each.url] = each
        if not any(answer.taken < math.inf for answers in self.memory.answers.values() for answer in answers):
            faults.append("the crawl frontier acknowledged no fetch")
        if self.memory.by_value() == 0:
            faults.append("the crawl frontier gave out nothing by its value")
        return faults + self.check_contents()

    def _over(self, given: GivenOut) -> float:
        """Time until which nobody else may have the URL. The server counts from the second of its answer."""
        answers = self.memory.answers.get(given.url, [])
        ends = [answer.sent for answer in answers if answer.taken > given.asked]
        return min([given.asked + LEASE - 1, *ends])

    def check_contents(self) -> list[str]:
        """Checks that all acknowledged URLs are there, at whichever node answers."""
        listed = self._list()
        faults = [f"{url}: was acknowledged by the crawl frontier and is lost" for url in self.memory.urls - listed.keys()]
        for url, answers in self.memory.answers.items():
            date = self.memory.date(url, math.inf)
            if url not in listed:
                if any(answer.taken < math.inf for answer in answers):
                    faults.append(f"{url}: a fetch was acknowledged by the crawl frontier and is lost")
            elif date is not None and listed[url] != date:
                faults.append(f"{url}: was to be fetched at {date}, and it is {listed[url]}")
        return faults

    def _list(self) -> dict[str, int]:
        said = ""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            for node, stub in zip(self._nodes, self._stubs, strict=True):
                dates: dict[str, int] = {}
                try:
                    for crawl in ("DEFAULT", SCHEDULED):
                        params = self._messages.ListUrlParams(start=0, size=1_000_000, crawlID=crawl)
                        dates.update(self._dates(stub.ListURLs(params, timeout=30)))
                    return dates
                except grpc.RpcError as error:
                    said = f"{node.name}: {error.code()}: {error.details()}"
            time.sleep(0.1)
        message = f"no node lists the crawl frontier: {said}"
        raise ConnectionError(message)

    @staticmethod
    def _dates(items: Iterable[Any]) -> Iterable[tuple[str, int]]:
        for item in items:
            yield item.known.info.url, item.known.refetchable_from_date
