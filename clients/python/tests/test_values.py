"""Values: conversions, targets, pauses."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
from datetime import datetime, timedelta, timezone

import grpc
import grpc.aio
import pytest
from google.protobuf.duration_pb2 import Duration

from freshet import Backoff, Outcome, Page, Result, Target, safe_text
from freshet.types import from_duration, from_timestamp, to_duration, to_timestamp
from freshet.v1 import types_pb2

NOON = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=timezone.utc)


def test_times_and_spans_come_back_as_they_went() -> None:
    assert from_timestamp(to_timestamp(NOON)) == NOON
    before = datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=timezone.utc)
    assert from_timestamp(to_timestamp(before)) == before
    for span in (timedelta(0), timedelta(milliseconds=1500), timedelta(milliseconds=-1500)):
        assert from_duration(to_duration(span)) == span
    negative = to_duration(timedelta(milliseconds=-1500))
    assert (negative.seconds, negative.nanos) == (-1, -500_000_000)


def test_spans_beyond_those_of_python_are_its_longest() -> None:
    assert from_duration(Duration(seconds=10**17)) == timedelta.max
    assert from_duration(Duration(seconds=-(10**17))) == timedelta.min


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        Page("https://example.org/", not_before=datetime(2026, 3, 1)).to_proto()  # noqa: DTZ001


def test_what_a_site_says_never_raises() -> None:
    message = Result(
        outcome=Outcome.ERROR,
        http_status=999,
        etag='"\udcff"',
        moved_to="https://example.org/\ud800",
        retry_after=timedelta(days=5_000),
        crawl_delay=timedelta(seconds=-1),
        url="https://example.org/",
    ).to_proto()
    assert message.etag == '"?"'
    assert not message.HasField("http_status")
    assert message.retry_after.seconds == 366 * 86_400
    assert not message.HasField("crawl_delay")
    assert message.outcome == types_pb2.CRAWL_OUTCOME_ERROR


def test_a_site_fills_no_message() -> None:
    message = Result(etag="x" * 512, moved_to="https://example.org/" + "x" * 8000).to_proto()
    assert len(message.etag) == 512
    assert len(message.moved_to) == 8020
    message = Result(etag="x" * 513, moved_to="https://example.org/" + "ü" * 8000).to_proto()
    assert message.etag == ""
    assert message.moved_to == ""


def test_a_page_sets_only_what_is_given() -> None:
    message = Page("https://example.org/", importance=0.0, min_interval=timedelta(hours=1)).to_proto()
    assert message.HasField("importance")
    assert message.min_interval.seconds == 3600
    assert not message.HasField("complete_signals")
    assert not message.HasField("max_interval")


def test_no_token_is_shown() -> None:
    target = Target(("127.0.0.1:1",), token="hunter2")
    assert "hunter2" not in repr(target)
    assert target.metadata() == (("authorization", "Bearer hunter2"),)


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1:7071",
        "freshet.example:7071",
        "dns:///freshet.example:7071",
        "127.0.0.1.evil.example:7071",
        "127.evil.example:7071",
        "localhost.evil.example:7071",
        "localhost:7071.evil.example:7071",
        "[::1].evil.example:7071",
        "[::1%evil.example]:7071",
        "::1:7071",  # the address 0:0:0:0:0:0:1:7071
        "127.1:7071",
    ],
)
def test_no_token_leaves_the_machine_in_plain_text(address: str) -> None:
    with pytest.raises(ValueError, match="plain text") as refused:
        Target((address,), token="hunter2")
    assert "hunter2" not in str(refused.value)
    Target((address,), token="hunter2", tls=True)


@pytest.mark.parametrize("address", ["127.0.0.1:7071", "[::1]:7071", "localhost:7071", "unix:/run/freshet"])
def test_a_token_may_go_within_the_machine(address: str) -> None:
    Target((address,), token="hunter2")


def test_a_proxy_of_the_web_hears_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[bytes] = []

    def listen(listener: socket.socket) -> None:
        while b"own" not in heard:
            connection, _ = listener.accept()
            with connection:
                heard.append(connection.recv(4096))

    async def call(address: str) -> None:
        target = Target((address,), token="hunter2")
        async with target.open_channel(address) as channel:
            with pytest.raises(grpc.aio.AioRpcError):
                await channel.unary_unary("/a/b")(b"", metadata=target.metadata(), timeout=20)

    async def serve_and_call() -> None:
        server = grpc.aio.server()
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        for host in ("127.0.0.1", "localhost"):
            await call(f"{host}:{port}")
        await server.stop(None)

    with socket.create_server(("127.0.0.1", 0)) as proxy:
        for name in ("http_proxy", "grpc_proxy", "https_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        for name in ("no_proxy", "no_grpc_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        threading.Thread(target=listen, args=(proxy,), daemon=True).start()
        asyncio.run(serve_and_call())
        # The test's own last connection ends the thread.
        with socket.create_connection(proxy.getsockname()) as own:
            own.sendall(b"own")
            own.shutdown(socket.SHUT_WR)
            own.recv(1)
    assert heard == [b"own"]


def test_only_tls_to_another_machine_may_go_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, int] = {}

    def remember(address: str, *_: object, options: list[tuple[str, int]]) -> None:
        asked[address] = dict(options)["grpc.enable_http_proxy"]

    monkeypatch.setattr(grpc.aio, "insecure_channel", remember)
    monkeypatch.setattr(grpc.aio, "secure_channel", remember)
    for tls, address in ((False, "a.example:1"), (False, "127.0.0.1:2"), (True, "127.0.0.1:3"), (True, "b.example:4")):
        Target((address,), tls=tls).open_channel(address)
    assert asked == {"a.example:1": 0, "127.0.0.1:2": 0, "127.0.0.1:3": 0, "b.example:4": 1}


def test_the_environment_is_that_of_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRESHET_SERVER", "a.example:1, b.example:2")
    monkeypatch.setenv("FRESHET_TLS_CA", "ca.pem")
    monkeypatch.setenv("FRESHET_TOKEN", "hunter2")
    target = Target.of(None)
    assert target.addresses == ("a.example:1", "b.example:2")
    assert target.uses_tls
    assert target.token == "hunter2"


def test_pauses_grow_to_a_bound_and_differ() -> None:
    backoff = Backoff(first=1, longest=8)
    source = random.Random(7)
    pauses = [backoff.pause(failures, source) for failures in (1, 2, 3, 4, 5, 500)]
    for pause, most in zip(pauses, (1, 2, 4, 8, 8, 8), strict=True):
        assert most / 2 <= pause <= most
    assert backoff.pause(0, source) == 0
    assert len(set(pauses)) == len(pauses)
    with pytest.raises(ValueError, match="back-off"):
        Backoff(first=2, longest=1)


def test_a_text_is_no_order_to_the_terminal() -> None:
    texts = {
        "https://example.org/ä?b=\\c": "https://example.org/ä?b=\\c",
        "\x1b]0;a\x07\n\r\t\x7f\x9b": r"\x1b]0;a\x07\n\r\t\x7f\u009b",
        "\u202ea\u2028\u200f\u061c\ufeff\u2066": r"\u202ea\u2028\u200f\u061c\ufeff\u2066",
        b"\xff".decode("utf-8", "surrogateescape"): r"\udcff",
    }
    assert {text: safe_text(text) for text in texts} == texts
    assert safe_text(ValueError("a\x1b")) == r"a\x1b"
