"""The faults of a play: one at a time, for servers, brokers and the network between them."""

from __future__ import annotations

import collections
import contextlib
import random
import time
from typing import TYPE_CHECKING

import grpc
from freshet.v1 import admin_pb2, admin_pb2_grpc
from load import LEASE
from memory import Heartbeat, Memory, Timeline
from nodes import CLUSTER, FAILS, HANGS, WELL, Node, await_serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acts import Acts
    from brokers import Broker, Brokers
    from net import Net, Place

    Pairs = list[tuple[Node, Node | Broker]]

SILENCE = 5
HANDOVER = 20  # most seconds that an ending server waits for others
GRANT = 10  # seconds of a grant of the crawl rate
LINK_RATES = [100_000, 10_000_000]  # bytes a second
QUOTAS = [2_000, 20_000]
# Seconds after a fault until a division hands out pages again: a take-over and a new grant.
HANDS_OUT = 60
# Seconds for which a ready server may hand out nothing.
SILENT_WHILE_WELL = 2 * GRANT + 20
DAY = 86_400
ENOUGH_ON_DISK = 100 << 20  # bytes at which a server takes no more writes
RESURRECTED = 400
ENDS = 30  # seconds after which a server without a disk must have ended


def topic_of(division: int, divisions: int) -> str:
    return f"{CLUSTER}.changes" if divisions == 1 else f"{CLUSTER}-{division}-of-{divisions}.changes"


def nodes_of(pairs: Pairs) -> list[Node]:
    return [node for pair in pairs for node in pair if isinstance(node, Node)]


def places(pairs: Pairs) -> Iterator[tuple[Place, Place]]:
    for a, b in pairs:
        assert a.place is not None
        assert b.place is not None
        yield a.place, b.place


class Stage:
    """The servers, brokers and network that faults act on."""

    def __init__(
        self, divisions: list[list[Node]], brokers: Brokers, net: Net | None, memory: Memory, timeline: Timeline
    ) -> None:
        self.divisions = divisions
        self.brokers = brokers
        self.net = net
        self.memory = memory
        self.timeline = timeline
        self.heartbeat = Heartbeat()
        self._seen = 0
        self._last = [0.0] * len(divisions)

    def of(self, node: Node) -> int:
        return next(i for i, nodes in enumerate(self.divisions) if node in nodes)

    def serving(self, division: int) -> Node:
        nodes = self.divisions[division]
        return next((node for node in nodes if node.ready()), nodes[0])

    def last_received(self, division: int) -> float:
        """The time at which a client last received a lease of the division."""
        leases = self.memory.leases
        for lease in leases[self._seen :]:
            of = lease.division(len(self.divisions))
            self._last[of] = max(self._last[of], lease.received)
            self._seen += 1
        return self._last[division]

    def await_handing_out(self, begin: float) -> list[str]:
        """Expects that each division hands out a page after `begin`, not counting time in which it is paused."""
        faults = []
        for division in range(len(self.divisions)):
            left = float(HANDS_OUT)
            before = time.monotonic()
            while self.last_received(division) < begin:
                time.sleep(0.1)
                now = time.monotonic()
                if not self.serving(division).status(patience=1).get("paused", False):
                    left -= now - before
                before = now
                if left < 0:
                    said = "; ".join(f"{node.name}: {node.readiness()}" for node in self.divisions[division])
                    faults.append(f"division {division} hands out nothing for {HANDS_OUT} s: {said}")
                    break
            self.memory.checked["L12 hands out again"] += 1
        return faults


