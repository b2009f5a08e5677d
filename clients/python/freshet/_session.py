"""The state of a worker without I/O, threads or a clock: drivers pass in messages and the time.

No reported result is dropped before the server has acknowledged it: when a stream ends, all unacknowledged items
return to the front of the queue, in order. Everything is bounded: the session requests no more pages than `capacity`
has room for, and none while `max_unacknowledged` results wait. Owner thread only.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from freshet._acks import Refusal, Summary, judge
from freshet.types import Assignment, Result, from_duration, to_duration
from freshet.v1 import scheduler_pb2, types_pb2

T = TypeVar("T")

_DEFAULT_LEASE = 300.0
_ITEMS_PER_BATCH = 500
_BATCHES_ON_THE_WAY = 16
# Seconds without a page after which a stopping worker expects none, although it has credit.
_QUIET = 0.25
# Seconds between searches for pages that the program has lost.
_SWEEP = 1.0


@dataclass
class _Waiting(Generic[T]):
    item: T
    not_before: float


class Outbox(Generic[T]):
    """Items to be sent, and sent batches without acknowledgement."""

    def __init__(self) -> None:
        self._waiting: deque[_Waiting[T]] = deque()
        self._sent: OrderedDict[int, list[T]] = OrderedDict()
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._waiting) + sum(len(batch) for batch in self._sent.values())

    def items(self) -> Iterator[T]:
        for batch in self._sent.values():
            yield from batch
        for waiting in self._waiting:
            yield waiting.item

    def add(self, item: T, not_before: float = 0.0) -> None:
        self._waiting.append(_Waiting(item, not_before))

    def next_batch(self, now: float) -> tuple[int, list[T]] | None:
        """Returns the next items to send, oldest first; None when there are none, or enough batches are
        unacknowledged."""
        if len(self._sent) >= _BATCHES_ON_THE_WAY:
            return None
        batch: list[T] = []
        later: deque[_Waiting[T]] = deque()
        while self._waiting and len(batch) < _ITEMS_PER_BATCH:
            waiting = self._waiting.popleft()
            if waiting.not_before <= now:
                batch.append(waiting.item)
            else:
                later.append(waiting)
        self._waiting.extendleft(reversed(later))
        if not batch:
            return None
        self._sequence += 1
        self._sent[self._sequence] = batch
        return self._sequence, batch

    def next_time(self) -> float | None:
        """When the next waiting item may be sent."""
        return min((waiting.not_before for waiting in self._waiting), default=None)

    def acknowledged(self, sequence: int) -> list[T]:
        """Removes and returns the items of an acknowledged batch; none if there is no such batch."""
        return self._sent.pop(sequence, [])

    def rewind(self) -> None:
        """Puts unacknowledged batches back to the front after the end of a stream."""
        for batch in reversed(self._sent.values()):
            self._waiting.extendleft(_Waiting(item, 0.0) for item in reversed(batch))
        self._sent.clear()


@dataclass
class WorkerStatistics:
    """Counts of a worker's life. `results` counts acknowledged results by outcome; `lapsed` counts assignments whose
    lease ended before the worker began them."""

    assignments: int = 0
    returned: int = 0
    lapsed: int = 0
    connections: int = 0
    results: Summary = field(default_factory=Summary)


@dataclass
class _Lease:
    assignment: Assignment
    ends: float


class Session:
    """The state of a worker over all its streams. Times are seconds of any clock that does not step back."""

    def __init__(
        self,
        name: str,
        *,
        capacity: int,
        lease_duration: timedelta | None = None,
        crawl_ids: Sequence[str] = (),
        max_unacknowledged: int = 10_000,
    ) -> None:
        if not name or len(name.encode()) > 128:
            raise ValueError("a worker needs a name of at most 128 bytes")
        if not 1 <= capacity <= 10_000:
            raise ValueError(f"capacity must be 1 to 10,000, not {capacity}")
        if isinstance(crawl_ids, str):
            raise TypeError("crawl_ids are several: write [crawl_id] for one")
        if len(crawl_ids) > 16:
            raise ValueError(f"a worker may name 16 crawl ids, not {len(crawl_ids)}")
        if max_unacknowledged < 1:
            raise ValueError(f"max_unacknowledged must be at least 1, not {max_unacknowledged}")
        self.name = name
        self.stopping = False
        self.statistics = WorkerStatistics()
        self.allowance: int | None = None
        self.paused = False
        self._capacity = capacity
        self._max_unacknowledged = max_unacknowledged
        self._asked_lease = lease_duration
        self._crawl_ids = tuple(crawl_ids)
        self._lease_seconds = lease_duration.total_seconds() if lease_duration else _DEFAULT_LEASE
        self._ready: deque[_Lease] = deque()
        self._begun: dict[int, _Lease] = {}
        self._results: Outbox[types_pb2.CrawlResult] = Outbox()
        self._returns: Outbox[int] = Outbox()
        self._credit = 0
        self._next_sweep = 0.0
        self._last_assigned = 0.0

    # --- What the program does ---------------------------------------------------------------------------------------

    def take(self, now: float) -> Assignment | None:
        """Begins and returns the next page to fetch. Skips pages whose lease has ended, which other workers may
        have."""
        while self._ready:
            lease = self._ready.popleft()
            if lease.ends <= now:
                self.statistics.lapsed += 1
                continue
            self._begun[lease.assignment.lease_id] = lease
            return lease.assignment
        return None

    @property
    def lease_seconds(self) -> float:
        """The length of a lease that the server has granted."""
        return self._lease_seconds

    def lease_left(self, assignment: Assignment, now: float) -> float:
        """Seconds until the lease of a begun page ends."""
        lease = self._begun.get(assignment.lease_id)
        return 0.0 if lease is None else max(0.0, lease.ends - now)

    def report(self, assignment: Assignment, result: Result) -> None:
        self._begun.pop(assignment.lease_id, None)
        self._results.add(result.to_proto(assignment))

    def give_back(self, assignment: Assignment) -> None:
        """Returns a page that will not be fetched to the schedule, unchanged."""
        if self._begun.pop(assignment.lease_id, None) is not None:
            self._return(assignment.lease_id)

    def give_back_begun(self) -> None:
        """Gives back all begun pages without a result."""
        for lease in list(self._begun.values()):
            self.give_back(lease.assignment)

    def stop(self, now: float) -> None:
        """Stops requesting pages, and gives back those not begun."""
        self.stopping = True
        self._last_assigned = max(self._last_assigned, now)
        while self._ready:
            self._return(self._ready.popleft().assignment.lease_id)

    @property
    def room(self) -> int:
        """How many more results fit."""
        return max(0, self._max_unacknowledged - len(self._results))

    @property
    def settled(self) -> bool:
        """Whether everything reported or given back is acknowledged."""
        return not len(self._results) and not len(self._returns)

    @property
    def idle(self) -> bool:
        """Whether all is settled, and every begun page has a result."""
        return self.settled and not self._begun and not self._ready

    @property
    def credit(self) -> int:
        """How many pages the server may still send on this stream."""
        return self._credit

    @property
    def quiet_from(self) -> float:
        """From when on a stopping worker may leave its stream. Credit cannot be taken back, and pages on their way
        when a stream ends are lost until their leases end. So a worker waits until its credit is used up, or no page
        has come for a while."""
        return 0.0 if self._credit == 0 else self._last_assigned + _QUIET

    @property
    def waiting(self) -> int:
        return len(self._ready)

    @property
    def begun(self) -> int:
        return len(self._begun)

    def unacknowledged(self) -> list[types_pb2.CrawlResult]:
        return list(self._results.items())

    # --- What the stream does ----------------------------------------------------------------------------------------

    def hello(self) -> scheduler_pb2.CrawlRequest:
        """Returns the first message of a new stream. Only unacknowledged items survive the old stream."""
        self._credit = 0
        self._results.rewind()
        self._returns.rewind()
        hello = scheduler_pb2.WorkerHello(worker=self.name, crawl_ids=self._crawl_ids)
        if self._asked_lease is not None:
            hello.lease_duration.CopyFrom(to_duration(self._asked_lease))
        return scheduler_pb2.CrawlRequest(hello=hello)

    def disconnected(self) -> None:
        """Notes the end of the stream, which ends its credit."""
        self._credit = 0

    def outgoing(self, now: float) -> list[scheduler_pb2.CrawlRequest]:
        """Returns the messages to send now: results first, since they make room for pages."""
        messages = []
        while (batch := self._results.next_batch(now)) is not None:
            results = scheduler_pb2.ResultBatch(sequence=batch[0], results=batch[1])
            messages.append(scheduler_pb2.CrawlRequest(results=results))
        while (ids := self._returns.next_batch(now)) is not None:
            returned = scheduler_pb2.LeaseReturn(sequence=ids[0], lease_ids=ids[1])
            messages.append(scheduler_pb2.CrawlRequest(returned_leases=returned))
        more = self._room_for_pages(now)
        if more > 0:
            self._credit += more
            messages.append(scheduler_pb2.CrawlRequest(credit=scheduler_pb2.Credit(assignments=more)))
        return messages

    def next_time(self, now: float) -> float | None:
        """When `outgoing` may next have messages although nothing happens before."""
        times = [time for time in (self._results.next_time(), self._returns.next_time()) if time is not None]
        if self._begun:
            times.append(max(now, self._next_sweep))
        if self.stopping and self._credit > 0:
            times.append(self.quiet_from)
        return min(times, default=None)

    def incoming(self, message: scheduler_pb2.CrawlResponse, now: float) -> list[Refusal]:
        """Handles a message of the server; returns the results that it has refused for good."""
        kind = message.WhichOneof("message")
        if kind == "assignments":
            self._assigned(message.assignments, now)
        elif kind == "result_ack":
            items = self._results.acknowledged(message.result_ack.sequence)
            verdict = judge(message.result_ack, items, _name, self.statistics.results)
            for item in verdict.again:
                self._results.add(item, now + verdict.pause)
            return verdict.refused
        elif kind == "return_ack":
            ids = self._returns.acknowledged(message.return_ack.sequence)
            ignored = Summary()
            again = judge(message.return_ack, ids, str, ignored)
            self.statistics.returned += len(ids) - len(again.again)
            for lease_id in again.again:
                self._returns.add(lease_id, now + again.pause)
        elif kind == "notice":
            self._noticed(message.notice)
        return []

    def _room_for_pages(self, now: float) -> int:
        if self.stopping or self.room == 0:
            return 0
        if now >= self._next_sweep:
            # A page whose result never comes must not occupy room for ever; its lease has ended.
            self._next_sweep = now + _SWEEP
            self._begun = {key: lease for key, lease in self._begun.items() if lease.ends > now}
        held = len(self._begun) + len(self._ready) + self._credit
        return min(self._capacity, self.room) - held

    def _assigned(self, batch: scheduler_pb2.AssignmentBatch, now: float) -> None:
        self._credit = max(0, self._credit - len(batch.assignments))
        self._last_assigned = now
        for message in batch.assignments:
            self.statistics.assignments += 1
            if self.stopping:
                self._return(message.lease_id)
            else:
                # Uses the length of the lease, not its deadline: the clocks of two machines differ.
                self._ready.append(_Lease(Assignment.from_proto(message), now + self._lease_seconds))

    def _noticed(self, notice: scheduler_pb2.Notice) -> None:
        if notice.kind == scheduler_pb2.NOTICE_KIND_WELCOME:
            self.statistics.connections += 1
            if notice.HasField("lease_duration"):
                self._lease_seconds = from_duration(notice.lease_duration).total_seconds()
        elif notice.kind == scheduler_pb2.NOTICE_KIND_PAUSED:
            self.paused = True
        elif notice.kind == scheduler_pb2.NOTICE_KIND_RESUMED:
            self.paused = False
        elif notice.kind == scheduler_pb2.NOTICE_KIND_ALLOWANCE:
            self.allowance = notice.max_open_leases

    def _return(self, lease_id: int) -> None:
        self._returns.add(lease_id)


def _name(result: types_pb2.CrawlResult) -> str:
    return result.url or str(result.lease_id)
