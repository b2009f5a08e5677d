"""The worker in Java, built from the .proto with Maven, crawls the local site. Skipped without these tools."""

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

SOURCE = REPOSITORY / "examples/java"
# Maven's messages about a repository that does not answer, and about one that it may not ask.
UNREACHABLE = re.compile(r"Could not (transfer|resolve)|UnknownHost|Connect(ion)? (to|refused|timed out)|offline mode")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        pytest.skip("no Maven, or no JDK")
    version = re.search(r"javac (\d+)", subprocess.run(["javac", "-version"], capture_output=True, text=True).stdout)
    if version is None or int(version[1]) < 17:
        pytest.skip("needs a JDK 17")
    # The copy's path ends like the path of the .proto files in the repository.
    copy = tmp_path_factory.mktemp("repository")
    shutil.copytree(REPOSITORY / "proto", copy / "proto")
    source = copy / "examples/java"
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("target"))
    done = subprocess.run(["mvn", "-q", "-B", "package"], cwd=source, capture_output=True, text=True, timeout=800)
    if done.returncode and UNREACHABLE.search(done.stdout + done.stderr):
        pytest.skip("Maven Central does not answer, and not all is here from an earlier run")
    assert done.returncode == 0, done.stdout + done.stderr
    return ["java", "-jar", str(source / "target/freshet-worker.jar")]


def test_a_site_that_changes_is_crawled_by_the_worker_in_java(program: list[str], tmp_path: Path) -> None:
    with make_site() as site, start_server(tmp_path) as server:
        with freshet.Ingester(server.address) as ingester:
            ingester.upsert(site.urls())
            worker = subprocess.Popen(
                [*program, "--capacity", "8"], env=environment(server), stdout=subprocess.PIPE, text=True
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


def test_robots_txt_is_followed_and_read_as_the_world_has_it(program: list[str], tmp_path: Path) -> None:
    with robots_site() as site, start_server(tmp_path) as server:
        with freshet.Ingester(server.address) as ingester:
            ingester.upsert(enter_robots_site(site))
        worker = subprocess.Popen(program, env=environment(server), stdout=subprocess.PIPE, text=True)
        try:
            wait_for_robots(site, server)
        finally:
            worker.terminate()
            worker.communicate(timeout=30)
        assert worker.returncode == 0


def test_costly_robots_txt_costs_little(program: list[str], tmp_path: Path) -> None:
    assert_costly_robots_cost_little(program, tmp_path)


def test_no_result_is_lost_when_the_server_is_killed(program: list[str], tmp_path: Path) -> None:
    with make_site() as site, start_server(tmp_path) as server:
        with freshet.Ingester(server.address) as ingester:
            ingester.upsert(site.url(name, f"/{n}") for name in ("127.0.0.2", "127.0.0.3") for n in range(1, 41))
        worker = subprocess.Popen(program, env=environment(server), stdout=subprocess.PIPE, text=True)
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


def test_what_a_server_says_is_no_order_to_the_terminal(program: list[str]) -> None:
    assert_no_orders_to_the_terminal(program, r"\u001b]0;pwned\u0007 \u009b2J \u202e")


def test_a_stop_ends_while_the_server_is_away(program: list[str]) -> None:
    assert_a_stop_ends_without_a_server(program, "--stop-timeout", "2")