class Chaos:
    """Runs the faults, mostly on a serving node."""

    def __init__(self, stage: Stage, acts: Acts, dice: random.Random, steps: list[str]) -> None:
        self._stage = stage
        self._acts = acts
        self._divisions = stage.divisions
        self._brokers = stage.brokers
        self._timeline = stage.timeline
        self._dice = dice
        self._steps = steps
        self.done: collections.Counter[str] = collections.Counter()
        self.failovers: list[float] = []
        self.hand_overs: list[float] = []
        self.faults: list[str] = []

    def play(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._await_all(90)
            time.sleep(self._dice.uniform(2, 6))
            step = self._dice.choice(self._steps)
            self.done[step] += 1
            print(f"{until - time.monotonic():6.1f} s left: {step}", flush=True)
            getattr(self, f"_{step}")()
            self._await_all(90)
            self.faults += [f"after {step}: {fault}" for fault in self._stage.await_handing_out(time.time())]

    def _await_all(self, seconds: float) -> None:
        for nodes in self._divisions:
            await_serving(nodes, seconds)

    def _serving(self) -> tuple[Node, list[Node]]:
        """The serving node of a random division, and all nodes of that division."""
        division = self._dice.randrange(len(self._divisions))
        return self._stage.serving(division), self._divisions[division]

    # --- Servers end

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
        """Kills the node, and removes its disk except for a checkpoint that is some seconds old."""
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
        """Restarts a standby, which the serving node must not notice."""
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
        """Asks a standby to drain the serving node; the standby forwards the call."""
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
        until = time.monotonic() + HANDOVER + 10
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

    # --- Servers stop and go on

    def _stop(self, node: Node, seconds: float) -> None:
        span = self._timeline.begin("stop", node.name)
        node.pause()
        time.sleep(seconds)
        node.go_on()
        # Messages that were under way arrive now.
        span.end = time.time() + 1

    def _pause(self) -> None:
        self._stop(self._serving()[0], self._dice.choice([1, 3, SILENCE + 3, 3 * SILENCE]))

    def _pause_through(self) -> None:
        """Stops the node until another serves, and kills that one. The turn may return to the first."""
        node, nodes = self._serving()
        span = self._timeline.begin("stop", node.name)
        node.pause()
        others = [other for other in nodes if other is not node]
        until = time.monotonic() + 60
        while not any(other.ready() for other in others) and time.monotonic() < until:
            time.sleep(0.1)
        for other in others:
            other.kill()
        node.go_on()
        span.end = time.time() + 1
        await_serving(nodes, 90)
        for other in others:
            other.start()

    def _long_stop(self) -> None:
        """Stops a standby until removals are compacted out of the log. Afterwards it must not stand by."""
        node, nodes = self._serving()
        division = self._stage.of(node)
        other = self._dice.choice([each for each in nodes if each is not node])
        self._acts.add_pages(RESURRECTED)
        time.sleep(3)
        topic = topic_of(division, len(self._divisions))
        self._brokers.set_topic(topic, delete_retention_ms="100")
        span = self._timeline.begin("stop", other.name)
        other.pause()
        removed = self._acts.remove_pages(RESURRECTED)
        time.sleep(25)
        # The topic has its usual retention again, and the clock below makes the standby see a week pass.
        self._brokers.set_topic(topic, delete_retention_ms=str(7 * DAY * 1000))
        ended = other.ended_by_itself
        other.set_clock(7 * DAY + 3600)
        other.go_on()
        span.end = time.time() + 1
        until = time.monotonic() + 30
        while other.ended_by_itself == ended and time.monotonic() < until:
            time.sleep(0.1)
        self._stage.memory.checked["L4 long away"] += 1
        if other.ended_by_itself == ended:
            self.faults.append(f"{other.name}: '{other.readiness()}' when it was away for longer than delete.retention.ms")
            node.kill()
            # The standby takes over and answers, though by its clock it has no grant.
            self._count_returned(removed)
            node.start()
        other.kill()
        other.lose_disk()
        other.set_clock(0)
        other.start()

    def _count_returned(self, removed: list[str]) -> None:
        returned = sum(self._acts.is_there(url) for url in removed)
        if returned > 0:
            self.faults.append(f"{returned} of {len(removed)} removed pages are there again")

    # --- Clocks

    def _leader(self) -> Node:
        """The node that splits the crawl rate."""
        for division in range(len(self._divisions)):
            node = self._stage.serving(division)
            with grpc.insecure_channel(node.address) as channel:
                try:
                    fleet = admin_pb2_grpc.AdminServiceStub(channel).GetFleet(admin_pb2.GetFleetRequest(), timeout=5)
                except grpc.RpcError:
                    continue
            for each in fleet.divisions:
                if each.leads:
                    return self._stage.serving(each.division)
        return self._stage.serving(0)

    def _clock(self) -> None:
        """Moves the leader's clock two seconds ahead, and back."""
        node = self._leader()
        span = self._timeline.begin("clock", node.name, amount=2.5)
        node.set_clock(2)
        time.sleep(2.5)
        node.set_clock(0)
        time.sleep(8)  # until then its clock runs slower
        span.end = time.time() + 2 * LEASE

    def _skew(self) -> None:
        """Moves a clock by less than the tolerance of a fleet."""
        node, _ = self._serving()
        span = self._timeline.begin("clock", node.name, amount=0.5)
        node.set_clock(self._dice.choice([-0.3, 0.3]))
        time.sleep(self._dice.uniform(5, 15))
        node.set_clock(0)
        span.end = time.time() + 2 * LEASE

    # --- Disks

    def _full(self) -> None:
        node, _ = self._serving()
        node.fill_disk(ENOUGH_ON_DISK)
        time.sleep(self._dice.uniform(2, 6))
        node.empty_disk()

    def _bad_disk(self) -> None:
        """Makes writes fail or hang. Afterwards the disk works again, or is replaced."""
        node, nodes = self._serving()
        if self._dice.random() < 0.5:
            self._hang(node, nodes)
            return
        ended = node.ended_by_itself
        node.set_disk(FAILS)
        try:
            until = time.monotonic() + ENDS
            while node.ended_by_itself == ended and time.monotonic() < until:
                time.sleep(0.1)
            self._stage.memory.checked["L12 ends without a disk"] += 1
            if node.ended_by_itself == ended:
                self.faults.append(f"{node.name} says '{node.readiness()}' and goes on for {ENDS} s without a disk")
            self.failovers.append(await_serving([other for other in nodes if other is not node], 90))
            if self._dice.random() < 0.5:
                node.kill()
                node.lose_disk()
        finally:
            node.set_disk(WELL)
        if not node.pid:
            node.start()

    def _hang(self, node: Node, nodes: list[Node]) -> None:
        """Makes the disk hang. If that lasts, another node serves, which is ready or loads the pages first."""
        ended = node.ended_by_itself
        node.set_disk(HANGS)
        try:
            if self._dice.random() < 0.5:
                time.sleep(self._dice.choice([2, LEASE]))
                return
            until = time.monotonic() + HANDS_OUT
            while node.ended_by_itself == ended and time.monotonic() < until:
                time.sleep(0.1)
            self._stage.memory.checked["L12 ends while the disk hangs"] += 1
            if node.ended_by_itself == ended:
                said = f"{node.name} says '{node.readiness()}'"
                self.faults.append(f"{said} and goes on for {HANDS_OUT} s while its disk hangs")
            self.failovers.append(await_serving([other for other in nodes if other is not node], 90))
        finally:
            node.set_disk(WELL)
        if not node.pid:
            node.start()

    # --- Brokers

    def _broker_of_chance(self) -> Broker:
        return self._dice.choice(self._brokers.each)

    def _broker(self) -> None:
        span = self._timeline.begin("brokers")
        broker = self._broker_of_chance()
        broker.kill()
        time.sleep(self._dice.uniform(0, 5))
        broker.start()
        broker.await_listening(120)
        span.end = time.time()

    def _broker_pause(self) -> None:
        span = self._timeline.begin("brokers")
        broker = self._broker_of_chance()
        broker.pause()
        time.sleep(self._dice.uniform(1, 8))
        broker.go_on()
        span.end = time.time()

    def _roll(self) -> None:
        """Restarts each broker in turn, so that coordinators and partition leaders move."""
        span = self._timeline.begin("brokers")
        for broker in self._brokers.each:
            broker.kill()
            time.sleep(4)
            broker.start()
            broker.await_listening(120)
            time.sleep(3)
        span.end = time.time()

    def _outage(self) -> None:
        """Stops all brokers, sometimes for longer than a lease."""
        span = self._timeline.begin("brokers")
        for broker in self._brokers.each:
            broker.pause()
        time.sleep(self._dice.choice([7, LEASE + 3]))
        for broker in self._brokers.each:
            broker.go_on()
        span.end = time.time()

    def _old_disk(self) -> None:
        """Makes a broker lose some seconds of writes, as if it lost its caches. The others still have them."""
        span = self._timeline.begin("brokers")
        broker = self._broker_of_chance()
        broker.kill()
        broker.copy_disk()
        broker.start()
        broker.await_listening(120)
        time.sleep(self._dice.uniform(4, 10))
        broker.kill()
        # By then the others have noticed its absence, so it leads nothing when it returns.
        time.sleep(6)
        broker.take_older_disk()
        broker.start()
        broker.await_listening(120)
        span.end = time.time()

    def _drift(self) -> None:
        """Changes a setting of a topic, and changes it back."""
        topic = topic_of(self._dice.randrange(len(self._divisions)), len(self._divisions))
        name, value, good = self._dice.choice(
            [
                ("cleanup_policy", "[compact,delete]", "compact"),
                ("min_insync_replicas", "1", "2"),
                ("segment_ms", "1000", None),
            ]
        )
        self._brokers.set_topic(topic, **{name: value})
        time.sleep(self._dice.uniform(1, 4))
        self._brokers.set_topic(topic, **{name: good})

    def _quota(self) -> None:
        """Limits the rate, in bytes a second, at which servers can send or read."""
        names = self._dice.choice([["producer_byte_rate"], ["consumer_byte_rate"], ["producer_byte_rate", "consumer_byte_rate"]])
        self._brokers.set_quota(**dict.fromkeys(names, str(self._dice.choice(QUOTAS))))
        try:
            time.sleep(self._dice.uniform(5, 20))
        finally:
            self._brokers.set_quota(**dict.fromkeys(names))

    # --- Network

    def _watch_cut(self, seconds: float, nodes: list[Node], *, somebody_can: bool) -> None:
        """Watches during a cut: ready nodes must hand out pages, and with `somebody_can` every division must."""
        divisions = {self._stage.of(node) for node in nodes}
        # Last time that a division handed out a page, was paused, or had no ready node.
        since = dict.fromkeys(divisions, time.time())
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(0.5)
            for division in divisions:
                node = self._stage.serving(division)
                excused = node.status(patience=1).get("paused", False) or not (somebody_can or node.ready())
                since[division] = max(since[division], time.time() if excused else self._stage.last_received(division))
                silent = time.time() - since[division]
                if silent > (HANDS_OUT if somebody_can else SILENT_WHILE_WELL):
                    said = f"{node.name} says '{node.readiness()}'"
                    self.faults.append(f"division {division}: {said} and hands out nothing for {silent:.0f} s")
                    since[division] = float("inf")
        self._stage.memory.checked["L12 well is well"] += len(divisions)

    def _cut(
        self,
        pairs: Pairs,
        seconds: float,
        *,
        both_ways: bool = True,
        somebody_can: bool = False,
    ) -> None:
        with self._healed("cut", pairs) as net:
            for a, b in places(pairs):
                net.cut(a, b, both_ways=both_ways)
            self._watch_cut(seconds, nodes_of(pairs), somebody_can=somebody_can)

    @contextlib.contextmanager
    def _healed(self, kind: str, pairs: Pairs) -> Iterator[Net]:
        """Heals the network afterwards, and records the fault in the timeline."""
        net = self._stage.net
        assert net is not None
        span = self._timeline.begin(kind, *(node.name for node in nodes_of(pairs)))
        try:
            yield net
        finally:
            net.heal()
            span.end = time.time()

    def _cut_servers(self) -> None:
        """Cuts all servers off from each other; each still reaches Kafka and its clients."""
        everybody = [node for nodes in self._divisions for node in nodes]
        pairs: Pairs = [
            (a, b) for i, a in enumerate(everybody) for b in everybody[i + 1 :]
        ]
        self._cut(pairs, self._dice.choice([5, SILENT_WHILE_WELL + 15]))

    def _cut_broker(self) -> None:
        pairs: Pairs = [(self._serving()[0], self._broker_of_chance())]
        self._cut(pairs, self._dice.choice([3, 20, HANDS_OUT + 5]), somebody_can=True)

    def _cut_one_way(self) -> None:
        """Drops the packets from the server to the brokers, or those from one broker to the server."""
        node, _ = self._serving()
        pairs: Pairs = [(node, broker) for broker in self._brokers.each]
        self._cut(pairs[: self._dice.randint(1, len(pairs))], self._dice.choice([3, SILENCE + 3]), both_ways=False)

    def _slow_link(self) -> None:
        """Slows the links from a serving node to all brokers and servers, by latency and perhaps by rate."""
        node, _ = self._serving()
        others: list[Node | Broker] = [other for nodes in self._divisions for other in nodes if other is not node]
        pairs: Pairs = [(node, other) for other in others + self._brokers.each]
        with self._healed("slow", pairs) as net:
            net.make_slow(self._dice.uniform(0.05, 0.3), self._dice.choice(LINK_RATES))
            for a, b in places(pairs):
                net.slow_down(a, b)
            self._watch_cut(self._dice.uniform(10, 30), [node], somebody_can=True)


# Faults that need the play's own network, disks and clocks.
OF_OWN = ["cut_servers", "cut_broker", "cut_one_way", "clock", "skew", "full", "bad_disk", "slow_link", "long_stop"]
STEPS = ["kill", "kill", "lose", "restore", "pause", "pause", "pause_through", "restart", "standby", "drain"]
STEPS += ["broker", "broker_pause", "roll", "outage", "old_disk", "drift", "quota"]
