"""Measures the cost of a cluster and the speed of a take-over; prints one line of JSON for each row.

usage: measure.py --bin DIR --jars DIR [--pages N] [--seconds S] [--brokers N] [--rounds N]
                  [--divisions 1,2,3 | --log | --frontier [--urls-per-queue N]]
Default: throughput and processor time (`freshet-bench serve`) of a server without Kafka, of one with it, and of the latter
through a standby, in turns; even rounds show the standby's processor time. Then the time from kill -9 to the first
assignment: with a standby, and for a restart with its disk and without.
--divisions: items sent to one server of fleets with so many divisions, and the processor time of all their servers.
--log: rows and bytes of the log for each item, their size on a broker's disk, and the time in which a server with an empty
disk reads the log.
--frontier: the crawl-frontier API without Kafka, with it, and through a standby, each with --pages URLs, and the time from
kill -9 to the first URL.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import grpc
from brokers import Brokers
from frontier_stubs import make_stubs
from freshet.v1 import admin_pb2, admin_pb2_grpc, ingest_pb2, ingest_pb2_grpc, scheduler_pb2, scheduler_pb2_grpc, types_pb2
from nodes import CLUSTER, Node, await_serving, cluster_settings

SILENCE = 5
# The settings that freshet-bench gives its own servers.
SETTINGS = "shards: 1\ncrawl_rate: 0\nepochs: {interval: 0}\n"
RATE = 1000.0
PATIENCE = 600
# The metric that counts the items of each mode, at the server that has the page.
COUNTED = {
    "upsert": "freshet_upserts_total",
    "signals": "freshet_signals_total",
    "results": "freshet_results_total",
    "crawl": "freshet_assignments_total",
}
ROWS, ROWS_READ = (f'freshet_cluster_rows_total{{cluster="{CLUSTER}",op="{op}"}}' for op in ("appended", "read"))
BYTES = "freshet_cluster_appended_bytes_total"
ELSEWHERE = "freshet_cluster_assignments_elsewhere_total"
# Seconds after which divisions that had no workers have their grants.
TO_SHARE_OUT = 20


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--jars", type=Path, required=True)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--divisions", type=lambda text: [int(part) for part in text.split(",")], default=[])
    parser.add_argument("--log", action="store_true")
    parser.add_argument("--frontier", action="store_true")
    parser.add_argument("--urls-per-queue", type=int, default=10)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="freshet-fleet-") as scratch:
        directory = Path(scratch)
        with Brokers(directory, arguments.jars, arguments.brokers) as brokers:
            program = arguments.bin / "freshetd"
            if arguments.divisions:
                measure_divisions(arguments, directory, brokers)
                return 0

            def member(name: str) -> Node:
                settings = cluster_settings(brokers, name, SILENCE, forward=True)
                return Node(directory, program, name, settings + SETTINGS)

            nodes = [member("first")]
            try:
                if arguments.log:
                    measure_log(arguments, directory, nodes[0])
                    nodes.append(member("second"))
                    measure_restore(nodes[1])
                    return 0
                nodes.insert(0, Node(directory, program, "alone", SETTINGS))
                if arguments.frontier:
                    nodes.append(member("second"))
                    measure_frontier(arguments, directory, nodes)
                    return 0
                measure_throughput(arguments, nodes[0], nodes[1])
                nodes[0].end()
                nodes.append(member("second"))
                await_standing_by(nodes[2])
                measure_forwarding(arguments, nodes[1], nodes[2])
                for _ in range(2):
                    measure_handover(arguments, nodes[1], nodes[2])
                    nodes[1], nodes[2] = nodes[2], nodes[1]
                measure_failover(nodes[1], nodes[2])
            finally:
                for node in nodes:
                    node.end()
    return 0


def measure_throughput(arguments: argparse.Namespace, alone: Node, member: Node) -> None:
    for node in (alone, member):
        await_serving([node], PATIENCE)
    for turn in range(arguments.rounds):
        for node, brokers in ((alone, 0), (member, arguments.brokers)):
            modes = "upsert,signals,results,crawl"
            rows = bench(arguments, node.address, node, ["--mode", modes, *(["--loaded"] if turn else [])])
            for row in rows:
                print(json.dumps({"brokers": brokers, "round": turn + 1, **row}), flush=True)


def measure_frontier(arguments: argparse.Namespace, directory: Path, nodes: list[Node]) -> None:
    """Measures a server alone, a server of a cluster, and its standby."""
    alone, member, standby = nodes
    await_serving([alone, member], PATIENCE)
    await_standing_by(standby)
    ways = (("alone", alone, alone), ("in a cluster", member, member), ("by way of a standby", standby, member))
    for turn in range(arguments.rounds):
        for way, asked, server in ways:
            loads = asked is server and turn == 0
            more = ["--mode", "frontier_put,frontier_crawl" if loads else "frontier_crawl"]
            more += ["--pages-per-host", str(arguments.urls_per_queue), *([] if loads else ["--loaded"])]
            for row in bench(arguments, asked.address, server, more):
                print(json.dumps({"frontier": way, "round": turn + 1, **row}), flush=True)
    stubs = make_stubs(directory)
    # Makes sure that some URLs are due.
    first_url(member, stubs)
    member.kill()
    seconds = first_url(standby, stubs)
    row = {"case": "a standby takes over", "urls": arguments.pages, "queues": arguments.pages // arguments.urls_per_queue}
    print(json.dumps({**row, "silence": SILENCE, "first_url_seconds": round(seconds, 2)}), flush=True)


def first_url(node: Node, stubs: tuple[Any, Any]) -> float:
    """Seconds from now until the node gives out a URL."""
    start = time.monotonic()
    stub = stubs[1].URLFrontierStub(grpc.insecure_channel(node.address))
    while time.monotonic() - start < PATIENCE:
        try:
            if list(stub.GetURLs(stubs[0].GetParams(max_urls_per_queue=1, max_queues=1), timeout=20)):
                return time.monotonic() - start
        except grpc.RpcError:
            time.sleep(0.02)
    message = f"{node.name} gives out nothing"
    raise TimeoutError(message)


def measure_log(arguments: argparse.Namespace, directory: Path, node: Node) -> None:
    """Rows and bytes in the log for each new page, signal, result and assignment."""
    await_serving([node], PATIENCE)
    for mode, counted in COUNTED.items():
        counted = "freshet_pages" if mode == "upsert" else counted
        before = [counted_by([node], family) for family in (counted, ROWS, BYTES)]
        disk = disk_bytes(directory)
        bench(arguments, node.address, node, ["--mode", mode, *(["--loaded"] if mode != "upsert" else [])])
        items, rows, size = (
            counted_by([node], family) - at for family, at in zip((counted, ROWS, BYTES), before, strict=True)
        )
        said: dict[str, Any] = {"log_of": mode, "items": round(items), "rows_an_item": round(rows / items, 2)}
        said["bytes_an_item"] = round(size / items, 1)
        said["bytes_on_a_broker_an_item"] = round((disk_bytes(directory) - disk) / items, 1)
        print(json.dumps(said), flush=True)


def disk_bytes(directory: Path) -> int:
    """Size of the log on one broker. Here each broker has all of it."""
    return sum(segment.stat().st_size for segment in directory.glob("broker1/data/*.changes-*/*.log"))


def measure_restore(node: Node) -> None:
    start = time.monotonic()
    await_standing_by(node)
    seconds = time.monotonic() - start
    rows = counted_by([node], ROWS_READ)
    said = {"case": "an empty disk is filled from the log", "rows": round(rows), "seconds": round(seconds, 1)}
    print(json.dumps({**said, "rows_a_second": round(rows / seconds)}), flush=True)


def measure_forwarding(arguments: argparse.Namespace, first: Node, second: Node) -> None:
    """Measures calls to the second node, a standby, that the first one answers."""
    for turn in range(arguments.rounds):
        counted = second if turn % 2 else first
        for row in bench(arguments, second.address, first, ["--mode", "signals,results,crawl", "--loaded"], counted):
            print(json.dumps({"by_way_of": "a standby", "seconds_of": counted.name, "round": turn + 1, **row}), flush=True)


def measure_divisions(arguments: argparse.Namespace, directory: Path, brokers: Brokers) -> None:
    """Measures one fleet after the other, each with a new log."""
    fleets: dict[int, list[Node]] = {}
    try:
        for count in arguments.divisions:
            fleets[count] = []
            for division in range(count):
                name = f"{division}-of-{count}"
                settings = cluster_settings(brokers, name, SILENCE, forward=True, division=(division, count))
                fleets[count].append(Node(directory, arguments.bin / "freshetd", name, settings + SETTINGS))
            for node in fleets[count]:
                await_serving([node], PATIENCE)
        for turn in range(arguments.rounds):
            for count, nodes in fleets.items():
                for mode, counted in COUNTED.items():
                    before = processor_seconds(nodes), counted_by(nodes, counted)
                    elsewhere = counted_by(nodes, ELSEWHERE)
                    loaded = ["--loaded"] if turn or mode != "upsert" else []
                    steady = ["--rate", str(RATE), "--items", "0", "--warmup", str(TO_SHARE_OUT)] if mode == "crawl" else []
                    rows = bench(arguments, nodes[0].address, nodes[0], ["--mode", mode, *loaded, *steady])
                    used = processor_seconds(nodes) - before[0]
                    items = counted_by(nodes, counted) - before[1]
                    said: dict[str, Any] = {"divisions": count, "round": turn + 1, "mode": mode, "items": round(items)}
                    name = counted.removeprefix("freshet_").removesuffix("_total")
                    said["a_second"] = [row[f"{name}_per_second"] for row in rows]
                    said["servers_cpu_s_per_million"] = round(used / items * 1e6, 2)
                    said["pages"] = [node.status()["pages"] for node in nodes]
                    if mode == "crawl":
                        said["by_way_of_others"] = round(counted_by(nodes, ELSEWHERE) - elsewhere)
                    print(json.dumps(said), flush=True)
    finally:
        for nodes in fleets.values():
            for node in nodes:
                node.end()


def processor_seconds(nodes: list[Node]) -> float:
    """Processor seconds that the nodes' processes have used so far."""
    ticks = 0
    for node in nodes:
        fields = Path(f"/proc/{node.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def counted_by(nodes: list[Node], family: str) -> float:
    """Sum of a metric over the nodes."""
    items = 0.0
    for node in nodes:
        with urllib.request.urlopen(f"http://{node.http}/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
        items += sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith((family + "{", family + " ")))
    return items


def bench(
    arguments: argparse.Namespace, address: str, server: Node, more: list[str], counted: Node | None = None
) -> list[dict[str, Any]]:
    """Rows of `freshet-bench serve`. `counted`: the node whose processor time they show; None = the server."""
    command = [str(arguments.bin / "freshet-bench"), "serve", "--target", address, "--target-http", server.http]
    command += ["--server-pid", str((counted or server).pid), "--pages", str(arguments.pages)]
    command += ["--seconds", str(arguments.seconds), "--workers", "1,16", "--batch", "1000", "--credit", "10000", *more]
    rows = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(row) for row in rows.stdout.splitlines()]


