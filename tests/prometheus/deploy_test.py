#!/usr/bin/env python3
"""Tests rules and dashboard for operators: all metrics exist; each alert fires in a test and says what to do."""

import re
import subprocess
import sys
import unittest

import files


def promtool(*arguments):
    """Runs promtool and returns its output; a failure shows the output."""
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


class Rules(unittest.TestCase):
    def test_prometheus_takes_them(self):
        promtool("check", "config", str(files.CONFIG))
        said = promtool("check", "rules", str(files.RULES))
        # The regular expression finds as many rules as promtool.
        found = re.search(r"(\d+) rules found", said)
        rules = re.findall(r"^ +- (?:alert|record): ", files.RULES.read_text(), re.M)
        self.assertEqual(int(found[1]), len(rules))
        self.assertGreaterEqual(len(files.alerts()), 20)

    def test_each_alert_fires_when_it_should_and_no_healthy_server_has_any(self):
        promtool("test", "rules", *map(str, files.RULE_TESTS))

    def test_each_alert_has_such_tests(self):
        fires = set()
        silent = set()
        for path in files.RULE_TESTS:
            text = path.read_text()
            fires.update(re.findall(r"alertname: (\w+)\n +exp_alerts:\n +- exp_labels:", text))
            if "healthy" in path.name:
                silent.update(re.findall(r"alertname: (\w+), exp_alerts: \[\]", text))
        self.assertEqual(fires, set(files.alerts()))
        self.assertEqual(silent, set(files.alerts()))

    def test_each_alert_says_how_bad_it_is_and_what_to_do(self):
        headings = re.findall(r"^#+ (.*)$", (files.ROOT / "docs/runbook.md").read_text(), re.M)
        anchors = {re.sub(r"[^a-z0-9_ -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        for name, text in files.alerts().items():
            self.assertRegex(text, r"severity: (critical|warning)\}", name)
            self.assertRegex(text, r"summary: '.{10,}'", name)
            self.assertRegex(text, r"description: >-\n +\S.{10,}", name)
            runbook = re.search(r"runbook: docs/runbook\.md#(\S+)", text)
            self.assertIsNotNone(runbook, name)
            self.assertIn(runbook[1], anchors, f"{name}: docs/runbook.md has no such heading")

    def test_they_ask_for_metrics_that_exist(self):
        for where, query in files.expressions():
            self.assertTrue(files.names_in(query), where)
            self.assertLessEqual(files.names_in(query), files.series(), where)


class Dashboard(unittest.TestCase):
    def test_it_asks_for_metrics_that_exist(self):
        queries = list(files.dashboard_queries())
        self.assertGreater(len(queries), 60)
        for where, query in queries:
            self.assertTrue(files.names_in(query), where)
            self.assertLessEqual(files.names_in(query), files.series(), where)

    def test_it_has_a_row_for_everything(self):
        rows = " ".join(panel["title"] for panel in files.panels() if panel["type"] == "row").lower()
        words = ("rate", "price", "freshness", "lateness", "sources", "hosts", "workers", "store", "grpc", "process")
        for word in words:
            self.assertIn(word, rows)

    def test_no_panel_hides_another(self):
        taken = {}
        numbers = set()
        for panel in files.panels():
            self.assertNotIn(panel["id"], numbers, panel["title"])
            numbers.add(panel["id"])
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
            for x in range(place["x"], place["x"] + place["w"]):
                for y in range(place["y"], place["y"] + place["h"]):
                    self.assertNotIn((x, y), taken, f"{panel['title']} lies on {taken.get((x, y))}")
                    taken[x, y] = panel["title"]

    def test_its_queries_are_right(self):
        # promtool checks expressions only in rules.
        rules = ["groups:", "- name: dashboard", "  rules:"]
        for number, (_, query) in enumerate(files.dashboard_queries()):
            plain = query.replace("$__rate_interval", "1m").replace("$instance", "a")
            plain = re.sub(r"^label_values\((.*), \w+\)$", r"\1", plain)
            rules += [f"  - record: panel:{number}", f"    expr: '{plain}'"]
        done = subprocess.run(
            ["promtool", "check", "rules", "/dev/stdin"],
            input="\n".join(rules),
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    files.need("promtool")
    unittest.main(argv=sys.argv[:1])
