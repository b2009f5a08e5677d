"""Bounds what a crawler reads of a robots.txt, and keeps: a site may have a long one for each of any number of
names."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from typing import NamedTuple
from urllib.parse import urlsplit

MOST_BYTES = 256 << 20
# Each wildcard of an agent is compared with each URL.
MOST_WILDCARDS = 1_000
# The parser stores a rule once for each agent of its group: at most this many copies beyond the first.
MOST_SHARED = 50_000
_BYTES_PER_SHARED = 180
# The lines that Protego reads, with common misspellings and without a colon.
_LINE = re.compile(r"\s*(user[ -]?agent|allow|diss?all?[ao]w|diasllow|crawl[ -]delay)(?:\s*:|\s)([^#]*)", re.IGNORECASE)


class Rules(NamedTuple):
    """Text for the parser, and about the most memory that it then takes."""

    text: str
    size: int


def origin_of(url: str) -> str:
    """The scheme, host and port of a URL, without name and password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}"


def bounded(text: str) -> Rules:
    """The agents, rules and delays of a robots.txt, without parts that would cost a crawler seconds for each URL, or
    gigabytes: wildcards of an agent after the first thousand, and rules of very many agents at once."""
    kept: list[str] = []
    known: set[str] = set()
    group: set[str] = set()
    has_rules = False
    wildcards: Counter[str] = Counter()  # by agent
    shared = 0
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        field, value = match[1].lower(), match[2].strip()
        names_agent = field.startswith("user")
        if names_agent and has_rules:
            group = set()
        has_rules = not names_agent
        if names_agent:
            # Names have no wildcards, except the name of all agents.
            value = value.lower().replace("*", "") or value[:1]
            # Protego searches the group for an agent that it already knows.
            others = len(group) if value in known else 0
        else:
            others = max(0, len(group) - 1)
        # An empty line of a group ends it like others.
        if shared + others > MOST_SHARED:
            value = ""
        else:
            shared += others
        if names_agent and value:
            known.add(value)
            group.add(value)
        elif not names_agent and ("*" in value or "$" in value):
            if any(wildcards[name] >= MOST_WILDCARDS for name in group):
                value = ""
            else:
                wildcards.update(group)
        kept.append(f"{field}: {value}\n")
    rules = "".join(kept)
    return Rules(rules, bytes_of(rules) + _BYTES_PER_SHARED * shared)


def bytes_of(text: str) -> int:
    """About the most memory of a text's rules once Protego has parsed them, for one agent each: with wildcards up to
    ninety times the size of the text."""
    return 1024 + 32 * len(text) + 900 * (text.count("*") + text.count("$"))


class KeptRobots:
    """Counts kept rules by origin, and decides which to forget so that together they take at most `most` bytes:
    those that are too old, then the largest, so that a site with long ones loses its own. Owner thread only."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._bytes = 0
        self._kept: dict[str, tuple[int, float]] = {}  # bytes, and until when
        # By age and by size; entries that differ from _kept are outdated.
        self._by_end: list[tuple[float, str, int]] = []
        self._by_size: list[tuple[int, str, float]] = []

    def keep(self, origin: str, size: int, until: float, now: float) -> list[str]:
        """Adds rules. Returns the origins to forget, perhaps this one too."""
        self.forget(origin)
        self._kept[origin] = (size, until)
        self._bytes += size
        heapq.heappush(self._by_end, (until, origin, size))
        heapq.heappush(self._by_size, (-size, origin, until))
        forgotten = []
        while self._bytes > self._most and self._by_end and self._by_end[0][0] <= now:
            its_until, other, its_size = heapq.heappop(self._by_end)
            if self._kept.get(other) == (its_size, its_until):
                forgotten.append(other)
                self.forget(other)
        while self._bytes > self._most:
            negative, other, its_until = heapq.heappop(self._by_size)
            if self._kept.get(other) == (-negative, its_until):
                forgotten.append(other)
                self.forget(other)
        if len(self._by_end) + len(self._by_size) > 4 * len(self._kept) + 100:
            self._by_end = [(its_until, other, its_size) for other, (its_size, its_until) in self._kept.items()]
            self._by_size = [(-its_size, other, its_until) for other, (its_size, its_until) in self._kept.items()]
            heapq.heapify(self._by_end)
            heapq.heapify(self._by_size)
        return forgotten

    def until(self, origin: str) -> float:
        """When the rules of an origin expire; 0 = it has none."""
        return self._kept.get(origin, (0, 0.0))[1]

    def forget(self, origin: str) -> None:
        size, _ = self._kept.pop(origin, (0, 0.0))
        self._bytes -= size
