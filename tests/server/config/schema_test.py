#!/usr/bin/env python3
"""Tests the schema for editors with an independent validator (Debian's python3-jsonschema): it is a valid schema,
accepts the example file, and refuses what freshetd refuses.

usage: schema_test.py SOURCE_DIR FRESHETD
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema
import yaml

GOOD = [
    "",
    "shards: 2",
    "limits:",
    "limits: {streams: 5, connection_idle: 1m, items_per_second_of_source: {cdn: 0.5}}",
    "leases: {default: 90s, max: 3600}",
    "auth: {open: [metrics, console]}",
    "log_levels: {store: debug}",
    "politeness: {max_crawls: 1000/1d, hours: '22:00-06:00', rules: [{name: a, suffix: a.example, min_delay: 1s}],"
    " by_address: {max_in_flight: 2}}",
    "politeness: {max_crawls: 0}",
    "indexnow: {enabled: true}",
]
BAD = [
    "crawlrate: 5",
    "limits: {streems: 5}",
    "shards: 65",
    "shards: 1.5",
    "shards: many",
    "durability: maybe",
    "insecure: perhaps",
    "leases: {default: soon}",
    "leases: 5",
    "auth: {open: [everything]}",
    "log_levels: {store: loud}",
    "sources: cdn",
    "politeness: {rules: [{suffix: a.example}]}",
    "politeness: {rules: [{name: a, suffix: a.example, delay: 1s}]}",
    "politeness: {max_crawls: 7}",
    "limits: {items_per_second_of_source: {cdn: x}}",
]


def refusal_of_server(freshetd: str, text: str) -> str:
    """Returns the error of --check-config; "" = the file is good."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FRESHET_")}
        done = subprocess.run(
            [freshetd, "--check-config", "--config", file.name], capture_output=True, text=True, env=environment
        )
    assert done.returncode in (0, 2), done
    return done.stderr if done.returncode else ""


def main() -> int:
    source, freshetd = Path(sys.argv[1]), sys.argv[2]
    schema = json.loads((source / "deploy/freshet.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    example = (source / "deploy/freshet.example.yaml").read_text()
    faults = 0
    for text, good in [(example, True)] + [(text, True) for text in GOOD] + [(text, False) for text in BAD]:
        errors = [error.message for error in validator.iter_errors(yaml.safe_load(text) or {})]
        refusal = refusal_of_server(freshetd, text)
        if good != (not errors) or good != (not refusal):
            faults += 1
            print(f"{text[:60]!r}: good is {good}, the schema says {errors}, freshetd says {refusal!r}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
