"""Runs the tests of real Kafka brokers against three of them, as a user with the rights of docs/cluster.md.

usage: tested.py --bin DIR --jars DIR [ARGUMENT...]
The arguments go to the test program, e.g. --gtest_filter=RealKafkaTest.ATopic*
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from brokers import Brokers

def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--jars", type=Path, required=True)
    arguments, more = parser.parse_known_args()
    test = arguments.bin.parent / "tests" / "storage_kafka_test"
    # All clusters have names with this prefix.
    with tempfile.TemporaryDirectory() as directory, Brokers(Path(directory), arguments.jars, 3, "test") as brokers:
        properties = ",".join(f"{name}={value}" for name, value in brokers.properties.items())
        environment = os.environ | {
            "FRESHET_TEST_KAFKA": brokers.addresses,
            "FRESHET_TEST_KAFKA_PROPERTIES": properties,
        }
        command = [test, "--gtest_filter=RealKafkaTest.*", *more]
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
