"""Plays a cluster of freshetd on real brokers: causes faults and checks the cluster's promises.

usage: fleet.py --bin DIR --jars DIR [--directory DIR] [--seconds S] [--nodes N] [--divisions N] [--brokers N] [--pages N]
                [--hosts N] [--seed S] [--steps STEP,...] [--secured] [--plain]
Faults are those of servers, brokers, clocks, disks and the network.
Without --directory it uses a new one, which stays if a promise is broken or nobody serves.
The divisions get the nodes in turn and share one crawl rate. --plain: no private namespaces, nor faults that need them.
The clients remember only what servers told them: load.py, acts.py and frontier.py. faults.py has the faults, invariants.py
and quiet.py the promises.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from acts import Acts
from brokers import Brokers
from faults import OF_OWN, SILENCE, STEPS, Chaos, Stage
from frontier import SCHEDULED, FrontierCrawler, FrontierMemory
from frontier_stubs import make_stubs
from invariants import MIN_DELAY, RATE, Judge, check_pages
from load import LEASE, Client
from memory import Memory, Timeline
from net import Net, enter
from nodes import CLUSTER, Machine, Node, await_serving, cluster_settings
from quiet import check_directories, check_settings

if TYPE_CHECKING:
    from types import ModuleType

BUSY_HOSTS = 40  # have half of the pages
DISK_BYTES = 640 << 20
SETTINGS = (
    f"shards: 2\npacing: {{max_lateness: 2ms}}\nleases: {{default: {LEASE}s}}\n"
    f"politeness: {{min_delay: {MIN_DELAY}s, max_in_flight: 1, min_page_interval: 1s}}\n"
)
SHOWN = 40


def watch(node: Node, memory: Memory, stop: threading.Event) -> None:
    """Records what a node has handed out. Its status shows the last 50, and is read often enough to miss none."""
    while not stop.wait(0.15):
        memory.handed_out.update((each["time"], each["url"]) for each in node.status(patience=1).get("recent", []))


def urls_of(pages: int, hosts: int) -> list[str]:
    """Half of the pages are on a few hosts, so that politeness limits them; each slow host has some, too."""
    busy = [f"http://host{i % BUSY_HOSTS}.test/{i}" for i in range(pages // 2)]
    return busy + [f"http://quiet{i % hosts}.test/{i}" for i in range(pages - len(busy))]


class Play:
    def __init__(self, directory: Path, arguments: argparse.Namespace, brokers: Brokers, net: Net | None) -> None:
        self._directory = directory
        self._arguments = arguments
        self._brokers = brokers
        self._net = net
        self._machine = directory / "machine.so"
        if net:
            source = Path(__file__).parent / "machine.c"
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", self._machine, source, "-ldl"], check=True)
        self.nodes = [self._member(f"node{i + 1}", i % arguments.divisions) for i in range(arguments.nodes)]
        self._divisions = [self.nodes[i :: arguments.divisions] for i in range(arguments.divisions)]
        self._memory = Memory()
        self._timeline = Timeline()
        self._stage = Stage(self._divisions, brokers, net, self._memory, self._timeline)
        self._client = Client(self.nodes, self._memory)
        self._acts = Acts(self._client, arguments.seed)
        self._stubs = make_stubs(directory)
        self._crawler = FrontierCrawler(self.nodes, self._stubs)
        self._chaos = Chaos(self._stage, self._acts, random.Random(arguments.seed), arguments.steps.split(","))

    def _member(self, name: str, division: int) -> Node:
        machine = Machine(self._net.place(), self._machine, DISK_BYTES) if self._net else None
        of = (division, self._arguments.divisions)
        host = machine.place.address if machine else "127.0.0.1"
        settings = cluster_settings(self._brokers, name, SILENCE, forward=True, division=of, host=host)
        settings += SETTINGS + f"crawl_rate: {RATE}\nfrontier: {{scheduled_crawls: [{SCHEDULED}]}}\n"
        return Node(self._directory, self._arguments.bin / "freshetd", name, settings, machine=machine)

    def play(self) -> list[str]:
        print(f"serving after {self._await_all():.1f} s", flush=True)
        stop = threading.Event()
        threads = self._threads(stop)
        self._acts.make_slow_hosts()
        for thread in threads:
            thread.start()
        try:
            self._chaos.play(self._arguments.seconds)
            self._await_all()
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        return self._judge()

    def faults_so_far(self) -> list[str]:
        return self._chaos.faults + self._memory.faults

    def _await_all(self) -> float:
        return max(await_serving(nodes, 120) for nodes in self._divisions)

    def _threads(self, stop: threading.Event) -> list[threading.Thread]:
        def load() -> None:
            slow = [f"http://slow{i % 12}.test/{i}" for i in range(60)]
            urls = slow + urls_of(self._arguments.pages, self._arguments.hosts)
            for start in range(0, len(urls), 100):
                while not self._client.upsert(urls[start : start + 100]):
                    if stop.wait(0.1):
                        return

        threads = [threading.Thread(target=load), threading.Thread(target=self._client.answer_later, args=(stop,))]
        for work in (self._client.work, self._client.work_by_stream):
            threads += [threading.Thread(target=work, args=(node, stop)) for node in self.nodes]
        threads += self._crawler.threads(stop) + self._acts.threads(stop)
        return threads + [threading.Thread(target=watch, args=(node, self._memory, stop)) for node in self.nodes]

    def _judge(self) -> list[str]:
        divisions = {node.name: i for i, nodes in enumerate(self._divisions) for node in nodes}
        judge = Judge(self._memory, self._timeline, self._stage.heartbeat, divisions)
        faults = self.faults_so_far() + judge.all() + judge.reads(self._acts.reads)
        faults += check_settings(self._stage, self._acts)
        faults += check_pages([self._client], self._memory, self._timeline) + self._crawler.check(self._timeline)
        self._await_all()
        serving = [self._stage.serving(i) for i in range(len(self._divisions))]
        faults += check_directories(self._stage, self._acts, lambda i: self._member(f"replayed{i}", i))
        faults += self._check_without_log(serving, self._crawler.memory, self._stubs)
        if self._arguments.divisions > 1 and self._elsewhere() == 0:
            faults.append("no worker was handed a page of another division than that of its server")
        return faults

    def _check_without_log(
        self, nodes: list[Node], frontier: FrontierMemory, stubs: tuple[ModuleType, ModuleType]
    ) -> list[str]:
        """Turns the directory of each serving node into that of a single server, which must have all pages, too."""
        program = self._arguments.bin / "freshetd"
        singles: list[Node] = []
        try:
            for node in nodes:
                singles.append(Node(self._directory, program, f"{node.name}-alone", SETTINGS, left=node.data))
            for single in singles:
                await_serving([single], 60)
            clients = [Client([single], self._memory) for single in singles]
            faults = check_pages(clients, self._memory, self._timeline)
            # The first division has the frontier.
            faults += FrontierCrawler(singles[:1], stubs, frontier).check_contents()
        finally:
            for single in singles:
                single.end()
        return [f"without the cluster: {fault}" for fault in faults]

    def _elsewhere(self) -> int:
        """Number of pages that workers got from servers of other divisions."""
        count = self._arguments.divisions
        leases = self._memory.leases
        of = {node.name: i for i, nodes in enumerate(self._divisions) for node in nodes}
        return sum(lease.division(count) != of[lease.node] for lease in leases)

    def keep(self) -> None:
        leases = [dataclasses.asdict(lease) for lease in sorted(self._memory.leases, key=lambda lease: lease.received)]
        (self._directory / "leases.json").write_text(json.dumps(leases, indent=0), encoding="utf-8")
        spans = [dataclasses.asdict(span) for span in self._timeline.spans]
        (self._directory / "spans.json").write_text(json.dumps(spans, indent=0), encoding="utf-8")
        for node in self.nodes:
            shutil.copytree(node.data, node.directory / "data", dirs_exist_ok=True)

    def summary(self, faults: list[str]) -> dict[str, object]:
        memory, chaos = self._memory, self._chaos
        stalls = self._stage.heartbeat.stalls
        return {
            "seconds": self._arguments.seconds,
            "seed": self._arguments.seed,
            "divisions": self._arguments.divisions,
            "done": dict(chaos.done),
            "operations": {
                "pages": len(memory.pages),
                "assignments": len(memory.leases),
                "of_other_divisions": self._elsewhere(),
                "hand_outs_timed": len(memory.handed_out),
                "frontier_urls": len(self._crawler.memory.urls),
                "frontier_given_out": len(self._crawler.memory.given_out),
                "frontier_given_out_by_value": self._crawler.memory.by_value(),
                "frontier_answers": sum(len(answers) for answers in self._crawler.memory.answers.values()),
                **memory.counts,
            },
            "checked": dict(sorted(memory.checked.items())),
            "void": dict(sorted(memory.void.items())),
            "stalls_of_the_play": [len(stalls), round(sum(b - a for a, b in stalls), 1)],
            "failover_seconds": [round(seconds, 2) for seconds in sorted(chaos.failovers)],
            "hand_over_seconds": [round(seconds, 2) for seconds in sorted(chaos.hand_overs)],
            "ended_by_themselves": sum(node.ended_by_itself for node in self.nodes),
            "faults": len(faults),
        }


def play_in(directory: Path, arguments: argparse.Namespace, *, own: bool) -> int:
    secured_for = CLUSTER if arguments.secured else None
    with contextlib.ExitStack() as stack:
        net = stack.enter_context(Net()) if own else None
        places = [net.place() for _ in range(arguments.brokers)] if net else None
        brokers = Brokers(directory, arguments.jars, arguments.brokers, secured_for, places=places, compacting=True)
        play = Play(directory, arguments, stack.enter_context(brokers), net)
        faults = ["it ended before its end"]
        try:
            faults = play.play()
        except TimeoutError as error:
            # For example, nobody has served for too long, so nothing more can be checked.
            faults = [*play.faults_so_far(), str(error)]
            for node in play.nodes:
                node.keep_stacks()
        finally:
            for node in play.nodes:
                node.end()
            if faults:
                play.keep()
            for node in play.nodes:
                node.clear()
        for fault in faults[:SHOWN]:
            print(fault, file=sys.stderr)
        print(json.dumps(play.summary(faults)))
        return 1 if faults else 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--jars", type=Path, required=True)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--divisions", type=int, default=1)
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--pages", type=int, default=8000)
    parser.add_argument("--hosts", type=int, default=3000, help="that have one page or two")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", help="what is chosen from, by chance")
    parser.add_argument("--secured", action="store_true", help="brokers ask who one is, by TLS and SCRAM")
    parser.add_argument("--plain", action="store_true", help="no network, clocks and disks of the play's own")
    arguments = parser.parse_args()
    own = not arguments.plain and enter()
    if not own:
        print(f"without {', '.join(OF_OWN)}: these need namespaces and tun devices (unshare, ip)", file=sys.stderr)
    arguments.steps = arguments.steps or ",".join(STEPS + (OF_OWN if own else []))
    directory = arguments.directory or Path(tempfile.mkdtemp(prefix="freshet-fleet-"))
    directory.mkdir(parents=True, exist_ok=True)
    ended = 1
    try:
        ended = play_in(directory, arguments, own=own)
    finally:
        if ended:
            again = [argument for argument in sys.argv[1:] if argument not in (str(arguments.bin), str(arguments.jars))]
            again = [argument for argument in again if argument not in ("--bin", "--jars")]
            print(f"logs of all: {directory}\nonce more: ./dev fleet {shlex.join(again)}", file=sys.stderr)
        elif arguments.directory is None:
            shutil.rmtree(directory)
    return ended


if __name__ == "__main__":
    sys.exit(main())
