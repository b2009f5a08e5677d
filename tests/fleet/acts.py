"""Acts of a play's clients besides crawling: signals, removals, pairs of changed settings, and reads of own writes."""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING, Any

import grpc
from freshet.v1 import admin_pb2, admin_pb2_grpc, ingest_pb2, ingest_pb2_grpc, pages_pb2, pages_pb2_grpc, types_pb2
from memory import Call, Memory, Signal

if TYPE_CHECKING:
    from collections.abc import Callable

    from load import Client
    from nodes import Node

SOURCE = "sitemap"
SIGNALLED = 40  # pages; each remembers its last 16 signals
REMEMBERED = 8
SLOW_HOSTS = 12
SLOW_DELAY = 3
RATES = (80.0, 100.0)
# Codes with which a call may fail while servers come and go. Any other code is a fault.
PASSING = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.UNKNOWN,  # from a server that was killed during its answer
    grpc.StatusCode.FAILED_PRECONDITION,  # "an epoch runs already"
}
# Codes of items from a server that is killed or full during its answer.
UNAVAILABLE = {types_pb2.ERROR_CODE_UNAVAILABLE, types_pb2.ERROR_CODE_RESOURCE_EXHAUSTED}
Admin = admin_pb2_grpc.AdminServiceStub


def passes(error: grpc.RpcError) -> bool:
    return error.code() in PASSING or "the disk is full" in (error.details() or "")


