"""The fetch worker for programs with threads; see freshet.aio.Worker."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from types import TracebackType

from freshet import aio
from freshet._acks import Refusal
from freshet._loop import background_loop
from freshet._session import WorkerStatistics
from freshet.backoff import Backoff
from freshet.errors import Stopped
from freshet.target import Target
from freshet.types import Assignment, Outcome, Result
from freshet.v1 import types_pb2

logger = logging.getLogger("freshet")


class Worker:
    """A fetch worker, used as `with Worker(...) as worker`.

        with Worker("127.0.0.1:7071", name="fetcher-1", capacity=32) as worker:
            for assignment in worker:
                worker.report(assignment, fetch(assignment))

    or `worker.run(fetch, threads=32)`. Parameters and promises are those of freshet.aio.Worker; a thread of the client
    calls callbacks. Thread-safe: any number of threads may take pages and report.
    """

    def __init__(
        self,
        target: Target | str | Sequence[str] | None = None,
        *,
        name: str,
        capacity: int = 16,
        lease_duration: timedelta | None = None,
        crawl_ids: Sequence[str] = (),
        max_unacknowledged: int = 10_000,
        backoff: Backoff | None = None,
        connect_timeout: float = 5.0,
        stop_timeout: float = 30.0,
        on_refused: Callable[[Refusal], None] | None = None,
        seed: int | None = None,
    ) -> None:
        self._loop = background_loop()
        self._worker = aio.Worker(
            target,
            name=name,
            capacity=capacity,
            lease_duration=lease_duration,
            crawl_ids=crawl_ids,
            max_unacknowledged=max_unacknowledged,
            backoff=backoff,
            connect_timeout=connect_timeout,
            stop_timeout=stop_timeout,
            on_refused=on_refused,
            seed=seed,
        )

    def __enter__(self) -> Worker:
        self._loop.run(self._worker.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(self._worker.__aexit__(kind, error, trace))

    def __iter__(self) -> Iterator[Assignment]:
        while (assignment := self.next()) is not None:
            yield assignment

    def next(self, timeout: float | None = None) -> Assignment | None:
        """The next page to fetch; None once the worker stops. Raises TimeoutError when none came in time."""

        async def next_one() -> Assignment | None:
            try:
                return await asyncio.wait_for(self._worker.next(), timeout)
            except asyncio.TimeoutError:
                raise TimeoutError(f"no page became due within {timeout:g} s") from None

        return self._loop.run(next_one())

    def report(self, assignment: Assignment, result: Result) -> None:
        """Keeps the result until it is acknowledged; waits while `max_unacknowledged` others are kept."""
        self._loop.run(self._worker.report(assignment, result))

    def give_back(self, assignment: Assignment) -> None:
        """Returns a page that will not be fetched to the schedule, unchanged."""
        self._loop.loop.call_soon_threadsafe(self._worker.give_back, assignment)

    def flush(self) -> None:
        """Returns once everything reported and given back so far is acknowledged."""
        self._loop.run(self._worker.flush())

    def stop(self, timeout: float | None = None) -> None:
        """Does what freshet.aio.Worker.stop does; any thread may call it, even while others wait for a page."""
        self._loop.run(self._worker.stop(timeout))

    def run(self, handler: Callable[[Assignment], Result], *, threads: int = 16) -> None:
        """Calls `handler` on `threads` threads, for one assignment each, and reports its results. Returns once the
        worker has stopped, or raises the error that ended it. An exception of a handler is reported as an error."""
        problems: list[BaseException] = []

        def serve() -> None:
            try:
                for assignment in self:
                    self.report(assignment, self._handled(handler, assignment))
            except Stopped:
                pass  # the page was given back: the handler took longer than the stop
            except BaseException as problem:
                problems.append(problem)

        crew = [threading.Thread(target=serve, daemon=True) for _ in range(threads)]
        for member in crew:
            member.start()
        for member in crew:
            member.join()
        if problems:
            raise problems[0]

    def unacknowledged(self) -> list[types_pb2.CrawlResult]:
        """Results that the server has not acknowledged yet, in the order of their reports."""

        async def read() -> list[types_pb2.CrawlResult]:
            return self._worker.unacknowledged()

        return self._loop.run(read())

    @property
    def statistics(self) -> WorkerStatistics:
        return self._worker.statistics

    @property
    def stopping(self) -> bool:
        return self._worker.stopping

    def _handled(self, handler: Callable[[Assignment], Result], assignment: Assignment) -> Result:
        try:
            return handler(assignment)
        except Exception:
            logger.exception("the handler failed for %s", assignment.url)
            return Result(outcome=Outcome.ERROR)
