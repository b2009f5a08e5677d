"""Operators' calls, and TLS with certificates, against a real server."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

import freshet
from freshet import Backoff, Target, aio
from freshet.v1 import admin_pb2
from server import Server
from test_worker import closed_port


def test_what_operators_do(server: Server) -> None:
    with freshet.Ingester(server.address) as ingester, freshet.Admin(server.address) as admin:
        ingester.upsert(f"https://site-{n}.example/" for n in range(250))
        assert admin.set_crawl_rate(7.5) == 1000
        assert admin.crawl_rate() == 7.5
        with pytest.raises(freshet.FreshetError, match="is of no cluster"):
            admin.fleet()
        assert admin.policy().policy in admin.policy().available_policies
        assert admin.set_policy("greedy_ncis") == "default"
        assert not admin.pause("a site moves")
        assert admin.pause()
        assert admin.resume()
        state = admin.set_host_politeness("site-1.example", min_delay=timedelta(seconds=3), max_in_flight=2)
        assert (state.min_delay.seconds, admin.host("https://site-1.example/x").max_in_flight) == (3, 2)
        assert admin.set_politeness_defaults(min_delay=timedelta(seconds=2)).min_delay.seconds == 2
        assert admin.politeness_defaults().min_delay.seconds == 2
        assert len({host.host for host in admin.hosts()}) == 250
        assert [crawl.pages for crawl in admin.crawls()] == [250]
        assert admin.set_crawl("shop", share=0.25).settings.share == 0.25
        shadow = admin.set_crawl("news", frontier_mode="shadow")
        assert shadow.frontier_mode == shadow.settings.frontier_mode == admin_pb2.FRONTIER_MODE_SHADOW
        assert "crawled yet" in admin.report_shadow("news", limit=10, examples=1).why_not
        assert "indexnow" in admin.sources()
        admin.register_source("shop")
        assert "shop" in admin.sources()
        admin.unregister_source("shop")
        assert "shop" not in admin.sources()
        assert admin.run_epoch().pages == 250
        assert admin.create_checkpoint("one").bytes > 0
        assert admin.compact_store().bytes_after > 0
        assert len(list(admin.pages(limit=100))) == 100
        assert [page.url for page in admin.pages(host="site-7.example")] == ["https://site-7.example/"]
        assert [r.page.url for r in admin.export(url_prefix="https://site-8.example/")] == ["https://site-8.example/"]
        assert admin.trust_report(limit=1).sources is not None
        assert admin.who_am_i().identity == ""
        assert admin.delete_host("site-1.example").host == "site-1.example"
        assert admin.delete_crawl("shop").crawl_id == "shop"
        assert admin.set_log_level("debug", "engine")["engine"] == "debug"
        assert admin.log_levels()["engine"] == "debug"
        newest, before = admin.audit(limit=2)
        assert (newest.action.rpartition("/")[2], before.action.rpartition("/")[2]) == ("SetLogLevel", "DeleteCrawl")
        assert newest.who == "network 127.0.0.1"
        since = datetime.now(tz=timezone.utc) + timedelta(hours=1)
        assert admin.audit(since=since) == []


def test_what_is_refused_is_said_with_its_code(server: Server) -> None:
    with freshet.Admin(server.address) as admin:
        with pytest.raises(freshet.CallFailed) as refused:
            admin.page("https://unknown.example/")
        assert refused.value.code == "NOT_FOUND"
        admin.create_checkpoint("one")
        with pytest.raises(freshet.CallFailed, match="ALREADY_EXISTS"):
            admin.create_checkpoint("one")


def test_the_next_address_answers_where_one_does_not(server: Server) -> None:
    with freshet.Admin([closed_port(), server.address]) as admin:
        assert admin.crawl_rate() == 1000
        server.kill()
        server.start()
        assert admin.crawl_rate() == 1000
    with freshet.Admin(closed_port(), patience=0.1, backoff=Backoff(0.02, 0.05)) as nobody:
        with pytest.raises(freshet.Unavailable):
            nobody.crawl_rate()


def test_the_same_for_asyncio(server: Server) -> None:
    async def run() -> None:
        async with aio.Admin(server.address) as admin:
            assert await admin.crawl_rate() == 1000
            assert [page async for page in admin.pages()] == []

    asyncio.run(run())


def openssl(directory: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)


def issue(directory: Path, name: str, san: str) -> None:
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}"]
    openssl(directory, "req", *key, "-addext", f"subjectAltName={san}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
    sign = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-copy_extensions", "copy"]
    openssl(directory, "x509", "-req", "-in", f"{name}.csr", *sign, "-out", f"{name}.pem")


def test_tls_with_a_certificate_or_a_token(tmp_path: Path) -> None:
    authority = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=CA"]
    openssl(tmp_path, "req", "-x509", *authority, "-keyout", "ca.key", "-out", "ca.pem")
    issue(tmp_path, "server", "DNS:localhost,IP:127.0.0.1")
    issue(tmp_path, "fleet", "DNS:fleet.example.org")
    (tmp_path / "token").write_text("hunter2\n")
    digest = hashlib.sha256(b"hunter2").hexdigest()
    (tmp_path / "auth.yaml").write_text(
        "identities:\n"
        f"  - {{name: operator, roles: [admin], token_sha256: {digest}}}\n"
        "  - {name: fleet, roles: [worker], certificate: fleet.example.org}\n"
    )
    config = f"""
tls: {{certificate: {tmp_path}/server.pem, key: {tmp_path}/server.key, client_ca: {tmp_path}/ca.pem, client_certificate: optional}}
auth: {{file: {tmp_path}/auth.yaml}}
"""  # noqa: E501
    ca = str(tmp_path / "ca.pem")
    with Server(tmp_path, config=config) as server:
        here = (server.address,)
        operator = Target(here, ca_file=ca, token_file=str(tmp_path / "token"))
        with freshet.Admin(operator) as admin:
            assert admin.who_am_i().identity == "operator"
        with freshet.Ingester(operator) as ingester:
            assert ingester.upsert(["https://example.org/"]).applied == 1
        fleet = Target(
            here, ca_file=ca, certificate_file=str(tmp_path / "fleet.pem"), key_file=str(tmp_path / "fleet.key")
        )
        with freshet.Admin(fleet) as admin, pytest.raises(freshet.Denied, match="PERMISSION_DENIED"):
            admin.crawl_rate()
        with freshet.Worker(fleet, name="w") as worker:
            page = worker.next(timeout=20)
            assert page is not None
            worker.give_back(page)
        with freshet.Admin(here, patience=0.1, connect_timeout=2) as plain, pytest.raises(freshet.Unavailable):
            plain.crawl_rate()
