"""Checks after a play: divisions have equal settings, and their directories equal rows, even one made from the log."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import grpc
from freshet.v1 import admin_pb2, admin_pb2_grpc
from invariants import last_values
from load import LEASE, PATIENCE
from nodes import await_serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from acts import Acts
    from faults import Stage
    from nodes import Node

PAIRS = 10
COPIED = 30  # seconds until all divisions have the same settings, once nothing fails
STANDS_BY = 90
ROWS = re.compile(r"^rows (\S+): (\d+ digest=[0-9a-f]+)$", re.MULTILINE)


def interval_of(node: Node) -> object:
    with grpc.insecure_channel(node.address) as channel:
        stub = admin_pb2_grpc.AdminServiceStub(channel)
        try:
            answer = stub.GetPolitenessDefaults(admin_pb2.GetPolitenessDefaultsRequest(), timeout=PATIENCE)
        except grpc.RpcError:
            return None
        return round(answer.defaults.min_page_interval.ToMilliseconds())


def paused_of(node: Node) -> object:
    return node.status(PATIENCE).get("paused")


OF = {"interval": interval_of, "pause": paused_of}


def await_equal(stage: Stage, name: str, ask: Callable[[Node], object]) -> list[str]:
    """Waits until the serving nodes of all divisions say the same, and one of the values set last."""
    stage.memory.checked["L5 settings are equal"] += 1
    until = time.monotonic() + COPIED
    while True:
        found = [ask(stage.serving(division)) for division in range(len(stage.divisions))]
        may_be = last_values(stage.memory.settings[name]) or set(found)
        if len(set(found)) == 1 and found[0] in may_be:
            return []
        if time.monotonic() > until:
            return [f"{name}: divisions have {found} for good; set last was one of {sorted(may_be, key=str)}"]
        time.sleep(0.2)


def check_settings(stage: Stage, acts: Acts) -> list[str]:
    """Makes pairs of calls at two nodes: all divisions must get the same value. Stops at the first fault."""

    def pause() -> None:
        acts.pair(acts.pause, acts.resume)

    rounds = [("interval", acts.set_pair)] * PAIRS + [("pause", pause)] * (PAIRS // 2) + [("pause", acts.go_on)]
    for name, change in rounds:
        change()
        faults = await_equal(stage, name, OF[name])
        if faults:
            acts.go_on()
            return faults
    return await_equal(stage, "interval", interval_of)


def check_directories(stage: Stage, acts: Acts, make: Callable[[int], Node]) -> list[str]:
    """Compares the directories by rows. `make`: makes a node with an empty disk. Afterwards no node serves."""
    while not all(acts.pause(stage.serving(division)) for division in range(len(stage.divisions))):
        time.sleep(0.5)
    new = [make(division) for division in range(len(stage.divisions))]
    try:
        time.sleep(LEASE + 2)  # ends of leases are written, too
        faults = []
        for division, replayed in enumerate(new):
            nodes = [*stage.divisions[division], replayed]
            for node in nodes:
                await_well(node)
            await_serving(nodes, STANDS_BY)
            time.sleep(3)  # they read the log once a second
            # The serving node ends last, so that no other takes over.
            for node in sorted(nodes, key=lambda each: each.ready()):
                node.end()
            stage.memory.checked["L10 directories are equal"] += len(nodes)
            faults += compare(division, nodes)
    finally:
        for node in new:
            node.end()
            node.clear()
    return faults


def await_well(node: Node) -> None:
    until = time.monotonic() + STANDS_BY
    while not node.ready() and "standing by: has the whole log" not in node.readiness():
        if time.monotonic() > until:
            message = f"{node.name}: {node.readiness()}"
            raise TimeoutError(message)
        time.sleep(0.1)


def compare(division: int, nodes: list[Node]) -> list[str]:
    faults = []
    said = {node.name: node.verify() for node in nodes}
    rows = {name: dict(ROWS.findall(text)) for name, text in said.items()}
    for name, text in said.items():
        if "problems=0" not in text:
            faults.append(f"division {division}: {name}: {text.strip()[:300]}")
    families = sorted({family for each in rows.values() for family in each})
    if not families:
        faults.append(f"division {division}: --verify says no digests: {said}")
    for family in families:
        found = {name: each.get(family, "none") for name, each in rows.items()}
        if len(set(found.values())) > 1:
            faults.append(f"division {division}: {family} differ: {found}")
    return faults
