"""Reads the files for operators: documented metrics, rules, the dashboard."""

import json
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy/prometheus/alerts.yml"
CONFIG = ROOT / "deploy/prometheus/prometheus.yml"
RULE_TESTS = sorted((ROOT / "deploy/prometheus/tests").glob("*_test.yml"))
DASHBOARD = ROOT / "deploy/grafana/dashboards/freshet.json"
# Metrics of Prometheus itself.
BUILT_IN = {"up", "ALERTS"}


def need(*programs):
    """Skips the test if these programs of Debian's package are not installed."""
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        print(f"SKIPPED: {', '.join(missing)} not found: Debian's package `prometheus` has it (./dev test installs it)")
        sys.exit(77)


def documented():
    """The types of the metrics in docs/metrics.md, by name."""
    rows = re.findall(r"^\| `((?:freshet|process)_[a-z_]+)` \| (\w+)", (ROOT / "docs/metrics.md").read_text(), re.M)
    return dict(rows)


def series():
    """All names that a query may use."""
    names = set(BUILT_IN)
    for name, kind in documented().items():
        parts = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
        names.update(name + part for part in parts)
    names.update(re.findall(r"- record: (\S+)", RULES.read_text()))
    return names


def names_in(query):
    """The metric names in a PromQL expression."""
    bare = re.sub(r'"[^"]*"|\{[^}]*\}', lambda quoted: "{}" if quoted[0][0] == "{" else '""', query)
    return set(re.findall(r"\b(?:freshet[_:]|process_)[a-z0-9_:]*|\bup\b|\bALERTS\b", bare))


def alerts():
    """The text of each alert by its name; each alert begins on a new line."""
    parts = re.split(r"^ +- (?:alert|record): ", RULES.read_text(), flags=re.M)
    kinds = re.findall(r"^ +- (alert|record): ", RULES.read_text(), flags=re.M)
    found = [part for kind, part in zip(kinds, parts[1:], strict=True) if kind == "alert"]
    return {part.split("\n", 1)[0]: part for part in found}


def expressions():
    """The PromQL expressions of the rules, with the number of each rule."""
    for number, part in enumerate(re.split(r"^ +- (?:alert|record): ", RULES.read_text(), flags=re.M)[1:]):
        yield f"rule {number}", re.search(r"expr:(.*?)(?=^ +(?:for|labels|annotations|#)|\Z)", part, re.M | re.S)[1]


def panels():
    """The panels of the dashboard, rows included."""
    return json.loads(DASHBOARD.read_text())["panels"]


def dashboard_queries():
    """All queries of the dashboard, as pairs of place and expression."""
    dashboard = json.loads(DASHBOARD.read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
    for note in dashboard["annotations"]["list"]:
        yield note["name"], note["expr"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["definition"]
