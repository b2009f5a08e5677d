"""Sends a program's knowledge, for programs without asyncio; see freshet.aio.Ingester."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType

from freshet import aio
from freshet._acks import Summary
from freshet._loop import background_loop
from freshet.backoff import Backoff
from freshet.target import Target
from freshet.types import Page, Result, Signal


class Ingester:
    """Parameters and promises are those of freshet.aio.Ingester. A thread of the client reads iterables, so a slow
    one delays other blocking objects of the process. Thread-safe."""

    def __init__(
        self,
        target: Target | str | Sequence[str] | None = None,
        *,
        patience: float = 60.0,
        backoff: Backoff | None = None,
        connect_timeout: float = 5.0,
        seed: int | None = None,
    ) -> None:
        self._loop = background_loop()
        self._ingester = aio.Ingester(
            target, patience=patience, backoff=backoff, connect_timeout=connect_timeout, seed=seed
        )

    def __enter__(self) -> Ingester:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def upsert(self, pages: Iterable[Page | str], *, reset_unset_settings: bool = False) -> Summary:
        """Adds pages or changes their settings; a string is a page without settings."""
        return self._loop.run(self._ingester.upsert(pages, reset_unset_settings=reset_unset_settings))

    def report(self, results: Iterable[Result]) -> Summary:
        """Reports crawls, with leases from Next or without any; each result names its page by url or lease_id."""
        return self._loop.run(self._ingester.report(results))

    def signal(self, source: str, signals: Iterable[Signal | str], *, poll_size: int | None = None) -> Summary:
        """Reports the changes that one poll of a source has found; a string is a URL."""
        return self._loop.run(self._ingester.signal(source, signals, poll_size=poll_size))

    def remove(self, urls: Iterable[str], *, crawl_id: str = "") -> Summary:
        """Forgets pages with everything learned about them."""
        return self._loop.run(self._ingester.remove(urls, crawl_id=crawl_id))

    def recheck(self, urls: Iterable[str], *, crawl_id: str = "") -> Summary:
        """Makes pages due now, before those due by value."""
        return self._loop.run(self._ingester.recheck(urls, crawl_id=crawl_id))
