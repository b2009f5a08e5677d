"""What the clients of a play were told, and when; what was done to servers meanwhile, so that nothing is held against them that they cannot help."""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field

SLOTS = 4096
STALL = 0.15  # seconds beyond which the play itself was late


@dataclass
class Lease:
    url: str
    host: str
    node: str
    number: int
    received: float
    until: float  # by which the page may be somebody else's
    sent: float | None = None  # when its result was sent first
    answered: float | None = None  # when the result was acknowledged
    fetched: float = 0
    outcome: str = ""  # of its result: applied, perhaps, refused; nothing: none was sent

    def division(self, divisions: int) -> int:
        """Whose it is: the last bits of its number are the slot of its host."""
        return self.number % SLOTS * divisions // SLOTS

    def over(self) -> float:
        """From when another may have the page."""
        return min(self.until, math.inf if self.sent is None else self.sent)


@dataclass
class Call:
    """A change of a setting, which counts from some time in between; one without an answer at any time later, or never."""

    value: object
    begun: float
    ended: float = math.inf


@dataclass
class Signal:
    url: str
    name: str  # its id
    counted: float = math.inf  # when it was acknowledged


@dataclass
class Memory:
    """Threads of one process: appending to a list and setting a key are atomic."""

    pages: set[str] = field(default_factory=set)
    removed: dict[str, float] = field(default_factory=dict)  # when that was acknowledged
    leases: list[Lease] = field(default_factory=list)
    crawled: dict[str, float] = field(default_factory=dict)  # by URL: the latest fetch that was acknowledged
    handed_out: set[tuple[float, str]] = field(default_factory=set)  # when a server says that it did, and what
    settings: dict[str, list[Call]] = field(default_factory=lambda: defaultdict(list))
    slow_hosts: set[str] = field(default_factory=set)  # whose politeness was set
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # of operations
    checked: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # by invariant
    void: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    faults: list[str] = field(default_factory=list)


class Heartbeat:
    """How late the play was: a thread that wants to sleep for moments, and notes how long it did. Thread-safe."""

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
        """By how much what happened then may have been seen too late."""
        return sum(b - a for a, b in self.stalls if b > begin and a < end)


@dataclass
class Span:
    kind: str  # stop, clock, cut, slow, brokers
    nodes: tuple[str, ...]
    begin: float
    end: float = math.inf
    amount: float = 0


class Timeline:
    """What was done to servers, and when. Thread-safe."""

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
        """By how much any server's clock was off by then at most."""
        return max((abs(span.amount) for span in self.within(("clock",), begin, end)), default=0)