def set_rate(node: Node) -> None:
    stub = admin_pb2_grpc.AdminServiceStub(grpc.insecure_channel(node.address))
    stub.SetCrawlRate(admin_pb2.SetCrawlRateRequest(crawl_rate_per_second=RATE), timeout=60)


def measure_handover(arguments: argparse.Namespace, first: Node, second: Node) -> None:
    """Measures the longest time without an assignment in a handover, while signals come."""
    pages = first.status()["pages"]
    command = [str(arguments.bin / "freshet-bench"), "serve", "--target", first.address, "--target-http", first.http]
    command += ["--server-pid", str(first.pid), "--pages", str(arguments.pages), "--seconds", "600", "--loaded"]
    command += ["--workers", "1", "--batch", "100", "--credit", "10000", "--mode", "signals"]
    signals = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    over = threading.Event()
    times: list[float] = []
    threads = [threading.Thread(target=take_pages, args=(node, times, over)) for node in (first, second)]
    for thread in threads:
        thread.start()
    try:
        # The benchmark sets its own rate when it begins.
        time.sleep(3)
        set_rate(first)
        time.sleep(3)
        asked = time.monotonic()
        first.terminate()
        await_serving([second], PATIENCE)
        time.sleep(2)
    finally:
        over.set()
        signals.kill()
        signals.wait()
        for thread in threads:
            thread.join()
    around = sorted(at for at in times if at > asked - 1)
    gaps = [(after - before, before) for before, after in zip(around, around[1:], strict=False)]
    gap, since = max(gaps)
    row = {"case": "a server is told to end", "pages": pages, "seconds_without_assignment": round(gap, 2)}
    print(json.dumps({**row, "served_on_for_seconds": round(since - asked, 2)}), flush=True)
    await_standing_by(first)


