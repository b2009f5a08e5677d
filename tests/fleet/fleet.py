"""Plays a cluster of freshetd on real brokers, kills and pauses both at random, and looks whether what was promised holds.

usage: fleet.py --bin DIR --jars DIR [--directory DIR] [--seconds S] [--nodes N] [--divisions N] [--brokers N] [--pages N] [--seed S] [--steps STEP,...] [--secured]
Without --directory: in a new one, which stays where a promise is broken, or nobody serves. With divisions: the nodes are theirs in turns, and share one crawl rate.
Promised: nothing that was acknowledged is lost, no page is leased twice at once, no host is crawled faster than allowed,
the crawl rate is not exceeded; and of the crawl-frontier API what frontier.py says. The client below keeps what the server told it, and nothing else.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import queue
import random
import shutil
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
from brokers import Brokers
from freshet.v1 import (
    admin_pb2,
    admin_pb2_grpc,
    ingest_pb2,
    ingest_pb2_grpc,
    pages_pb2,
    pages_pb2_grpc,
    scheduler_pb2,
    scheduler_pb2_grpc,
    types_pb2,
)
from frontier import SCHEDULED, FrontierCrawler, FrontierMemory
from frontier_stubs import make_stubs
from nodes import CLUSTER, Node, await_serving, cluster_settings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

RATE = 100.0
SLOTS = 4096
HOSTS = 40
MIN_DELAY = 0.25
LEASE = 10
SILENCE = 5
WINDOW = 0.1
SEEN = 0.9  # of what is handed out, servers have to be asked in time
# What a measurement at the client may be off by: two clocks read in two processes on a machine that is loaded.
SLACK = 0.05
# Of times that are told in whole microseconds and kept as floating-point numbers.
ROUNDING = 0.001
# Of the workers here; pages of others are for the crawler of the crawl-frontier API.
CRAWL_IDS = ["DEFAULT"]
SETTINGS = (
    f"shards: 2\npacing: {{max_lateness: 2ms}}\nleases: {{default: {LEASE}s}}\n"
    f"politeness: {{min_delay: {MIN_DELAY}s, max_in_flight: 1, min_page_interval: 1s}}\n"
)


@dataclass
class Lease:
    url: str
    host: str
    node: str
    number: int
    received: float
    until: float  # by which the page may be somebody else's
    answered: float | None = None  # when the result was acknowledged

    def division(self, divisions: int) -> int:
        """Whose it is: the last bits of its number are the slot of its host."""
        return self.number % SLOTS * divisions // SLOTS


@dataclass
class Memory:
    """What the client was told. Threads of one process: appending to a list and setting a key are atomic."""

    pages: set[str] = field(default_factory=set)
    leases: list[Lease] = field(default_factory=list)
    crawled: dict[str, float] = field(default_factory=dict)  # by URL: the latest fetch that was acknowledged
    handed_out: set[tuple[float, str]] = field(default_factory=set)  # when a server says that it did, and what


class Client:
    """Talks to any node: those that stand by have the one that serves answer."""

    def __init__(self, nodes: list[Node], memory: Memory) -> None:
        self._nodes = nodes
        self._memory = memory
        options = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 200)]
        self._channels = {node.name: grpc.insecure_channel(node.address, options) for node in nodes}

    def upsert(self, urls: list[str]) -> bool:
        request = pages_pb2.UpsertPagesRequest(pages=[types_pb2.PageSpec(url=url) for url in urls])
        for node in self._nodes:
            stub = pages_pb2_grpc.PagesServiceStub(self._channels[node.name])
            try:
                ack = next(iter(stub.UpsertPages(iter([request]), timeout=5))).ack
            except (grpc.RpcError, StopIteration):
                continue
            refused = {status.index for status in ack.statuses if status.HasField("error")}
            self._memory.pages.update(url for i, url in enumerate(urls) if i not in refused)
            return not refused
        return False

    def work(self, node: Node, stop: threading.Event) -> None:
        """Takes pages by one node and reports each: some found a change, some are never answered."""
        scheduler = scheduler_pb2_grpc.SchedulerServiceStub(self._channels[node.name])
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
            leases = self._note(node, response.assignments)
            self.report([lease for lease in leases if dice.random() < 0.98])

    def work_by_stream(self, node: Node, stop: threading.Event) -> None:
        """Takes pages by a stream to one node, of all divisions, and reports them on it; as a busy worker, with little credit."""
        scheduler = scheduler_pb2_grpc.SchedulerServiceStub(self._channels[node.name])
        hello = scheduler_pb2.CrawlRequest(
            hello=scheduler_pb2.WorkerHello(worker=f"stream-of-{node.name}", crawl_ids=CRAWL_IDS)
        )
        while not stop.is_set():
            messages: queue.SimpleQueue[scheduler_pb2.CrawlRequest | None] = queue.SimpleQueue()
            messages.put(hello)
            messages.put(scheduler_pb2.CrawlRequest(credit=scheduler_pb2.Credit(assignments=3)))
            call = scheduler.Crawl(iter(messages.get, None), timeout=20)
            sent: dict[int, tuple[list[Lease], float]] = {}
            try:
                for response in call:
                    if response.HasField("result_ack"):
                        self._take_ack(response.result_ack, *sent.pop(response.result_ack.sequence))
                    leases = self._note(node, response.assignments.assignments)
                    if not leases or stop.is_set():
                        continue
                    results, fetched = self._results(leases)
                    number = leases[0].number
                    sent[number] = (leases, fetched)
                    batch = scheduler_pb2.ResultBatch(sequence=number, results=results)
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
        self._memory.leases.extend(leases)
        return leases

    @staticmethod
    def _results(leases: list[Lease]) -> tuple[list[types_pb2.CrawlResult], float]:
        """Of a fetch that has just ended."""
        fetched = time.time()
        results = []
        for lease in leases:
            result = types_pb2.CrawlResult(lease_id=lease.number, url=lease.url, http_status=200)
            result.fetch_time.FromMicroseconds(int(fetched * 1e6))
            result.content_digest = str(int(fetched) // 7).encode()
            results.append(result)
        return results, fetched

    def _take_ack(self, ack: types_pb2.BatchAck, leases: list[Lease], fetched: float) -> None:
        if ack.HasField("error"):
            return
        refused = {status.index for status in ack.statuses if status.HasField("error")}
        # Of a lease that ran out while nobody served: learned from, but the page may be somebody else's by then.
        late = {status.index for status in ack.statuses if status.outcome == types_pb2.ITEM_OUTCOME_OBSERVED_ONLY}
        for i, lease in enumerate(leases):
            if i not in refused:
                lease.answered = time.time()
            if i not in refused | late:
                self._memory.crawled[lease.url] = fetched

    def report(self, leases: list[Lease]) -> None:
        if not leases:
            return
        results, fetched = self._results(leases)
        request = ingest_pb2.ReportCrawlsRequest(results=results)
        # To any: the one that handed them out may be gone.
        for node in self._nodes * 2:
            stub = ingest_pb2_grpc.IngestServiceStub(self._channels[node.name])
            try:
                ack = next(iter(stub.ReportCrawls(iter([request]), timeout=3))).ack
            except (grpc.RpcError, StopIteration):
                continue
            self._take_ack(ack, leases, fetched)
            return

    def page(self, url: str) -> pages_pb2.GetPageResponse | None:
        said = ""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            for node in self._nodes:
                stub = pages_pb2_grpc.PagesServiceStub(self._channels[node.name])
                try:
                    return stub.GetPage(pages_pb2.GetPageRequest(url=url), timeout=5)
                except grpc.RpcError as error:
                    if error.code() == grpc.StatusCode.NOT_FOUND:
                        return None
                    said = f"{node.name}: {error.code()}: {error.details()}"
            time.sleep(0.1)
        message = f"no node answers: {said}"
        raise ConnectionError(message)


STEPS = ["kill", "kill", "lose", "restore", "pause", "pause", "broker", "broker_pause", "restart", "standby", "drain"]


class Chaos:
    """Kills and pauses one thing at a time: of the nodes mostly one that serves."""

    def __init__(
        self, divisions: list[list[Node]], brokers: Brokers, dice: random.Random, steps: list[str]
    ) -> None:
        self._steps = steps
        self._divisions = divisions
        self._brokers = brokers
        self._dice = dice
        self.done: collections.Counter[str] = collections.Counter()
        self.failovers: list[float] = []
        self.hand_overs: list[float] = []
        self.faults: list[str] = []

    def play(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            await_all_serving(self._divisions, 90)
            time.sleep(self._dice.uniform(2, 6))
            step = self._dice.choice(self._steps)
            self.done[step] += 1
            print(f"{until - time.monotonic():6.1f} s left: {step}", flush=True)
            getattr(self, f"_{step}")()

    def _serving(self) -> tuple[Node, list[Node]]:
        """The one that serves some division, and all nodes of that."""
        nodes = self._dice.choice(self._divisions)
        return next((node for node in nodes if node.ready()), nodes[0]), nodes

    def _kill(self) -> None:
        node, nodes = self._serving()
        node.kill()
        self.failovers.append(await_serving(nodes, 90))
        node.start()

    def _lose(self) -> None:
        node, nodes = self._serving()
        node.kill()
        node.lose_disk()
        await_serving(nodes, 90)
        node.start()

    def _restore(self) -> None:
        """Its disk is lost as well, but for a checkpoint that is some seconds old."""
        node, nodes = self._serving()
        with grpc.insecure_channel(node.address) as channel:
            stub = admin_pb2_grpc.AdminServiceStub(channel)
            request = admin_pb2.CreateCheckpointRequest(name=f"play-{self.done['restore']}")
            try:
                checkpoint = stub.CreateCheckpoint(request, timeout=20).path
            except grpc.RpcError:
                self.done["restore without checkpoint"] += 1
                return
        time.sleep(self._dice.uniform(0, 4))
        node.kill()
        node.restore(checkpoint)
        await_serving(nodes, 90)
        node.start()

    def _restart(self) -> None:
        self._serving()[0].terminate()

    def _standby(self) -> None:
        """One that stands by comes and goes, which the one that serves does not notice."""
        node, nodes = self._serving()
        other = self._dice.choice([each for each in nodes if each is not node])
        ended = other.ended_by_itself
        other.terminate()
        until = time.monotonic() + 60
        while other.ended_by_itself == ended or "standing by" not in other.readiness():
            if other.ready() or time.monotonic() > until:
                break
            time.sleep(0.1)
        time.sleep(2)
        if not node.ready():
            self.faults.append(f"{node.name} serves no more, as {other.name} has come and gone")

    def _drain(self) -> None:
        """Asked of a standby, which has the one that serves answer."""
        node, nodes = self._serving()
        others = [other for other in nodes if other is not node]
        with grpc.insecure_channel(self._dice.choice(others).address) as channel:
            stub = admin_pb2_grpc.AdminServiceStub(channel)
            try:
                response = stub.DrainNode(admin_pb2.DrainNodeRequest(node=node.name), timeout=20)
            except grpc.RpcError:
                self.done["drain unanswered"] += 1
                return
        if any(division.HasField("refused") for division in response.divisions) or not response.divisions:
            self.done["drain refused"] += 1
            return
        until = time.monotonic() + 20
        while node.ready():
            if time.monotonic() > until:
                message = f"{node.name} was drained and goes on"
                raise TimeoutError(message)
            time.sleep(0.01)
        seconds = await_serving(nodes, 90)
        if node.ready():
            self.done["drained serves again"] += 1
        else:
            self.hand_overs.append(seconds)

    def _pause(self) -> None:
        node, _ = self._serving()
        node.pause()
        time.sleep(self._dice.choice([1, 3, SILENCE + 3, 3 * SILENCE]))
        node.go_on()

    def _broker(self) -> None:
        broker = self._dice.choice(self._brokers.each)
        broker.kill()
        time.sleep(self._dice.uniform(0, 5))
        broker.start()
        broker.await_listening(120)

    def _broker_pause(self) -> None:
        broker = self._dice.choice(self._brokers.each)
        broker.pause()
        time.sleep(self._dice.uniform(1, 8))
        broker.go_on()


def watch(node: Node, memory: Memory, stop: threading.Event) -> None:
    """Notes what a node says that it handed out: it shows the last 50, and is asked more often than those take."""
    while not stop.wait(0.15):
        memory.handed_out.update((each["time"], each["url"]) for each in node.status(patience=1).get("recent", []))


def await_all_serving(divisions: list[list[Node]], seconds: float) -> float:
    """How long it took until each division was served."""
    return max(await_serving(nodes, seconds) for nodes in divisions)


def check_pages(clients: list[Client], memory: Memory) -> list[str]:
    """Each page is known to one of them."""
    faults = []
    for url in sorted(memory.pages):
        page = next((found for client in clients if (found := client.page(url)) is not None), None)
        if page is None:
            faults.append(f"{url}: was acknowledged and is lost")
        elif url in memory.crawled:
            crawled = page.page.last_crawl_time.ToMicroseconds() / 1e6
            # A server takes a fetch that is later than the turn in which it learns of it as of that turn.
            if crawled < memory.crawled[url] - SLACK:
                faults.append(f"{url}: a crawl at {memory.crawled[url]:.3f} was acknowledged, the last is {crawled:.3f}")
    return faults


def check_without_log(
    directory: Path,
    arguments: argparse.Namespace,
    nodes: list[Node],
    memory: Memory,
    frontier: FrontierMemory,
    stubs: tuple[ModuleType, ModuleType],
) -> list[str]:
    """Whoever serves is killed, and its directory becomes that of a single server, which has all as well."""
    for node in nodes:
        node.end()
    singles = []
    try:
        for node in nodes:
            program = arguments.bin / "freshetd"
            singles.append(Node(directory, program, f"{node.name}-alone", SETTINGS, left=node.data))
        await_all_serving([[single] for single in singles], 60)
        faults = check_pages([Client([single], memory) for single in singles], memory)
        # The first division has it.
        faults += FrontierCrawler(singles[:1], stubs, frontier).check_contents()
    finally:
        for single in singles:
            single.end()
    return [f"without the cluster: {fault}" for fault in faults]


def check(client: Client, memory: Memory, nodes: int) -> list[str]:
    faults = check_pages([client], memory)
    by_url: dict[str, list[Lease]] = collections.defaultdict(list)
    by_host: dict[str, list[Lease]] = collections.defaultdict(list)
    for lease in sorted(memory.leases, key=lambda lease: lease.received):
        by_url[lease.url].append(lease)
        by_host[lease.host].append(lease)
    for leases in by_url.values():
        for a, b in zip(leases, leases[1:], strict=False):
            over = a.until if a.answered is None else min(a.until, a.answered)
            # An answer that was taken in may have lost its acknowledgement; then the lease counts as open here.
            if b.received < over - SLACK and a.answered is not None:
                faults.append(f"{b.url}: leased by {b.node} {over - b.received:.3f} s before {a.node}'s lease was over")
    faults += [f"{lease.url}: handed out by {lease.node} before its lease began" for lease in memory.leases if early(lease)]
    for host, leases in by_host.items():
        leases.sort(key=lambda lease: lease.until)
        for a, b in zip(leases, leases[1:], strict=False):
            if b.until - a.until < MIN_DELAY - ROUNDING:
                faults.append(f"{host}: crawled {b.until - a.until:.3f} s apart, by {a.node} and {b.node}")
    if len(memory.handed_out) < SEEN * len(memory.leases):
        faults.append(f"of {len(memory.leases)} assignments servers showed {len(memory.handed_out)}")
    faults += burst_faults(sorted(at for at, _ in memory.handed_out), nodes)
    return faults + rate_faults(sorted(lease.received for lease in memory.leases))


def early(lease: Lease) -> bool:
    """So that the times of the server, which messages do not delay, can be held against its promises."""
    return lease.received < lease.until - LEASE - ROUNDING


def burst_faults(times: list[float], nodes: int) -> list[str]:
    """By when servers say that they handed out: in no window there is more than one beyond the rate for each node."""
    most = int(RATE * WINDOW) + nodes
    within = [last - first for first, last in zip(times, times[most:], strict=False)]
    over = sum(seconds < WINDOW - ROUNDING for seconds in within)
    return [f"{most + 1} were handed out within {min(within):.3f} s, {over} times"] if over else []


def rate_faults(times: list[float]) -> list[str]:
    """A message brings several assignments at once: what it has piled up is bounded by the longest wait of a message."""
    faults = []
    for seconds in (1.0, 5.0):
        first = 0
        for last, at in enumerate(times):
            while times[first] < at - seconds:
                first += 1
            most = RATE * (seconds + 0.5 + WINDOW) + 1
            if last - first + 1 > most:
                faults.append(f"{last - first + 1} assignments within {seconds} s, at most {most:.0f} may be")
                break
    return faults


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--jars", type=Path, required=True)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--divisions", type=int, default=1)
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", default=",".join(STEPS), help="what is chosen from, by chance")
    parser.add_argument("--secured", action="store_true", help="brokers ask who one is, by TLS and SCRAM")
    arguments = parser.parse_args()
    directory = arguments.directory or Path(tempfile.mkdtemp(prefix="freshet-fleet-"))
    directory.mkdir(parents=True, exist_ok=True)
    ended = 1
    try:
        ended = play_in(directory, arguments)
    finally:
        if ended:
            print(f"logs of all: {directory}", file=sys.stderr)
        elif arguments.directory is None:
            shutil.rmtree(directory)
    return ended


def play_in(directory: Path, arguments: argparse.Namespace) -> int:
    secured_for = CLUSTER if arguments.secured else None
    with Brokers(directory, arguments.jars, arguments.brokers, secured_for) as brokers:
        settings = SETTINGS + f"crawl_rate: {RATE}\nfrontier: {{scheduled_crawls: [{SCHEDULED}]}}\n"

        def member(i: int) -> Node:
            name = f"node{i + 1}"
            division = (i % arguments.divisions, arguments.divisions)
            cluster = cluster_settings(brokers, name, SILENCE, forward=True, division=division)
            return Node(directory, arguments.bin / "freshetd", name, cluster + settings)

        nodes = [member(i) for i in range(arguments.nodes)]
        try:
            return play(directory, arguments, nodes, brokers)
        except TimeoutError:
            for node in nodes:
                node.keep_stacks()
            raise
        finally:
            for node in nodes:
                node.end()


def play(directory: Path, arguments: argparse.Namespace, nodes: list[Node], brokers: Brokers) -> int:
    memory = Memory()
    client = Client(nodes, memory)
    stubs = make_stubs(directory)
    crawler = FrontierCrawler(nodes, stubs)
    divisions = [nodes[i :: arguments.divisions] for i in range(arguments.divisions)]
    chaos = Chaos(divisions, brokers, random.Random(arguments.seed), arguments.steps.split(","))
    print(f"serving after {await_all_serving(divisions, 120):.1f} s", flush=True)
    urls = [f"http://host{i % HOSTS}.test/{i}" for i in range(arguments.pages)]
    stop = threading.Event()

    def load() -> None:
        for start in range(0, len(urls), 100):
            while not client.upsert(urls[start : start + 100]):
                if stop.wait(0.1):
                    return

    threads = [threading.Thread(target=load)]
    threads += [threading.Thread(target=client.work, args=(node, stop)) for node in nodes]
    threads += [threading.Thread(target=client.work_by_stream, args=(node, stop)) for node in nodes]
    threads += crawler.threads(stop)
    threads += [threading.Thread(target=watch, args=(node, memory, stop)) for node in nodes]
    for thread in threads:
        thread.start()
    try:
        chaos.play(arguments.seconds)
        await_all_serving(divisions, 120)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    faults = chaos.faults + check(client, memory, len(nodes)) + crawler.check()
    await_all_serving(divisions, 60)
    serving = [next((node for node in of_one if node.ready()), of_one[0]) for of_one in divisions]
    faults += check_without_log(directory, arguments, serving, memory, crawler.memory, stubs)
    elsewhere = 0
    for i, node in enumerate(nodes):
        of_node = (lease.division(arguments.divisions) for lease in memory.leases if lease.node == node.name)
        elsewhere += sum(division != i % arguments.divisions for division in of_node)
    if arguments.divisions > 1 and elsewhere == 0:
        faults.append("no worker was handed a page of another division than that of its server")
    if faults:
        leases = [dataclasses.asdict(lease) for lease in sorted(memory.leases, key=lambda lease: lease.received)]
        (directory / "leases.json").write_text(json.dumps(leases, indent=0), encoding="utf-8")
    for fault in faults[:20]:
        print(fault, file=sys.stderr)
    failovers = sorted(chaos.failovers)
    print(
        json.dumps(
            {
                "seconds": arguments.seconds,
                "seed": arguments.seed,
                "divisions": arguments.divisions,
                "done": dict(chaos.done),
                "pages_acknowledged": len(memory.pages),
                "assignments": len(memory.leases),
                "of_other_divisions": elsewhere,
                "hand_outs_timed": len(memory.handed_out),
                "results_acknowledged": sum(lease.answered is not None for lease in memory.leases),
                "frontier_urls": len(crawler.memory.urls),
                "frontier_given_out": len(crawler.memory.given_out),
                "frontier_given_out_by_value": crawler.memory.by_value(),
                "frontier_answers": sum(len(answers) for answers in crawler.memory.answers.values()),
                "failover_seconds": [round(seconds, 2) for seconds in failovers],
                "hand_over_seconds": [round(seconds, 2) for seconds in sorted(chaos.hand_overs)],
                "ended_by_themselves": sum(node.ended_by_itself for node in nodes),
                "faults": len(faults),
            }
        )
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
