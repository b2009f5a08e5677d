"""What clients of a play were told, when, and which faults there were, so that no server is blamed for these."""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field

SLOTS = 4096
STALL = 0.15  # seconds; a longer sleep means that the play itself was late


@dataclass
class Lease:
    url: str
    host: str
    node: str
    number: int
    received: float
    until: float  # afterwards another worker may have the page
    sent: float | None = None  # when the result was first sent
    answered: float | None = None  # when the result was acknowledged
    fetched: float = 0
    outcome: str = ""  # of the result: applied, perhaps, refused; "" = none sent

    def division(self, divisions: int) -> int:
        """The division of the lease: the last bits of its number are the slot of its host."""
        return self.number % SLOTS * divisions // SLOTS

    def over(self) -> float:
        """The time from which another worker may have the page."""
        return min(self.until, math.inf if self.sent is None else self.sent)


@dataclass
class Call:
    """A change of a setting. It counts at some time between both; without an answer, at any later time or never."""

    value: object
    begun: float
    ended: float = math.inf


@dataclass
class Signal:
    url: str
    name: str  # signal id
    counted: float = math.inf  # time of the acknowledgement


@dataclass
class Memory:
    """What clients were told. Thread-safe within a process: appending to a list and setting a key are atomic."""

    pages: set[str] = field(default_factory=set)
    removed: dict[str, float] = field(default_factory=dict)  # time of the acknowledgement
    leases: list[Lease] = field(default_factory=list)
    crawled: dict[str, float] = field(default_factory=dict)  # latest acknowledged fetch, by URL
    handed_out: set[tuple[float, str]] = field(default_factory=set)  # time and URL, according to servers
    settings: dict[str, list[Call]] = field(default_factory=lambda: defaultdict(list))
    slow_hosts: set[str] = field(default_factory=set)  # hosts with their own politeness
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # number of operations
    checked: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # number of checks, by invariant
    void: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    faults: list[str] = field(default_factory=list)


class Heartbeat:
    """Measures delays of the play itself: a thread sleeps for moments and records longer sleeps. Thread-safe."""

    def __init__(self) -> None:
        self.stalls: list[tuple[float, float]] = []
        threading.Thread(target=self._beat, daemon=True).start()

    def _beat(self) -> None:
        while True:
            before = time.time()
            time.sleep(0.02)
            after = time.time()
            if after - before > STALL:
                self.stalls.append((before, after))

    def late(self, begin: float, end: float) -> float:
        """How late events in this time may have been seen, in seconds."""
        return sum(b - a for a, b in self.stalls if b > begin and a < end)


@dataclass
class Span:
    kind: str  # stop, clock, cut, slow, brokers
    nodes: tuple[str, ...]
    begin: float
    end: float = math.inf
    amount: float = 0


class Timeline:
    """The faults of a play and their times. Thread-safe."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def begin(self, kind: str, *nodes: str, amount: float = 0) -> Span:
        span = Span(kind, nodes, time.time(), amount=amount)
        self.spans.append(span)
        return span

    def within(self, kinds: tuple[str, ...], begin: float, end: float, node: str | None = None) -> list[Span]:
        return [
            span
            for span in self.spans
            if span.kind in kinds and span.begin < end and span.end > begin and (node is None or node in span.nodes)
        ]

    def clock(self, begin: float, end: float) -> float:
        """The largest error of any server's clock in this time, in seconds."""
        return max((abs(span.amount) for span in self.within(("clock",), begin, end)), default=0)
