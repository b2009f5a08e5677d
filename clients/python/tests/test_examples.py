"""The programs of examples/python crawl a local site that changes."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import importlib
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

pytest.importorskip("httpx")
pytest.importorskip("protego")

import freshet  # noqa: E402
from crawl import (  # noqa: E402
    EXAMPLES,
    all_fetched,
    assert_known,
    assert_polite,
    change_some,
    enter_robots_site,
    environment,
    make_site,
    robots_site,
    start_server,
    wait_for_robots,
)
from freshet.v1 import types_pb2  # noqa: E402
from local_site import Host, Site  # noqa: E402
from server import Server  # noqa: E402


def run(server: Server, program: str, *arguments: str, code: int = 0, **options: str) -> str:
    return run_all(server, program, *arguments, code=code, **options)[0]


def run_all(server: Server, program: str, *arguments: str, code: int = 0, **options: str) -> tuple[str, str]:
    """Runs a program, and returns its standard output and standard error."""
    command = [sys.executable, str(EXAMPLES / program), *arguments]
    done = subprocess.run(command, env=environment(server), capture_output=True, text=True, timeout=60, **options)  # type: ignore[call-overload]
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, done.stderr


def poll_sitemaps(site: Site, server: Server, directory: Path) -> str:
    sitemaps = [site.url(name, "/sitemap.xml") for name in site.hosts]
    return run(server, "sitemap_to_signals.py", "--state", str(directory / "state.json"), *sitemaps)


def test_a_site_that_changes_is_crawled_from_end_to_end(tmp_path: Path) -> None:
    with make_site() as site, start_server(tmp_path) as server:
        (tmp_path / "pages.tsv").write_text("\n".join(f"{url}\t2" for url in site.urls()))
        assert f"{len(site.urls())} pages taken" in run(server, "bulk_load.py", str(tmp_path / "pages.tsv"))
        assert "0 changed" in poll_sitemaps(site, server, tmp_path)
        command = [sys.executable, str(EXAMPLES / "fetch_worker.py"), "--name", "fetcher", "--concurrency", "8"]
        worker = subprocess.Popen(command, env=environment(server), stdout=subprocess.PIPE, text=True)
        try:
            site.wait_for(all_fetched(site))
            news = change_some(site)
            assert poll_sitemaps(site, server, tmp_path).count("0 new (0 added), 10 changed") == 4
            with freshet.Ingester(server.address) as ingester:
                ingester.recheck([site.url("127.0.0.4", "/0")])
            site.wait_for(news)
        finally:
            worker.terminate()
            said, _ = worker.communicate(timeout=30)
        assert worker.returncode == 0
        assert "0 refused, 0 not acknowledged" in said
        assert_polite(site)
        assert_known(site, server)
        assert site.robots_requests == len(site.hosts), "robots.txt is read once a host"


def test_robots_txt_is_followed_and_read_as_the_world_has_it(tmp_path: Path) -> None:
    with robots_site() as site, start_server(tmp_path) as server:
        with freshet.Ingester(server.address) as ingester:
            ingester.upsert(enter_robots_site(site))
        command = [sys.executable, str(EXAMPLES / "fetch_worker.py"), "--name", "fetcher"]
        worker = subprocess.Popen(command, env=environment(server), stdout=subprocess.PIPE, text=True)
        try:
            wait_for_robots(site, server)
        finally:
            worker.terminate()
            worker.communicate(timeout=30)
        assert worker.returncode == 0


def test_a_worker_keeps_no_cookies(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx

    monkeypatch.syspath_prepend(EXAMPLES)
    fetcher = importlib.import_module("fetch_worker").Fetcher("agent", most_bytes=1, timeout=1, save=None)
    request = httpx.Request("GET", "https://example.org/")
    answer = httpx.Response(200, headers=[("Set-Cookie", f"a{n}=1") for n in range(1000)], request=request)
    fetcher._client.cookies.extract_cookies(answer)
    assert not fetcher._client.cookies


def test_an_answer_is_decoded_once_and_to_its_bound_alone(tmp_path: Path) -> None:
    zeros = gzip.compress(bytes(20 << 20))
    answers = {
        "/once": (200, {"Content-Encoding": "gzip"}, zeros),
        "/twice": (200, {"Content-Encoding": "gzip, gzip"}, gzip.compress(zeros)),
    }
    with Site({"127.0.1.1": Host(answers=answers)}) as site, start_server(tmp_path) as server:
        once, twice = (site.url("127.0.1.1", path) for path in answers)
        with freshet.Ingester(server.address) as ingester:
            ingester.upsert([once, twice])
        command = [sys.executable, str(EXAMPLES / "fetch_worker.py"), "--name", "fetcher"]
        worker = subprocess.Popen(command, env=environment(server), stdout=subprocess.PIPE, text=True)
        try:
            with freshet.Admin(server.address) as admin:
                until = time.monotonic() + 60
                while not all(admin.page(url).page.last_outcome for url in (once, twice)):
                    assert time.monotonic() < until, site.summary()
                    time.sleep(0.05)
                assert admin.page(once).page.content_digest == hashlib.sha256(bytes(10 << 20)).digest()
                assert admin.page(twice).page.last_outcome == types_pb2.CRAWL_OUTCOME_ERROR
        finally:
            worker.terminate()
            worker.communicate(timeout=30)
        assert worker.returncode == 0


def test_an_answer_in_tiny_chunks_ends_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx

    monkeypatch.syspath_prepend(EXAMPLES)
    fetch_worker, poller = (importlib.import_module(name) for name in ("fetch_worker", "sitemap_to_signals"))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        # The body ends, so that a test without the bound does too.
        writer.write(b"1\r\na\r\n" * 100_000 + b"0\r\n\r\n")
        with suppress(ConnectionError):
            await writer.drain()
        writer.close()

    async def read() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        fetcher = fetch_worker.Fetcher("agent", most_bytes=10 << 20, timeout=60, save=None)
        async with server, httpx.AsyncClient(trust_env=False) as client:
            with pytest.raises(ValueError, match="parts"):
                await fetcher._get(url, {}, 10 << 20)
            with pytest.raises(ValueError, match="parts"):
                await poller.download(client, url, {})
        await fetcher.close()

    asyncio.run(read())


SLOW_NAMES = """
import runpy, socket, sys, time

