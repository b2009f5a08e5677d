"""Checks promises by what clients received and first sent. Each check returns its faults and counts its cases."""

from __future__ import annotations

import collections
from itertools import pairwise
from typing import TYPE_CHECKING

from acts import SLOW_DELAY
from load import LEASE
from memory import Call, Heartbeat, Lease, Memory, Timeline

if TYPE_CHECKING:
    from collections.abc import Iterable

    from load import Client

RATE = 100.0
MIN_DELAY = 0.25
WINDOW = 0.1
SEEN = 0.9  # part of all leases that the servers' lists must show
# Error of a measurement at the client: two clocks of two processes on a loaded machine.
SLACK = 0.05
# Longest time of a message under way.
TRANSIT = 1.0
# Error of times in whole microseconds that are kept as floating-point numbers.
ROUNDING = 0.001
# For each stop: assignments that a server may hold when it stops, and send when it continues.
IN_HAND = 2
# By then an unanswered call has ended, even if a stopped server continued meanwhile.
UNANSWERED = 60.0


class Judge:
    def __init__(self, memory: Memory, timeline: Timeline, heartbeat: Heartbeat, divisions: dict[str, int]) -> None:
        """`divisions`: the division of each node."""
        self._memory = memory
        self._timeline = timeline
        self._heartbeat = heartbeat
        self._divisions = divisions
        self._count = len(set(divisions.values()))
        self._leases = sorted(memory.leases, key=lambda lease: lease.received)

    def all(self) -> list[str]:
        faults = self._exclusive() + self._in_flight() + self._in_time() + self._gaps() + self._slow_hosts()
        faults += self._removed() + self._paused() + self._bursts() + self._rate() + self._ids()
        return faults

    def _checked(self, what: str, count: int = 1) -> None:
        self._memory.checked[what] += count

    def _void(self, what: str, count: int = 1) -> None:
        self._memory.void[what] += count

    def _slack(self, begin: float, end: float) -> float:
        """Largest error of times between `begin` and `end`."""
        return SLACK + self._heartbeat.late(begin, end) + self._timeline.clock(begin - LEASE, end)

    def _grouped(self, by: str) -> Iterable[tuple[str, list[Lease]]]:
        groups: dict[str, list[Lease]] = collections.defaultdict(list)
        for lease in self._leases:
            groups[getattr(lease, by)].append(lease)
        return groups.items()

    def _overlaps(self, by: str, what: str) -> Iterable[tuple[Lease, Lease, float]]:
        """Pairs of leases of a page or host; how many seconds before the end of the first the second came."""
        for _, leases in self._grouped(by):
            for a, b in pairwise(leases):
                self._checked(what)
                early = a.over() - b.received - self._slack(a.received, b.received)
                if early > 0:
                    yield a, b, early

    def _exclusive(self) -> list[str]:
        return [
            f"{a.url}: leased by {b.node} {early:.3f} s before {a.node}'s lease was over"
            for a, b, early in self._overlaps("url", "L1 one lease a page")
        ]

    def _in_flight(self) -> list[str]:
        """Checks that each host has one fetch at a time."""
        return [
            f"{a.host}: two in flight, {b.url} by {b.node} {early:.3f} s before {a.url} was over"
            for a, b, early in self._overlaps("host", "L2 fetches in flight")
            if a.url != b.url
        ]

    def _in_time(self) -> list[str]:
        """Checks that assignments come during their lease, and leave before half of it is over."""
        faults = []
        late: dict[str, list[Lease]] = collections.defaultdict(list)
        for lease in self._leases:
            slack = self._slack(lease.until - LEASE, lease.received)
            if lease.received < lease.until - LEASE - ROUNDING - self._timeline.clock(lease.received - LEASE, lease.received):
                faults.append(f"{lease.url}: handed out by {lease.node} before its lease began")
            by_way_of_another = lease.division(self._count) != self._divisions[lease.node]
            if by_way_of_another and self._timeline.within(("stop",), lease.until - LEASE, lease.received):
                self._void("L3 handed out in time")
                continue
            self._checked("L3 handed out in time")
            if lease.received > lease.until - LEASE / 2 + TRANSIT + slack:
                late[lease.node].append(lease)
        for node, leases in late.items():
            stops: collections.Counter[float] = collections.Counter()
            for lease in leases:
                spans = self._timeline.within(("stop",), lease.until - LEASE, lease.received, node)
                stops[spans[-1].begin if spans else 0] += 1
            if 0 in stops or max(stops.values()) > IN_HAND:
                worst = max(leases, key=lambda lease: lease.received - lease.until)
                over = worst.received - worst.until
                faults.append(
                    f"{len(leases)} pages RECEIVED by {node} when more than half of their leases was over; the latest,"
                    f" {worst.url}, {over:+.3f} s after its lease was over"
                )
        return faults

    def _gaps(self) -> list[str]:
        """Checks the gaps between planned crawls of a host, which messages do not delay."""
        faults = []
        for host, leases in self._grouped("host"):
            for a, b in pairwise(sorted(leases, key=lambda lease: lease.until)):
                self._checked("L3 gaps of hosts")
                if b.until - a.until < MIN_DELAY - ROUNDING - self._timeline.clock(a.received - LEASE, b.received):
                    faults.append(f"{host}: crawled {b.until - a.until:.3f} s apart, by {a.node} and {b.node}")
        return faults

    def _slow_hosts(self) -> list[str]:
        """Checks the gaps between received pages, for hosts with a delay far longer than a message takes."""
        faults = []
        for host, leases in self._grouped("host"):
            if host not in self._memory.slow_hosts:
                continue
            for a, b in pairwise(leases):
                if self._timeline.within(("stop",), a.until - LEASE, b.received):
                    self._void("L3 gaps by receipt")
                    continue
                self._checked("L3 gaps by receipt")
                gap = b.received - a.received
                if gap < SLOW_DELAY - TRANSIT - self._slack(a.received - LEASE, b.received):
                    faults.append(f"{host}: received {gap:.3f} s apart, by {a.node} and {b.node}")
        return faults

    def _removed(self) -> list[str]:
        faults = []
        for lease in self._leases:
            removed = self._memory.removed.get(lease.url)
            if removed is None:
                continue
            self._checked("L4 removed stays removed")
            begun = lease.until - LEASE
            # The page may have been leased before, for the next second.
            if begun > removed + TRANSIT + self._slack(begun, lease.received):
                faults.append(f"{lease.url}: leased by {lease.node} {begun - removed:.3f} s after it was removed")
        return faults

    def _paused(self) -> list[str]:
        """Checks that nothing is handed out from the acknowledgement of a pause until a call begins to end it."""
        calls = self._memory.settings["pause"]
        faults = []
        for pause in (call for call in calls if call.value is True and call.ended < float("inf")):
            ends = [call for call in calls if call.value is False and end_of(call) > pause.begun]
            begin, end = pause.ended + TRANSIT, min((call.begun for call in ends), default=float("inf"))
            if end <= begin:
                continue
            self._checked("L6 a pause is a pause")
            if self._timeline.within(("stop",), begin - LEASE, end):
                self._void("L6 a pause is a pause")
                continue
            late = [each for each in self._leases if begin + self._heartbeat.late(begin, end) < each.received < end]
            if late:
                faults.append(f"{len(late)} pages were handed out while it paused, by {sorted({each.node for each in late})}")
        return faults

    def _bursts(self) -> list[str]:
        """Checks the servers' own times: no window has more than one assignment per node above the rate."""
        if len(self._memory.handed_out) < SEEN * len(self._leases):
            self._void("L11 bursts", len(self._leases))  # the servers were not asked often enough
            return []
        times = sorted(at for at, _ in self._memory.handed_out if self._timeline.clock(at - 1, at + 1) == 0)
        self._checked("L11 bursts", len(times))
        most = int(RATE * WINDOW) + len(self._divisions)
        within = [last - first for first, last in zip(times, times[most:], strict=False)]
        over = sum(seconds < WINDOW - ROUNDING for seconds in within)
        return [f"{most + 1} were handed out within {min(within):.3f} s, {over} times"] if over else []

    def _rate(self) -> list[str]:
        """Checks the rate of received assignments. The longest wait of a message bounds how many it brings at once."""
        faults = []
        times = [lease.received for lease in self._leases]
        for seconds in (1.0, 5.0):
            first = 0
            for last, at in enumerate(times):
                self._checked("L11 rate")
                while times[first] < at - seconds:
                    first += 1
                most = RATE * (seconds + 0.5 + WINDOW) + 1
                if last - first + 1 <= most:
                    continue
                begin, end = at - seconds, at
                most += RATE * (self._heartbeat.late(begin - 1, end) + self._timeline.clock(begin, end))
                # A stopped server or client sends all that it held at once.
                most += 40 * len(self._timeline.within(("stop",), begin, end))
                if last - first + 1 > most:
                    faults.append(f"{last - first + 1} assignments within {seconds} s, at most {most:.0f} may be")
                    break
        return faults

    def _ids(self) -> list[str]:
        """Checks that no lease id is used twice, in any generation."""
        pages: dict[int, str] = {}
        faults = []
        for lease in self._leases:
            self._checked("L13 lease ids")
            if pages.setdefault(lease.number, lease.url) != lease.url:
                faults.append(f"lease {lease.number}: of {pages[lease.number]} and of {lease.url}")
        return faults

    def reads(self, reads: list[tuple[float, float, str, str, int, float]]) -> list[str]:
        """Checks that acknowledged writes are read, except from a server that may not know that it was replaced."""
        faults = []
        for written, read, node, url, expected, got in reads:
            if self._timeline.within(("stop", "cut", "brokers"), written - 2 * LEASE, read):
                self._void("L9 reads of own writes")
                continue
            self._checked("L9 reads of own writes")
            if got != expected:
                faults.append(f"{url}: {node} answers {got:.0f}, and {expected} was acknowledged {read - written:.3f} s before")
        return faults


