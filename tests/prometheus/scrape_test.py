#!/usr/bin/env python3
"""A real Prometheus scrapes a freshetd at work, by the configuration and the rules that deploy/ has for operators."""

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
# What is waited for comes within seconds on a quiet machine.
PATIENCE = 90


def get(address, path, **query):
    """The body of an answer of 200."""
    connection = http.client.HTTPConnection(address, timeout=30)
    with contextlib.closing(connection):
        connection.request("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))
        answer = connection.getresponse()
        body = answer.read().decode()
        assert answer.status == 200, f"{path}: {answer.status} {body}"
        return body


class Running:
    """A program that is started, says where it listens, and is stopped."""

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
        # Nobody is to wait for somebody who reads what it says.
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
        # That of deploy/, but for where the server is, and how often it is asked.
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
        """What the client prints."""
        command = [BIN / "freshet", "--server", cls.grpc, "--json", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{arguments}: {done.stdout} {done.stderr}"
        return done.stdout

    @classmethod
    def crawl(cls):
        """A worker: takes pages, finds every other one changed, and has some signalled."""
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
        """Samples by their labels without those of the target."""
        answer = json.loads(get(self.prometheus, "/api/v1/query", query=query))
        self.assertEqual(answer["status"], "success", answer)
        out = {}
        for sample in answer["data"]["result"]:
            drop = {"__name__", "job", "instance"}
            labels = tuple(sorted(pair for pair in sample["metric"].items() if pair[0] not in drop))
            out[labels] = float(sample["value"][1])
        return out

    def eventually(self, what, condition):
        """Asks until it is true."""
        end = time.monotonic() + PATIENCE
        while not (value := condition()):
            self.assertFalse(self.errors, self.errors)
            self.assertLess(time.monotonic(), end, f"{what}: {value}")
            self.done.wait(0.2)
        return value

    def test_it_is_seen_and_healthy(self):
        self.eventually("scraped", lambda: self.query('up{job="freshet"} == 1'))
        # The last metrics to come: of a crawl after a signal, and of an epoch.
        self.eventually(
            "a signal and its crawl", lambda: any(self.query("freshet_signal_wait_seconds_count > 0").values())
        )
        self.eventually("an epoch", lambda: self.query("freshet_source_precision"))
        self.eventually("scrapes enough", lambda: self.query("count_over_time(up[30s]) >= 5"))
        # Everything that has a value at the server has one here.
        body = get(self.http, "/metrics")
        names = set(re.findall(r"^((?:freshet|process)_[a-z_]+)", body, re.M))
        known = set(json.loads(get(self.prometheus, "/api/v1/label/__name__/values"))["data"])
        self.assertLessEqual(names, known)
        self.assertGreater(len(names), 100)
        # Pages leave at no more than the crawl rate, and one worker keeps up with some of it.
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
        # Nothing fires, nor would in a while, but for what depends on how busy this machine is: one slow worker.
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