class Acts:
    def __init__(self, client: Client, seed: int) -> None:
        self._client = client
        self._nodes: list[Node] = client.nodes
        self._memory: Memory = client.memory
        self._dice = random.Random(seed + 1)
        self._lock = threading.Lock()
        self._number = 0
        self._present: list[str] = []  # existing pages that may be removed
        self._signals: dict[int, list[Signal]] = {}  # recent acknowledged ones, by page
        self._sent = 0
        self._value = 1000
        self._read = 0
        # Times of write and read, node, URL, last written value, read value.
        self.reads: list[tuple[float, float, str, str, int, float]] = []

    def threads(self, stop: threading.Event) -> list[threading.Thread]:
        works = [self._signal, self._remove, self._set, self._learn, self._read_own_writes]
        return [threading.Thread(target=self._repeat, args=(work, stop)) for work in works]

    @staticmethod
    def _repeat(work: Callable[[threading.Event], None], stop: threading.Event) -> None:
        while not stop.wait(0.2):
            work(stop)

    # --- Pages

    def make_slow_hosts(self) -> None:
        """Gives each slow host its own delay, which must hold whichever node serves."""
        for i in range(SLOW_HOSTS):
            request = admin_pb2.SetHostPolitenessRequest(host=f"slow{i}.test")
            request.min_delay.FromSeconds(SLOW_DELAY)
            while self._client.ask(Admin, lambda stub: stub.SetHostPoliteness(request, timeout=5)) is None:  # noqa: B023
                time.sleep(0.2)
            self._memory.slow_hosts.add(request.host)

    def add_pages(self, count: int) -> None:
        """Adds pages that may be removed later."""
        with self._lock:
            urls = [f"http://gone{(self._number + i) % 50}.test/{self._number + i}" for i in range(count)]
            self._number += count
        for start in range(0, count, 100):
            part = urls[start : start + 100]
            if self._client.upsert(part):
                self._memory.pages.difference_update(part)
                with self._lock:
                    self._present += part

    def remove_pages(self, count: int) -> list[str]:
        """Returns the URLs whose removal was acknowledged; the others may still exist."""
        with self._lock:
            urls, self._present = self._present[:count], self._present[count:]
        done = []
        for start in range(0, len(urls), 100):
            part = urls[start : start + 100]
            request = pages_pb2.RemovePagesRequest(urls=part)
            for _ in range(20):
                answer = self._client.ask(pages_pb2_grpc.PagesServiceStub, lambda s: s.RemovePages(request, timeout=5))  # noqa: B023
                if answer is not None and not any(
                    status.error.code in UNAVAILABLE for status in answer.ack.statuses if status.HasField("error")
                ):
                    done += part
                    break
                time.sleep(0.5)
        now = time.time()
        self._memory.removed.update(dict.fromkeys(done, now))
        self._memory.counts["removals"] += len(done)
        return done

    def is_there(self, url: str) -> bool:
        return self._client.page(url) is not None

    def _remove(self, _: threading.Event) -> None:
        self.add_pages(10)
        if len(self._present) > 600:
            self.remove_pages(self._dice.randint(1, 20))

    # --- Signals

    def _signal(self, stop: threading.Event) -> None:
        """Sends a signal and repeats it some seconds later, each by any node. Both together must count once."""
        page = self._dice.randrange(SIGNALLED)
        recent = self._signals.setdefault(page, [])
        self._sent += 1
        signal = Signal(f"http://signalled{page}.test/", f"id-{page}-{self._sent}")
        if not self._client.upsert([signal.url]):
            return
        if self._send(signal, stop) is None:
            return
        signal.counted = time.time()
        recent.append(signal)
        del recent[:-REMEMBERED]
        again = self._dice.choice(recent)
        outcome = self._send(again, stop)
        if outcome is not None:
            self._memory.checked["L8 signals once"] += 1
        if outcome == types_pb2.ITEM_OUTCOME_APPLIED:
            age = time.time() - again.counted
            self._memory.faults.append(f"{again.url}: signal {again.name} counted twice, {age:.1f} s apart")

    def _send(self, signal: Signal, stop: threading.Event) -> int | None:
        item = types_pb2.ChangeSignal(url=signal.url, source=SOURCE, signal_id=signal.name)
        request = ingest_pb2.SignalChangesRequest(signals=[item], poll_size=1)
        service = ingest_pb2_grpc.IngestServiceStub
        while not stop.is_set():
            nodes = self._dice.sample(self._nodes, len(self._nodes))
            answer = self._client.ask(service, lambda s: next(iter(s.SignalChanges(iter([request]), timeout=5))), nodes)
            if answer is not None and not answer.ack.HasField("error"):
                status = next(iter(answer.ack.statuses), None)
                if status is None or not status.HasField("error"):
                    self._memory.counts["signals"] += 1
                    return types_pb2.ITEM_OUTCOME_APPLIED if status is None else status.outcome
            stop.wait(0.2)
        return None

    # --- Settings

    def _call(self, name: str, value: object, node: Node, ask: Callable[[Any], Any]) -> bool:
        call = Call(value, time.time())
        self._memory.settings[name].append(call)
        try:
            ask(self._client.stub(Admin, node))
        except grpc.RpcError as error:
            if not passes(error):
                self._memory.faults.append(f"{name}: {error.code()}: {error.details()}")
            return False
        call.ended = time.time()
        self._memory.counts["settings"] += 1
        return True

    def set_interval(self, node: Node, value: int) -> bool:
        """Sets the smallest interval between two crawls of a page, in milliseconds."""
        request = admin_pb2.SetPolitenessDefaultsRequest()
        request.min_page_interval.FromMilliseconds(value)
        return self._call("interval", value, node, lambda stub: stub.SetPolitenessDefaults(request, timeout=20))

    def pause(self, node: Node) -> bool:
        return self._call("pause", True, node, lambda stub: stub.Pause(admin_pb2.PauseRequest(reason="play"), timeout=20))

    def resume(self, node: Node) -> bool:
        return self._call("pause", False, node, lambda stub: stub.Resume(admin_pb2.ResumeRequest(), timeout=20))

    def set_rate(self, node: Node, value: float) -> bool:
        request = admin_pb2.SetCrawlRateRequest(crawl_rate_per_second=value)
        return self._call("rate", value, node, lambda stub: stub.SetCrawlRate(request, timeout=20))

    def go_on(self, stop: threading.Event | None = None) -> None:
        """Calls Resume until one call succeeds."""
        while not any(self.resume(node) for node in self._nodes):
            if stop is not None and stop.wait(0.5):
                return

    def pair(self, one: Callable[[Node], bool], other: Callable[[Node], bool]) -> None:
        """Runs two calls at the same time at two nodes, perhaps of two divisions."""
        nodes = self._dice.sample(self._nodes, 2)
        threads = [threading.Thread(target=act, args=(node,)) for act, node in zip((one, other), nodes, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def set_pair(self) -> None:
        self._value += 2
        value = self._value
        self.pair(lambda node: self.set_interval(node, value), lambda node: self.set_interval(node, value + 1))

    def _set(self, stop: threading.Event) -> None:
        stop.wait(self._dice.uniform(2, 8))
        what = self._dice.choice(["interval", "interval", "rate", "pause", "both"])
        if what == "interval":
            self.set_pair()
        elif what == "rate":
            self.set_rate(self._dice.choice(self._nodes), self._dice.uniform(*RATES))
        else:
            if what == "both":
                self.pair(self.pause, self.resume)
            else:
                self.pause(self._dice.choice(self._nodes))
            stop.wait(self._dice.uniform(1, 4))
        # A call without an answer may have paused as well.
        self.go_on(stop)

    # --- Other acts

    def _learn(self, stop: threading.Event) -> None:
        """Runs epochs, and rechecks of pages."""
        stop.wait(self._dice.uniform(3, 10))
        node = self._dice.choice(self._nodes)
        request = pages_pb2.RecheckPagesRequest(urls=self._dice.sample(sorted(self._memory.pages)[:1000], 20))
        if self._client.ask(pages_pb2_grpc.PagesServiceStub, lambda stub: stub.RecheckPages(request, timeout=5)):
            self._memory.counts["rechecks"] += len(request.urls)
        try:
            self._client.stub(Admin, node).RunEpoch(admin_pb2.RunEpochRequest(), timeout=60)
            self._memory.counts["epochs"] += 1
        except grpc.RpcError as error:
            if not passes(error):
                self._memory.faults.append(f"epoch: {error.code()}: {error.details()}")

    def _read_own_writes(self, _: threading.Event) -> None:
        """Changes a page that no other client changes: every node must answer with the acknowledged value."""
        self._read += 1
        url = f"http://read{self._read % 20}.test/"
        if not self._client.upsert([url], importance=float(self._read)):
            return
        written = time.time()
        node = self._dice.choice(self._nodes)
        try:
            request = pages_pb2.GetPageRequest(url=url)
            page = self._client.stub(pages_pb2_grpc.PagesServiceStub, node).GetPage(request, timeout=3).page
        except grpc.RpcError:
            return
        self.reads.append((written, time.time(), node.name, url, self._read, page.importance))