def end_of(call: Call) -> float:
    return min(call.ended, call.begun + UNANSWERED)


def last_values(calls: list[Call]) -> set[object]:
    """Possible values of a setting when all is quiet: of calls after which no other was begun and acknowledged."""
    begun = [call.begun for call in calls if call.ended < float("inf")]
    return {call.value for call in calls if not any(each > end_of(call) for each in begun)}


def check_pages(clients: list[Client], memory: Memory, timeline: Timeline) -> list[str]:
    """Checks that a server knows each page, with its last crawl and all counted crawls, and no removed page."""
    faults = []
    outcomes = clients[0].outcomes()
    for url in sorted(memory.pages):
        page = next((found for client in clients if (found := client.page(url)) is not None), None)
        memory.checked["pages that are kept"] += 1
        if page is None:
            faults.append(f"{url}: was acknowledged and is lost")
            continue
        sure, perhaps = outcomes.get(url, (0, 0))
        memory.checked["L7 crawls are counted once"] += 1
        if not sure <= page.page.crawls <= sure + perhaps:
            faults.append(f"{url}: {sure} to {sure + perhaps} results were taken in, and it has {page.page.crawls}")
        if url in memory.crawled:
            crawled = page.page.last_crawl_time.ToMicroseconds() / 1e6
            # A server dates a fetch that seems to be in the future to the present.
            if crawled < memory.crawled[url] - SLACK - timeline.clock(memory.crawled[url] - LEASE, memory.crawled[url] + LEASE):
                faults.append(f"{url}: a crawl at {memory.crawled[url]:.3f} was acknowledged, the last is {crawled:.3f}")
    for url in memory.removed:
        memory.checked["L4 removed stays removed"] += 1
        if any(client.page(url) is not None for client in clients):
            faults.append(f"{url}: was removed and is there")
    return faults
