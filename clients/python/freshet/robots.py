"""Which robots.txt a crawler keeps: a site may have a long one for each of its names, and as many names as it likes."""

from __future__ import annotations

from urllib.parse import urlsplit

MOST_BYTES = 256 << 20


def origin_of(url: str) -> str:
    """The scheme, host and port of a URL, whatever name and password it has."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}"


def bytes_of(text: str) -> int:
    """About as much memory as the rules of a text take at most once Protego has read them: with wildcards they take up
    to ninety times as much as the text."""
    return 1024 + 32 * len(text) + 900 * (text.count("*") + text.count("$"))


class KeptRobots:
    """Counts the rules that are kept, by origin, and says which to forget so that all together take at most `most`
    bytes: those that are too old, and then the largest, so that a site with long ones has its own forgotten. Owner
    thread only."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._bytes = 0
        self._kept: dict[str, tuple[int, float]] = {}  # bytes, and until when, the oldest first

    def keep(self, origin: str, size: int, until: float, now: float) -> list[str]:
        """Rules are there now. Returns what is to be forgotten, maybe these as well."""
        self.forget(origin)
        self._kept[origin] = (size, until)
        self._bytes += size
        forgotten = []
        if self._bytes > self._most:
            forgotten = [other for other, (_, its_until) in self._kept.items() if its_until <= now]
            for other in forgotten:
                self.forget(other)
        while self._bytes > self._most:
            forgotten.append(max(self._kept, key=lambda other: self._kept[other][0]))
            self.forget(forgotten[-1])
        return forgotten

    def until(self, origin: str) -> float:
        """Zero: there are none."""
        return self._kept.get(origin, (0, 0.0))[1]

    def forget(self, origin: str) -> None:
        size, _ = self._kept.pop(origin, (0, 0.0))
        self._bytes -= size
