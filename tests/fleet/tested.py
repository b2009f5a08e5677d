"""Runs the tests that need real brokers of Kafka against three of them, as a user that may do what docs/fleet.md says.

usage: tested.py --bin DIR --jars DIR [ARGUMENT...]
The arguments are the test program's, e.g. --gtest_filter=RealKafkaTest.ATopic*
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from brokers import Brokers

USER = ("freshet", "not-told-to-anybody")
CLUSTER = "test"  # all names of clusters begin so
# As docs/fleet.md has them, and what a test does to a topic itself.
RIGHTS = [
    ("--topic", ["Create", "Delete", "Describe", "DescribeConfigs", "Read", "Write"]),
    ("--group", ["Describe", "Read"]),
    ("--transactional-id", ["Describe", "Write"]),
]


def allow(brokers: Brokers) -> None:
    for kind, operations in RIGHTS:
        brokers.each[0].java(
            *("kafka.admin.AclCommand", "--bootstrap-server", brokers.open_addresses, "--add"),
            *("--allow-principal", f"User:{USER[0]}", "--resource-pattern-type", "prefixed", kind, CLUSTER),
            *(argument for operation in operations for argument in ("--operation", operation)),
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--jars", type=Path, required=True)
    arguments, more = parser.parse_known_args()
    test = arguments.bin.parent / "tests" / "storage_kafka_test"
    with tempfile.TemporaryDirectory() as directory, Brokers(Path(directory), arguments.jars, 3, USER) as brokers:
        allow(brokers)
        properties = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": USER[0],
            "sasl.password": USER[1],
            "ssl.ca.location": str(brokers.authority),
        }
        environment = os.environ | {
            "FRESHET_TEST_KAFKA": brokers.addresses,
            "FRESHET_TEST_KAFKA_PROPERTIES": ",".join(f"{name}={value}" for name, value in properties.items()),
        }
        command = [test, "--gtest_filter=RealKafkaTest.*", *more]
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