real = socket.getaddrinfo

def look_up(host, *arguments, **named):
    name = host.decode() if isinstance(host, bytes) else host
    if name.endswith(".slow.test"):
        time.sleep(40)
    return real("127.0.1.99" if name == "quick.test" else name, *arguments, **named)

socket.getaddrinfo = look_up
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_slow_names_hold_up_no_other_names(tmp_path: Path) -> None:
    """There are more slow names than the 32 threads that asyncio uses by default."""
    evil = {f"127.0.1.{n}": Host(found={"/": f"http://n{n}.slow.test/"}) for n in range(1, 41)}
    with Site(evil | {"127.0.1.99": Host()}) as site, start_server(tmp_path) as server:
        command = [sys.executable, "-c", SLOW_NAMES, str(EXAMPLES / "fetch_worker.py"), "--concurrency", "64"]
        worker = subprocess.Popen(command, env=environment(server))
        try:
            with freshet.Ingester(server.address) as ingester:
                ingester.upsert(site.url(name, "/") for name in evil)
                site.wait_for(lambda requests: len(requests) == len(evil))
                ingester.upsert([f"http://quick.test:{site.port}/"])
            site.wait_for(lambda requests: requests[-1].host == "127.0.1.99", seconds=20)
        finally:
            worker.kill()
            worker.wait()


def test_a_bulk_load_names_what_is_wrong_and_takes_the_rest(server: Server, tmp_path: Path) -> None:
    lines = [
        "# a comment",
        "https://example.org/a",
        "https://example.org/b\t2.5",
        "https://example.org/c 7",
        '{"url": "https://example.org/d", "importance": 3, "min_interval": 3600}',
        '{"url": "https://example.org/e", "nonsense": 1}',
        "https://example.org/f\tmany",
        "no url",
        '{"url": "https://example.org/g", "not_before": 5}',
        '{"a":' * 100_000,
        "https://example.org/" + "h" * (2 << 20),
    ]
    with gzip.open(tmp_path / "pages.gz", "wt") as packed:
        packed.write("\n".join(lines))
    assert "4 pages taken" in run(server, "bulk_load.py", str(tmp_path / "pages.gz"), code=1)
    cut = tmp_path / "cut.gz"
    cut.write_bytes((tmp_path / "pages.gz").read_bytes()[:-20])
    run(server, "bulk_load.py", str(cut), code=2)
    assert "1 pages taken" in run(server, "bulk_load.py", "--crawl-id", "shop", input="https://example.org/a\n")
    run(server, "bulk_load.py", str(tmp_path / "none.tsv"), code=2)
    with freshet.Admin(server.address) as admin:
        weights = {page.url[-1]: page.importance for page in admin.pages(crawl_id="DEFAULT")}
        assert weights == {"a": 1, "b": 2.5, "c": 7, "d": 3}
        assert admin.page("https://example.org/d").page.min_interval.seconds == 3600


