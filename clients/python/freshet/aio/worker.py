"""A fetch worker: receives assignments on a stream, reports results, and survives the end of streams and servers."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any

import grpc
import grpc.aio

from freshet._acks import Refusal
from freshet._session import Session, WorkerStatistics
from freshet.aio._bell import Bell
from freshet.aio._connections import Connections, failure, is_transient
from freshet.backoff import Backoff
from freshet.errors import CallFailed, FreshetError, Stopped
from freshet.target import Target
from freshet.types import Assignment, Outcome, Result
from freshet.v1 import scheduler_pb2, types_pb2
from freshet.v1.scheduler_pb2_grpc import SchedulerServiceStub

logger = logging.getLogger("freshet")

Handler = Callable[[Assignment], Awaitable[Result]]

# Seconds at the end of a stop for giving back pages whose fetch takes too long.
_LAST_WORDS = 1.0


class _CreditRevoked(Exception):
    """The worker ends the stream on purpose: the next one begins without credit."""


class Worker:
    """A fetch worker, used as `async with Worker(...) as worker`.

        async with Worker("127.0.0.1:7071", name="fetcher-1", capacity=32) as worker:
            async for assignment in worker:
                await worker.report(assignment, await fetch(assignment))

    or `await worker.run(fetch, concurrency=32)`. `capacity` is the most pages that it has at once, including those
    being
    fetched. Give a fleet's worker the same `name` every time. With `crawl_ids`, at most 16, it receives only pages of
    these. A result is kept until the server has acknowledged it. When a stream ends, for whatever reason, the worker
    connects to the next address, with growing pauses, and repeats unacknowledged results, which count once. Leaving the
    block stops the worker gracefully (`stop`).

    Belongs to the event loop in which it was entered.
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
        on_assigned: Callable[[], None] | None = None,
        seed: int | None = None,
    ) -> None:
        self._session = Session(
            name,
            capacity=capacity,
            lease_duration=lease_duration,
            crawl_ids=crawl_ids,
            max_unacknowledged=max_unacknowledged,
        )
        self._connections = Connections(Target.of(target), backoff or Backoff(), connect_timeout, random.Random(seed))
        self._stop_timeout = stop_timeout
        self._on_refused = on_refused
        self._on_assigned = on_assigned
        self._changed = Bell()
        self._owes = Bell()
        self._error: FreshetError | None = None
        self._welcome = False
        self._closed = False
        self._handlers: set[asyncio.Task[None]] = set()
        self._driver: asyncio.Task[None] | None = None

    # --- For the program ---------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Worker:
        self._driver = asyncio.get_running_loop().create_task(self._drive(), name=f"freshet-{self._session.name}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A program that fails, or is cancelled, does not wait for endless fetches.
        await self.stop(self._stop_timeout if kind is None else min(1.0, self._stop_timeout))

    def __aiter__(self) -> AsyncIterator[Assignment]:
        return self._iterate()

    async def _iterate(self) -> AsyncIterator[Assignment]:
        while (assignment := await self.next()) is not None:
            yield assignment

    async def next(self) -> Assignment | None:
        """The next page to fetch; waits for one, over reconnects; None once the worker stops. Raises the error that
        ended the worker for good, such as Denied."""
        while True:
            assignment = self.try_next()
            if assignment is not None:
                return assignment
            if self._session.stopping or self._closed:
                return None
            await self._changed.wait()

    def try_next(self) -> Assignment | None:
        """The next page if there is one already; does not wait. Raises what `next` raises."""
        if self._error is not None:
            raise self._error
        return self._session.take(time.monotonic())

    @property
    def lease_seconds(self) -> float:
        """The length of a lease that the server has granted."""
        return self._session.lease_seconds

    def lease_left(self, assignment: Assignment) -> float:
        """Seconds until the lease of a page without result ends; 0 = ended. Then the server assigns other pages of
        the host."""
        return self._session.lease_left(assignment, time.monotonic())

    async def report(self, assignment: Assignment, result: Result) -> None:
        """Keeps the result until it is acknowledged; waits while `max_unacknowledged` others are kept."""
        while self._session.room == 0 and not self._closed and self._error is None:
            await self._changed.wait()
        self.report_nowait(assignment, result)

    def report_nowait(self, assignment: Assignment, result: Result) -> None:
        """Does what `report` does without waiting, for callbacks. While results have no room no pages are requested,
        so that at most `capacity` results can exceed the limit. Raises Stopped once the worker is closed."""
        if self._closed:
            raise Stopped("the worker has stopped, its lease will run out")
        self._session.report(assignment, result)
        self._owes.ring()

    def give_back(self, assignment: Assignment) -> None:
        """Returns a page that will not be fetched to the schedule, unchanged."""
        if not self._closed:
            self._session.give_back(assignment)
            self._owes.ring()

    async def flush(self) -> None:
        """Returns once everything reported and given back so far is acknowledged. Raises what `next` raises."""
        while not self._session.settled and not self._closed:
            if self._error is not None:
                raise self._error
            await self._changed.wait()

    async def run(self, handler: Handler, *, concurrency: int | None = None) -> None:
        """Calls `handler` for each assignment, `concurrency` at a time (by default 16), and reports its results.
        Returns once the worker has stopped. An exception of a handler is reported as an error."""
        async with _Cancelling() as tasks:
            for _ in range(concurrency or 16):
                task = tasks.start(self._handle(handler))
                self._handlers.add(task)
                task.add_done_callback(self._handlers.discard)

    async def stop(self, timeout: float | None = None) -> None:
        """Requests no more pages, gives back those not begun, waits for the other results and for all
        acknowledgements, and closes: after `timeout` seconds at the latest (`stop_timeout` unless given). Shortly
        before, it cancels the handlers of `run` and gives back pages without a result; `unacknowledged` then has the
        results that may be lost. Pages that still come for earlier credit go back at once; the worker leaves when
        none has come for a quarter of a second."""
        if self._closed:
            return
        now = time.monotonic()
        self._session.stop(now)
        self._owes.ring()
        self._changed.ring()
        seconds = self._stop_timeout if timeout is None else timeout
        await self._await_idle(now + seconds - min(_LAST_WORDS, seconds / 4))
        for task in list(self._handlers):
            task.cancel()
        self._session.give_back_begun()
        self._owes.ring()
        await self._await_idle(now + seconds)
        await self._close()

    async def _await_idle(self, end: float) -> None:
        while self._error is None and (now := time.monotonic()) < end:
            if not self._session.idle:
                await self._changed.wait(end - now)
            elif now < self._session.quiet_from:
                await self._changed.wait(min(end, self._session.quiet_from) - now)
            else:
                break

    def unacknowledged(self) -> list[types_pb2.CrawlResult]:
        """Results that the server has not acknowledged yet, in the order of their reports."""
        return self._session.unacknowledged()

    @property
    def statistics(self) -> WorkerStatistics:
        return self._session.statistics

    @property
    def waiting(self) -> int:
        """Number of pages that `next` can return at once."""
        return self._session.waiting

    @property
    def begun(self) -> int:
        """Number of pages taken and not reported yet."""
        return self._session.begun

    @property
    def stopping(self) -> bool:
        return self._session.stopping or self._closed

    @property
    def closed(self) -> bool:
        """Whether it has stopped, and accepts no more results."""
        return self._closed

    # --- The stream --------------------------------------------------------------------------------------------------

    async def _handle(self, handler: Handler) -> None:
        while (assignment := await self.next()) is not None:
            try:
                await self.report(assignment, await self._handled(handler, assignment))
            except asyncio.CancelledError:
                self.give_back(assignment)
                if self.stopping:
                    return
                raise
            except Stopped:
                return  # the page was given back

    async def _handled(self, handler: Handler, assignment: Assignment) -> Result:
        try:
            return await handler(assignment)
        except Exception:
            logger.exception("worker %s: the handler failed for %s", self._session.name, assignment.url)
            return Result(outcome=Outcome.ERROR)

    async def _close(self) -> None:
        self._closed = True
        if self._driver is not None:
            self._driver.cancel()
            await asyncio.gather(self._driver, return_exceptions=True)
        self._changed.ring()

    async def _drive(self) -> None:
        try:
            while self._error is None:
                try:
                    await self._one_stream()
                except _CreditRevoked:
                    self._connections.succeeded()
                    continue
                except (OSError, grpc.RpcError) as error:
                    self._failed(error)
                await self._owes_or_pause()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            logger.exception("worker %s ends", self._session.name)
            self._error = FreshetError(f"the worker has failed: {error!r}")
        self._changed.ring()

    async def _owes_or_pause(self) -> None:
        pause = self._connections.pause()
        if pause > 0 and self._error is None:
            await asyncio.sleep(pause)

    def _failed(self, error: OSError | grpc.RpcError) -> None:
        if isinstance(error, grpc.aio.AioRpcError):
            code, reason = error.code(), error.details() or ""
            # A worker that was admitted once may be again: credentials are replaced while workers run.
            if not is_transient(code) and not self._welcome:
                self._error = failure(code, reason)
                self._tell()
            logger.info("worker %s: %s: %s: %s", self._session.name, self._connections.address, code.name, reason)
        else:
            logger.info("worker %s: %s: %s", self._session.name, self._connections.address, error)
        self._connections.failed()

    async def _one_stream(self) -> None:
        """Connects and talks to the server until the stream ends; raises the reason."""
        channel, metadata = await self._connections.open()
        try:
            call = SchedulerServiceStub(channel).Crawl(metadata=metadata)
            reader = asyncio.ensure_future(self._read(call))
            writer = asyncio.ensure_future(self._write(call))
            try:
                await asyncio.wait({reader, writer}, return_when=asyncio.FIRST_COMPLETED)
                if not reader.done() and not isinstance(writer.exception(), _CreditRevoked):
                    # The reader raises the status with which a call ended.
                    await asyncio.wait({reader}, timeout=1.0)
            finally:
                call.cancel()
                for task in (reader, writer):
                    task.cancel()
                self._session.disconnected()
                self._changed.ring()
                ends = await asyncio.gather(reader, writer, return_exceptions=True)
            for end in ends:
                if isinstance(end, Exception):
                    raise end
            raise OSError("the stream was cancelled")
        finally:
            await channel.close()

    async def _read(self, call: Any) -> None:
        while True:
            message = await call.read()
            if message is grpc.aio.EOF:
                code = await call.code()
                raise OSError(f"the stream ended with {code.name}") if is_transient(code) else await _error_of(call)
            self._incoming(message)

    def _incoming(self, message: scheduler_pb2.CrawlResponse) -> None:
        for refusal in self._session.incoming(message, time.monotonic()):
            logger.warning("worker %s: a result was refused: %s", self._session.name, refusal)
            if self._on_refused is not None:
                self._on_refused(refusal)
        kind = message.WhichOneof("message")
        if kind == "notice":
            self._noticed(message.notice)
        self._owes.ring()
        self._changed.ring()
        if kind == "assignments":
            self._tell()

    def _noticed(self, notice: scheduler_pb2.Notice) -> None:
        logger.info("worker %s: %s", self._session.name, notice.text)
        if notice.kind == scheduler_pb2.NOTICE_KIND_WELCOME:
            self._welcome = True
            self._connections.succeeded()
        elif notice.kind == scheduler_pb2.NOTICE_KIND_REFUSED:
            reason = f"{notice.error.field}: {notice.error.reason}"
            if not self._welcome and not notice.error.retryable:
                code = types_pb2.ErrorCode.Name(notice.error.code).removeprefix("ERROR_CODE_")
                self._error = CallFailed(code, reason)
                self._tell()
            raise OSError(f"a message was refused: {reason}")

    def _tell(self) -> None:
        """Wakes `try_next`: there are pages, or an error."""
        if self._on_assigned is not None:
            self._on_assigned()

    async def _write(self, call: Any) -> None:
        try:
            await self._write_all(call)
        except asyncio.InvalidStateError:
            raise OSError("the stream has ended") from None

    async def _write_all(self, call: Any) -> None:
        await call.write(self._session.hello())
        while True:
            now = time.monotonic()
            has_credit = self._session.stopping and self._session.credit > 0
            if has_credit and self._session.begun and now >= self._session.quiet_from:
                raise _CreditRevoked
            messages = self._session.outgoing(now)
            for message in messages:
                await call.write(message)
            if not messages:
                due = self._session.next_time(now)
                await self._owes.wait(None if due is None else max(0.0, due - now))


async def _error_of(call: Any) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(
        await call.code(), await call.initial_metadata(), await call.trailing_metadata(), details=await call.details()
    )


class _Cancelling:
    """Runs coroutines side by side; the first that raises cancels the others, and its exception is raised."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, coroutine: Any) -> asyncio.Task[None]:
        self._tasks.append(asyncio.get_running_loop().create_task(coroutine))
        return self._tasks[-1]

    async def __aenter__(self) -> _Cancelling:
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        try:
            await asyncio.gather(*self._tasks)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
