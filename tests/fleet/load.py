"""The clients of a play: they use any node that answers, and remember what they were told."""

from __future__ import annotations

import collections
import heapq
import queue
import random
import threading
import time
from typing import TYPE_CHECKING, Any

import grpc
from freshet.v1 import (
    ingest_pb2,
    ingest_pb2_grpc,
    pages_pb2,
    pages_pb2_grpc,
    scheduler_pb2,
    scheduler_pb2_grpc,
    types_pb2,
)
from memory import Lease, Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nodes import Node

LEASE = 10
# Seconds that a client waits when all is quiet, so that a slow machine causes no fault. Before, clients try other nodes
# sooner.
PATIENCE = 30
# Crawl ids of these workers; the client of the crawl-frontier API takes the others.
CRAWL_IDS = ["DEFAULT"]
# Workers answer this share of leases at once, up to the next share later within the lease, and up to the last after its
# end. They never answer the rest.
AT_ONCE, LATER, LATE = 0.9, 0.97, 0.98
TWICE = 0.05  # part of the acknowledged results that are sent twice
OPTIONS = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 200)]


class Client:
    """A client of all nodes; standbys forward its calls."""

    def __init__(self, nodes: list[Node], memory: Memory) -> None:
        self.nodes = nodes
        self.memory = memory
        self._channels = {node.name: grpc.insecure_channel(node.address, OPTIONS) for node in nodes}
        self._later: list[tuple[float, int, Lease]] = []
        self._later_lock = threading.Lock()

    def stub(self, service: type, node: Node) -> Any:
        return service(self._channels[node.name])

    def ask(self, service: type, call: Callable[[Any], Any], nodes: list[Node] | None = None) -> Any:
        """The answer of the first node that gives one; None = none does."""
        for node in nodes or self.nodes:
            try:
                return call(self.stub(service, node))
            except (grpc.RpcError, StopIteration):
                continue
        return None

    def upsert(self, urls: list[str], **more: object) -> bool:
        request = pages_pb2.UpsertPagesRequest(pages=[types_pb2.PageSpec(url=url, **more) for url in urls])
        answer = self.ask(
            pages_pb2_grpc.PagesServiceStub, lambda stub: next(iter(stub.UpsertPages(iter([request]), timeout=5)))
        )
        if answer is None or answer.ack.HasField("error"):
            return False
        refused = {status.index for status in answer.ack.statuses if status.HasField("error")}
        self.memory.pages.update(url for i, url in enumerate(urls) if i not in refused)
        return not refused

    # --- Workers

    def work(self, node: Node, stop: threading.Event) -> None:
        """Takes pages from one node and reports each: some as changed, some never."""
        scheduler = self.stub(scheduler_pb2_grpc.SchedulerServiceStub, node)
        dice = random.Random(node.name)
        while not stop.is_set():
            worker = f"worker-of-{node.name}"
            request = scheduler_pb2.NextRequest(worker=worker, max_assignments=20, crawl_ids=CRAWL_IDS)
            request.max_wait.FromMilliseconds(500)
            try:
                response = scheduler.Next(request, timeout=5)
            except grpc.RpcError:
                stop.wait(0.1)
                continue
            self.report(self._choose(self._note(node, response.assignments), dice))

    def _choose(self, leases: list[Lease], dice: random.Random) -> list[Lease]:
        """Returns the leases to report at once, and keeps the others for later."""
        now = []
        for lease in leases:
            chance = dice.random()
            if chance < AT_ONCE:
                now.append(lease)
            elif chance < LATE:
                left = max(0.0, lease.until - time.time())
                wait = left * dice.uniform(0.1, 0.8) if chance < LATER else left + dice.uniform(0.5, 3)
                with self._later_lock:
                    heapq.heappush(self._later, (time.time() + wait, lease.number, lease))
        return now

    def answer_later(self, stop: threading.Event) -> None:
        while not stop.wait(0.05):
            due = []
            with self._later_lock:
                while self._later and self._later[0][0] <= time.time():
                    due.append(heapq.heappop(self._later)[2])
            self.report(due)

    def work_by_stream(self, node: Node, stop: threading.Event) -> None:
        """Takes pages of all divisions on a stream to one node and reports them there, like a busy worker."""
        scheduler = self.stub(scheduler_pb2_grpc.SchedulerServiceStub, node)
        hello = scheduler_pb2.CrawlRequest(
            hello=scheduler_pb2.WorkerHello(worker=f"stream-of-{node.name}", crawl_ids=CRAWL_IDS)
        )
        dice = random.Random(f"stream {node.name}")
        while not stop.is_set():
            messages: queue.SimpleQueue[scheduler_pb2.CrawlRequest | None] = queue.SimpleQueue()
            messages.put(hello)
            messages.put(scheduler_pb2.CrawlRequest(credit=scheduler_pb2.Credit(assignments=3)))
            call = scheduler.Crawl(iter(messages.get, None), timeout=20)
            sent: dict[int, list[Lease]] = {}
            try:
                for response in call:
                    if response.HasField("result_ack"):
                        self._take_ack(response.result_ack, sent.pop(response.result_ack.sequence))
                    leases = self._note(node, response.assignments.assignments)
                    if not leases or stop.is_set():
                        continue
                    now = self._choose(leases, dice)
                    if now:
                        number = now[0].number
                        sent[number] = now
                        batch = scheduler_pb2.ResultBatch(sequence=number, results=self._results(now))
                        messages.put(scheduler_pb2.CrawlRequest(results=batch))
                    messages.put(scheduler_pb2.CrawlRequest(credit=scheduler_pb2.Credit(assignments=len(leases))))
            except grpc.RpcError:
                stop.wait(0.1)
            finally:
                messages.put(None)
                call.cancel()

    def _note(self, node: Node, assignments: Iterable[scheduler_pb2.Assignment]) -> list[Lease]:
        now = time.time()
        leases = []
        for assignment in assignments:
            host = assignment.url.split("/")[2]
            until = assignment.deadline.ToMicroseconds() / 1e6
            leases.append(Lease(assignment.url, host, node.name, assignment.lease_id, now, until))
        self.memory.leases.extend(leases)
        return leases

    @staticmethod
    def _results(leases: list[Lease]) -> list[types_pb2.CrawlResult]:
        """Results of fetches that end now, or earlier ones that are sent again."""
        now = time.time()
        results = []
        for lease in leases:
            if lease.sent is None:
                lease.sent, lease.fetched, lease.outcome = now, now, "perhaps"
            result = types_pb2.CrawlResult(lease_id=lease.number, url=lease.url, http_status=200)
            result.fetch_time.FromMicroseconds(int(lease.fetched * 1e6))
            result.content_digest = str(int(lease.fetched) // 7).encode()
            results.append(result)
        return results

    def _take_ack(self, ack: types_pb2.BatchAck, leases: list[Lease]) -> None:
        if ack.HasField("error"):
            return
        statuses = {status.index: status for status in ack.statuses}
        for i, lease in enumerate(leases):
            status = statuses.get(i)
            if status is not None and status.HasField("error"):
                if not status.error.retryable:
                    lease.outcome = "refused"
                continue
            lease.answered = time.time()
            # Other results may have counted, too: late ones, or those of an earlier call without an answer.
            if status is None or status.outcome == types_pb2.ITEM_OUTCOME_APPLIED:
                lease.outcome = "applied"
                fetched = max(lease.fetched, self.memory.crawled.get(lease.url, 0))
                self.memory.crawled[lease.url] = fetched

    def report(self, leases: list[Lease]) -> None:
        """Reports to any node, since the one that handed the pages out may be gone."""
        if not leases:
            return
        request = ingest_pb2.ReportCrawlsRequest(results=self._results(leases))
        service = ingest_pb2_grpc.IngestServiceStub

        def send(stub: Any) -> types_pb2.BatchAck:
            return next(iter(stub.ReportCrawls(iter([request]), timeout=3))).ack

        ack = self.ask(service, send, self.nodes * 2)
        if ack is None:
            return
        self._take_ack(ack, leases)
        self.memory.counts["results"] += len(leases)
        if random.random() >= TWICE or ack.HasField("error"):
            return
        # A counted result must not count again, whoever sends it.
        ack = self.ask(service, send, random.sample(self.nodes, len(self.nodes)))
        if ack is None or ack.HasField("error"):
            return
        statuses = {status.index: status for status in ack.statuses}
        for i, lease in enumerate(leases):
            if lease.outcome != "applied":
                continue
            self.memory.checked["L7 results once"] += 1
            if i not in statuses or statuses[i].outcome == types_pb2.ITEM_OUTCOME_APPLIED:
                self.memory.faults.append(f"{lease.url}: the result of lease {lease.number} counted twice")

    # --- Afterwards

    def page(self, url: str) -> pages_pb2.GetPageResponse | None:
        said = ""
        until = time.monotonic() + 2 * PATIENCE
        while time.monotonic() < until:
            for node in self.nodes:
                stub = self.stub(pages_pb2_grpc.PagesServiceStub, node)
                try:
                    return stub.GetPage(pages_pb2.GetPageRequest(url=url), timeout=PATIENCE)
                except grpc.RpcError as error:
                    if error.code() == grpc.StatusCode.NOT_FOUND:
                        return None
                    said = f"{node.name}: {error.code()}: {error.details()}"
            time.sleep(0.1)
        message = f"no node answers: {said}"
        raise ConnectionError(message)

    def outcomes(self) -> dict[str, tuple[int, int]]:
        """By URL: number of results that surely counted, and of those that perhaps counted."""
        found: dict[str, tuple[int, int]] = collections.defaultdict(lambda: (0, 0))
        for lease in self.memory.leases:
            sure, perhaps = found[lease.url]
            found[lease.url] = (sure + (lease.outcome == "applied"), perhaps + (lease.outcome == "perhaps"))
        return found