def test_a_bulk_load_reads_files_as_the_world_writes_them(server: Server, tmp_path: Path) -> None:
    table = tmp_path / "pages.tsv"
    table.write_bytes(
        b"\xef\xbb\xbfurl\timportance\tmin_interval\r\n"
        b"https://example.org/a\t2\t\r\n"
        b"https://example.org/\xe9\t2\t\r\n"
        b"https://example.org/b\t\t1e300\r\n"
        b"https://example.org/c\t3\t60\r\n"
    )
    plain = tmp_path / "pages.txt"
    plain.write_bytes(b'\xef\xbb\xbfhttps://example.org/d\r\n{"url": "https://example.org/e", "importance": [1]}\r\n')
    assert "3 pages taken" in run(server, "bulk_load.py", str(table), str(plain), code=1)
    with freshet.Admin(server.address) as admin:
        assert {page.url[-1]: page.importance for page in admin.pages()} == {"a": 2, "c": 3, "d": 1}


def test_a_sitemap_is_polled_as_the_world_serves_it(server: Server, tmp_path: Path) -> None:
    sitemap = b"<urlset><url><loc>https://example.org/a</loc></url></urlset>"
    headers = {"Last-Modified": "Thu, 01 Jan 2099 00:00:00 GMT", "ETag": '"x"'}
    site = Site({"127.0.1.1": Host(answers={"/s.gz": (200, headers, gzip.compress(sitemap) + b"behind it")})})
    state = tmp_path / "state.json"
    with site:
        said = run(server, "sitemap_to_signals.py", "--state", str(state), site.url("127.0.1.1", "/s.gz"))
    assert "1 new (1 added)" in said
    (documents,) = json.loads(state.read_text()).values()
    assert [document["validators"] for document in documents.values()] == [{"If-None-Match": '"x"'}]


def test_a_sitemap_ends_no_poller(server: Server, tmp_path: Path) -> None:
    """One sitemap has a URL too long for any message, another never ends its headers, and a third never ends its
    body."""
    link = gzip.compress(b"<urlset><url><loc>https://example.org/" + b"x" * (17 << 20) + b"</loc></url></urlset>")
    good = b"<urlset><url><loc>https://example.org/a</loc></url></urlset>"
    answers = {"/long": (200, {"Content-Encoding": "gzip"}, link), "/good": (200, {}, good)}
    state = tmp_path / "state.json"
    program = (EXAMPLES / "sitemap_to_signals.py").read_text()
    hasty = tmp_path / "hasty.py"
    hasty.write_text(program.replace("MOST_SECONDS = 60.0", "MOST_SECONDS = 3.0"))
    with Site({"127.0.1.1": Host(answers=answers)}) as site, dripping(b"X: ") as headers, dripping(b"\r\n") as body:
        sitemaps = [site.url("127.0.1.1", "/good"), site.url("127.0.1.1", "/long"), headers, body]
        said = run(server, str(hasty), "--state", str(state), *sitemaps)
    assert said.count("1 new (1 added)") == 1
    assert said.count("0 new (0 added)") == 3
    sites = json.loads(state.read_text())
    assert [page for site in sites.values() for document in site.values() for page in document["pages"]] == [
        "https://example.org/a"
    ]


def test_what_others_name_is_no_order_to_the_terminal(server: Server, tmp_path: Path) -> None:
    orders = tmp_path / "orders.txt"
    orders.write_text("http://a/\x1b]0;pwned\x07\nhttp://a/\x9b31m\u202e\nhttp://a/ \x1b[2J\n", encoding="utf-8")
    sitemap = "<urlset><url><loc>ftp://x/&#x9b;2J&#x202e;evil</loc></url></urlset>"
    index = "<sitemapindex><sitemap><loc>ftp://x/&#x9b;2J&#x202e;evil</loc></sitemap></sitemapindex>"
    answers = {"/pages": (200, {}, sitemap.encode()), "/index": (200, {}, index.encode())}
    said = "".join(run_all(server, "bulk_load.py", str(orders), code=1))
    assert r"refused: http://a/\x1b]0;pwned\x07: " in said
    with Site({"127.0.1.1": Host(answers=answers)}) as site:
        urls = [site.url("127.0.1.1", path) for path in answers]
        polled = "".join(run_all(server, "sitemap_to_signals.py", *urls))
    assert r"refused: ftp://x/\u009b2J\u202eevil: " in polled
    assert polled.count(r"ftp://x/\u009b2J\u202eevil: ") == 2
    assert not [letter for letter in said + polled if letter != "\n" and not letter.isprintable()]


GOOD = b"<urlset><url><loc>https://example.org/%d</loc></url></urlset>"


