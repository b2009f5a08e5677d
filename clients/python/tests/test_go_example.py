"""The worker in Go, built from the .proto with Go's own tools, crawls the local site. Skipped without these tools."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import freshet
from crawl import (
    all_fetched,
    assert_a_stop_ends_without_a_server,
    assert_costly_robots_cost_little,
    assert_known,
    assert_no_orders_to_the_terminal,
    assert_polite,
    change_some,
    enter_robots_site,
    environment,
    make_site,
    robots_site,
    start_server,
    wait_for_robots,
)
from server import REPOSITORY

SOURCE = REPOSITORY / "examples/go"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("go") is None or shutil.which("protoc") is None:
        pytest.skip("no go, or no protoc")
    version = re.search(r"go1\.(\d+)", subprocess.run(["go", "version"], capture_output=True, text=True).stdout)
    if version is None or int(version[1]) < 24:
        pytest.skip("needs Go 1.24")
    # The copy's path ends like the path of the .proto files in the repository.
    copy = tmp_path_factory.mktemp("repository")
    shutil.copytree(REPOSITORY / "proto", copy / "proto")
    source = copy / "examples/go"
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("freshetv1", "freshet-worker"))
    if subprocess.run(["go", "mod", "download"], cwd=source, capture_output=True, timeout=300).returncode != 0:
        pytest.skip("no module proxy answers, and the modules are not here from an earlier run")
    for command in (["./generate.sh"], ["go", "vet", "./..."], ["go", "build", "-o", "worker", "."]):
        done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
    return source / "worker"


def test_a_site_that_changes_is_crawled_by_the_worker_in_go(program: Path, tmp_path: Path) -> None:
    with make_site() as site, start_server(tmp_path) as server:
        with freshet.Ingester(server.address) as ingester:
            ingester.upsert(site.urls())
            worker = subprocess.Popen(
                [str(program), "-capacity", "8"], env=environment(server), stdout=subprocess.PIPE, text=True
            )
            try:
                site.wait_for(all_fetched(site))
                news = change_some(site)
                ingester.signal("sitemap", [site.url("127.0.0.2", f"/{n}") for n in range(10, 20)])
                ingester.recheck([site.url("127.0.0.4", "/0")])
                site.wait_for(news)
            finally:
                worker.terminate()
                said, _ = worker.communicate(timeout=30)
        assert worker.returncode == 0
        assert re.search(r"\d{3,} results acknowledged, 0 refused", said)
        assert_polite(site)
        assert_known(site, server)
        assert site.robots_requests == len(site.hosts)


def test_robots_txt_is_followed_and_read_as_the_world_has_it(program: Path, tmp_path: Path) -> None:
    with robots_site() as site, start_server(tmp_path) as server:
        # The library refuses the whole text for one line that it cannot read.
        status, headers, body = site.hosts["127.0.1.2"].answers["/robots.txt"]
        odd = body.replace(b"Disallow", b"Crawl-delay: soon\nDisallow")
        site.hosts["127.0.1.2"].answers["/robots.txt"] = status, headers, odd + b"\nDisallow\nnonsense\n"
        with freshet.Ingester(server.address) as ingester:
            ingester.upsert(enter_robots_site(site))
        worker = subprocess.Popen([str(program)], env=environment(server), stdout=subprocess.PIPE, text=True)
        try:
            wait_for_robots(site, server)
        finally:
            worker.terminate()
            worker.communicate(timeout=30)
        assert worker.returncode == 0


def test_costly_robots_txt_costs_little(program: Path, tmp_path: Path) -> None:
    assert_costly_robots_cost_little([str(program)], tmp_path)


def test_no_result_is_lost_when_the_server_is_killed(program: Path, tmp_path: Path) -> None:
    with make_site() as site, start_server(tmp_path) as server:
        with freshet.Ingester(server.address) as ingester:
            ingester.upsert(site.url(name, f"/{n}") for name in ("127.0.0.2", "127.0.0.3") for n in range(1, 41))
        worker = subprocess.Popen([str(program)], env=environment(server), stdout=subprocess.PIPE, text=True)
        try:
            site.wait_for(lambda requests: len(requests) >= 20)
            server.kill()
            seen = len(site.requests)
            server.start()
            site.wait_for(lambda requests: len(requests) >= seen + 5)
        finally:
            worker.terminate()
            said, _ = worker.communicate(timeout=30)
        assert ", 0 refused" in said
        fetched = {site.url(request.host, request.path) for request in site.requests}
        with freshet.Admin(server.address) as admin:
            assert {page.url for page in admin.pages() if page.crawls} == fetched


def test_what_a_server_says_is_no_order_to_the_terminal(program: Path) -> None:
    assert_no_orders_to_the_terminal([str(program)], r"\x1b]0;pwned\a \u009b2J \u202e")


def test_a_stop_ends_while_the_server_is_away(program: Path) -> None:
    assert_a_stop_ends_without_a_server([str(program)], "-stop-timeout", "2s")
