#!/usr/bin/env python3
"""A real Prometheus scrapes a busy freshetd, with the configuration and the rules of deploy/."""

import contextlib
import http.client
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
from pathlib import Path

import files

BIN = Path(sys.argv[1] if len(sys.argv) > 1 else files.ROOT / "build/release/bin")
RATE = 20
PAGES = 40
# Seconds to wait for anything; an idle machine needs only a few.
PATIENCE = 90


def get(address, path, **query):
    """Returns the body of an answer with status 200."""
    connection = http.client.HTTPConnection(address, timeout=30)
    with contextlib.closing(connection):
        connection.request("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))
        answer = connection.getresponse()
        body = answer.read().decode()
        assert answer.status == 200, f"{path}: {answer.status} {body}"
        return body


class Running:
    """Starts a program, reads the address at which it listens, and stops it."""

    def __init__(self, command, stream, pattern):
        self.process = subprocess.Popen(command, text=True, **{stream: subprocess.PIPE})
        self.log = []
        self.lines = getattr(self.process, stream)
        self.found = None
        for line in self.lines:
            self.log.append(line)
            self.found = re.search(pattern, line)
            if self.found:
                break
        assert self.found, "".join(self.log)
        # Reads further output, so that the program never blocks on a full pipe.
        self.reader = threading.Thread(target=lambda: self.log.extend(self.lines), daemon=True)
        self.reader.start()

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self.reader.join()
        self.lines.close()


class Scrape(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        root = Path(cls.directory.name)
        command = [BIN / "freshetd", "--data-dir", root / "data", "--listen", "127.0.0.1:0"]
        command += ["--http-listen", "127.0.0.1:0", "--crawl-rate", str(RATE), "--config", root / "freshetd.yaml"]
        (root / "freshetd.yaml").write_text(
            "durability: none\nepochs: {interval: 1s}\npoliteness: {min_delay: 0s, min_page_interval: 0s}\n"
        )
        server = Running(command, "stdout", r"ready grpc=(\S+) http=(\S+)")
        cls.addClassCleanup(server.stop)
        cls.grpc, cls.http = server.found.groups()
        # The configuration of deploy/ with another server address and scrape interval.
        config = files.CONFIG.read_text().replace("15s", "1s").replace("freshet:7072", cls.http)
        assert cls.http in config, "deploy/prometheus/prometheus.yml scrapes something else"
        (root / "prometheus.yml").write_text(config)
        (root / files.RULES.name).write_text(files.RULES.read_text())
        command = ["prometheus", f"--config.file={root}/prometheus.yml", f"--storage.tsdb.path={root}/tsdb"]
        command += ["--web.listen-address=127.0.0.1:0", "--log.level=info"]
        prometheus = Running(command, "stderr", r'msg="Listening on" address=(\S+)')
        cls.addClassCleanup(prometheus.stop)
        cls.prometheus = prometheus.found[1]
        cls.done = threading.Event()
        cls.errors = []
        cls.cli("sources", "--add", "cdn")
        cls.cli("upsert", stdin="url\n" + "".join(f"http://h{i % 10}.test/{i}\n" for i in range(PAGES)))
        crawler = threading.Thread(target=cls.crawl)
        crawler.start()
        cls.addClassCleanup(crawler.join)
        cls.addClassCleanup(cls.done.set)

    @classmethod
    def cli(cls, *arguments, stdin=""):
        """Runs the client and returns its output."""
        command = [BIN / "freshet", "--server", cls.grpc, "--json", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{arguments}: {done.stdout} {done.stderr}"
        return done.stdout

    @classmethod
    def crawl(cls):
        """Plays a worker: takes pages, reports every second one as changed, and signals them all."""
        try:
            while not cls.done.is_set():
                lines = [json.loads(line) for line in cls.cli("next", "40", "--wait", "1s").splitlines()]
                pages = [line for line in lines if "url" in line]
                if not pages:
                    continue
                results = "".join(
                    json.dumps({"lease_id": page["lease_id"], "outcome": "changed" if i % 2 else "unchanged"}) + "\n"
                    for i, page in enumerate(pages)
                )
                cls.cli("report", stdin=results)
                cls.cli("signal", stdin="url\tsource\n" + "".join(f"{page['url']}\tcdn\n" for page in pages))
        except Exception as error:
            cls.errors.append(error)

    def query(self, query):
        """Samples of a query by their labels, without the labels of the target."""
        answer = json.loads(get(self.prometheus, "/api/v1/query", query=query))
        self.assertEqual(answer["status"], "success", answer)
        out = {}
        for sample in answer["data"]["result"]:
            drop = {"__name__", "job", "instance"}
            labels = tuple(sorted(pair for pair in sample["metric"].items() if pair[0] not in drop))
            out[labels] = float(sample["value"][1])
        return out

    def eventually(self, what, condition):
        """Repeats the condition until it is true."""
        end = time.monotonic() + PATIENCE
        while not (value := condition()):
            self.assertFalse(self.errors, self.errors)
            self.assertLess(time.monotonic(), end, f"{what}: {value}")
            self.done.wait(0.2)
        return value

    def test_it_is_seen_and_healthy(self):
        self.eventually("scraped", lambda: self.query('up{job="freshet"} == 1'))
        # The metrics of a crawl after a signal and of an epoch come last.
        self.eventually(
            "a signal and its crawl", lambda: any(self.query("freshet_signal_wait_seconds_count > 0").values())
        )
        self.eventually("an epoch", lambda: self.query("freshet_source_precision"))
        self.eventually("scrapes enough", lambda: self.query("count_over_time(up[30s]) >= 5"))
        # Every metric of the server has a value in Prometheus.
        body = get(self.http, "/metrics")
        names = set(re.findall(r"^((?:freshet|process)_[a-z_]+)", body, re.M))
        known = set(json.loads(get(self.prometheus, "/api/v1/label/__name__/values"))["data"])
        self.assertLessEqual(names, known)
        self.assertGreater(len(names), 100)
        # Assignments stay below the crawl rate; a single worker uses only a part of it.
        rate = self.query("rate(freshet_assignments_total[5s])")[()]
        self.assertGreater(rate, 0.02 * RATE)
        self.assertLess(rate, 1.3 * RATE)
        self.assertEqual(self.query("freshet_crawl_rate"), {(): RATE})
        self.assertEqual(self.query("freshet_pages"), {(): PAGES})
        self.assertGreater(self.query("process_resident_memory_bytes")[()], 1e6)
        self.rules_are_evaluated()
        self.promtool_finds_nothing(body)

    def rules_are_evaluated(self):
        groups = json.loads(get(self.prometheus, "/api/v1/rules"))["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        self.assertEqual({rule["name"] for rule in rules if rule["type"] == "alerting"}, set(files.alerts()))
        self.eventually("rules were evaluated", lambda: self.query("freshet:rate_met:ratio10m"))
        for rule in rules:
            self.assertIn(rule["health"], ("ok", "unknown"), rule)
        # No alert is pending except those that a busy machine and a slow worker can cause.
        alerts = json.loads(get(self.prometheus, "/api/v1/alerts"))["data"]["alerts"]
        pending = {alert["labels"]["alertname"] for alert in alerts}
        slow = "FreshetCommitsSlow FreshetDiskFilling FreshetRateNotMet FreshetTicksLate FreshetTooFewWorkers"
        busy = set(slow.split())
        self.assertLessEqual(pending, busy)

    def promtool_finds_nothing(self, body):
        done = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


if __name__ == "__main__":
    files.need("prometheus", "promtool")
    unittest.main(argv=sys.argv[:1])