def take_pages(node: Node, times: list[float], over: threading.Event) -> None:
    """Takes pages from whichever node serves, and returns each at once as unchanged."""
    options = [("grpc.initial_reconnect_backoff_ms", 20), ("grpc.max_reconnect_backoff_ms", 50)]
    channel = grpc.insecure_channel(node.address, options)
    scheduler, ingest = scheduler_pb2_grpc.SchedulerServiceStub(channel), ingest_pb2_grpc.IngestServiceStub(channel)
    request = scheduler_pb2.NextRequest(worker="measure", max_assignments=100)
    request.max_wait.FromMilliseconds(500)
    while not over.is_set():
        try:
            assignments = scheduler.Next(request, timeout=5).assignments
            if not assignments:
                continue
            times.append(time.monotonic())
            report = ingest_pb2.ReportCrawlsRequest()
            for assignment in assignments:
                unchanged = types_pb2.CRAWL_OUTCOME_UNCHANGED
                report.results.add(lease_id=assignment.lease_id, outcome=unchanged).fetch_time.GetCurrentTime()
            next(iter(ingest.ReportCrawls(iter([report]), timeout=5)), None)
        except grpc.RpcError:
            time.sleep(0.01)


def measure_failover(first: Node, second: Node) -> None:
    pages = first.status()["pages"]
    set_rate(first)

    def said(case: str, seconds: float, ready: float) -> None:
        row = {"case": case, "pages": pages, "silence": SILENCE}
        print(json.dumps({**row, "ready_seconds": round(ready, 2), "first_assignment_seconds": round(seconds, 2)}), flush=True)

    first.kill()
    said("a standby takes over", *first_assignment(second))
    second.kill()
    second.start()
    said("no standby, started again at once with its disk", *first_assignment(second))
    second.kill()
    second.lose_disk()
    second.start()
    said("no standby, started again at once without its disk", *first_assignment(second))


def first_assignment(node: Node) -> tuple[float, float]:
    """Seconds from now until the node hands out a page, and until it says that it is ready."""
    start = time.monotonic()
    ready: list[float] = []

    def watch() -> None:
        await_serving([node], PATIENCE)
        ready.append(time.monotonic() - start)

    watcher = threading.Thread(target=watch)
    watcher.start()
    options = [("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 100)]
    stub = scheduler_pb2_grpc.SchedulerServiceStub(grpc.insecure_channel(node.address, options))
    request = scheduler_pb2.NextRequest(worker="measure", max_assignments=1)
    request.max_wait.FromMilliseconds(2000)
    while time.monotonic() - start < PATIENCE:
        try:
            if stub.Next(request, timeout=5).assignments:
                seconds = time.monotonic() - start
                watcher.join()
                return seconds, ready[0]
        except grpc.RpcError:
            time.sleep(0.02)
    message = f"{node.name} hands out nothing"
    raise TimeoutError(message)


def await_standing_by(node: Node) -> None:
    start = time.monotonic()
    while node.status().get("stage") != "standing_by":
        if time.monotonic() - start > PATIENCE:
            message = f"{node.name} is {node.status()} after {PATIENCE} s"
            raise TimeoutError(message)
        time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main())