def test_a_sitemap_takes_a_poller_little_memory(server: Server, tmp_path: Path) -> None:
    """Each document has some kilobytes on the wire; decoded it would have gigabytes, or stop the poller."""
    entity = b'<!DOCTYPE u [<!ENTITY a "' + b"a" * 50_000 + b'">]><!--' + b" " * (8 << 20) + b"-->"
    hostile = {
        "/entities": entity + b"<urlset><url><loc>" + b"&a;" * 15_000 + b"</loc></url></urlset>",
        "/elements": b"<urlset>" + b"<a/>" * (1 << 20) + b"</urlset>",
        "/names": b"<urlset>" + b"".join(b"<a%d/>" % n for n in range(200_000)) + b"</urlset>",
        "/depth": b"<a>" * (2 << 20),
        "/attributes": b"<urlset " + b" ".join(b"a%d=''" % n for n in range(500_000)) + b"/>",
        "/fields": b"<urlset><url>" + b"".join(b"<a%d>%s</a%d>" % (n, b"x" * 10_000, n) for n in range(900)),
        "/entries": b"<urlset>" + b"<url><loc>https://example.org/</loc></url>" * 50_001 + b"</urlset>",
        "/encoding": b'<?xml version="1.0" encoding="none"?><urlset/>',
    }
    answers = {path: (200, {"Content-Encoding": "gzip"}, gzip.compress(text, 1)) for path, text in hostile.items()}
    answers["/good"] = (200, {}, GOOD % 1)
    measure = "import resource, subprocess, sys; print(subprocess.call(sys.argv[1:]), end=' '); "
    measure += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    with Site({"127.0.1.1": Host(answers=answers)}) as site:
        sitemaps = [site.url("127.0.1.1", path) for path in answers]
        poller = [sys.executable, str(EXAMPLES / "sitemap_to_signals.py"), *sitemaps]
        command = [sys.executable, "-c", measure, *poller]
        said = subprocess.run(command, env=environment(server), capture_output=True, text=True, timeout=60).stdout
    code, kilobytes = map(int, said.splitlines()[-1].split())
    assert code == 0
    assert said.count("0 new (0 added)") == len(hostile)
    assert said.count("1 new (1 added)") == 1
    assert kilobytes < 200_000


def test_no_site_keeps_a_poller_from_another(server: Server, tmp_path: Path) -> None:
    """Two indexes name more sitemaps than a poll reads, and new ones each time."""
    site = Site({f"127.0.1.{n}": Host() for n in (1, 2, 3)})
    state = tmp_path / "state.json"
    program = (EXAMPLES / "sitemap_to_signals.py").read_text()
    hasty = tmp_path / "hasty.py"
    hasty.write_text(program.replace("MOST_SITEMAPS = 1_000", "MOST_SITEMAPS = 20"))
    with site:
        sitemaps = [site.url(f"127.0.1.{n}", "/s") for n in (1, 2, 3)]
        site.hosts["127.0.1.2"].answers["/s"] = (200, {}, GOOD % 1)
        for turn in range(2):
            for name in ("127.0.1.1", "127.0.1.3"):
                urls = (site.url(name, f"/{turn}-{n}") for n in range(10_001))
                named = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
                site.hosts[name].answers["/s"] = (200, {}, f"<sitemapindex>{named}</sitemapindex>".encode())
            said = run(server, str(hasty), "--state", str(state), *sitemaps)
            assert f"{sitemaps[1]}: {1 - turn} new" in said
    sites = json.loads(state.read_text())
    assert list(sites) == sitemaps
    assert all(len(documents) <= 20 for documents in sites.values())


@contextmanager
def dripping(begin: bytes) -> Iterator[str]:
    """A server that sends one byte at a time, each before a client gives up; yields its URL."""
    ended = threading.Event()

    def serve() -> None:
        with suppress(OSError), listener.accept()[0] as connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n" + begin)
            while not ended.wait(0.2):
                connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        # The client may never come.
        threading.Thread(target=serve, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/sitemap.xml"
        finally:
            ended.set()


def test_a_bulk_load_reads_what_an_export_wrote(server: Server, tmp_path: Path) -> None:
    table = tmp_path / "pages.tsv"
    table.write_text(
        "url\tcrawl_id\timportance\tmin_interval\tlast_crawl_time\toutcome\tetag\n"
        'https://example.org/a\tnews\t2.5\t3600s\t2026-01-02T03:04:05.678901Z\tchanged\t"x"\n'
        "https://example.org/b\t\t\t\t\t\t\n"
        "https://example.org/c\tnews\tmany\t\t\t\t\n"
    )
    said = run(server, "bulk_load.py", "--crawl-id", "shop", str(table), code=1)
    assert "2 pages taken" in said
    with freshet.Admin(server.address) as admin:
        page = admin.page("https://example.org/a", crawl_id="news").page
        assert (page.importance, page.min_interval.seconds, page.last_crawl_time.seconds) == (2.5, 3600, 1767323045)
        assert admin.page("https://example.org/b", crawl_id="shop").page.importance == 1
