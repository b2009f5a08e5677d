#!/usr/bin/env python3
"""Compares policies on real page histories; docs/experiments.md shows what it prints.

  tools/experiments/replay_table.py --sim build/release/bin/freshet-sim \
      --history php=php.tsv.gz --history tldr=tldr.tsv.gz --out rows.tsv

Every combination of history, signal recall, crawl rate and policy is one run of `freshet-sim
replay` and one row of --out: history, crawls a day per 1,000 pages, recall, policy, weighted
staleness, staleness, crawls, seconds. Rows that --out holds already are not run again. Then the
table is printed as Markdown: the weighted staleness of every policy, and how much lower that of
--policy is than that of the best rival.
"""
import argparse
import concurrent.futures
import gzip
import itertools
import json
import math
import pathlib
import subprocess
import sys

RIVALS = ["uniform", "importance", "pings_first", "greedy", "greedy_cis", "nutch_adaptive"]


def read_rows(path):
    rows = {}
    if path.exists():
        for line in path.read_text().splitlines():
            history, per_1000, recall, policy, stale, *_ = line.split("\t")
            rows[(history, float(recall), float(per_1000), policy)] = float(stale)
    return rows


def count_pages(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt") as lines:
        return sum(1 for line in lines if line.strip())


def run(sim, histories, pages, job, extra):
    history, recall, per_1000, policy = job
    command = [sim, "replay", "--history", histories[history], "--policy", policy,
               "--crawls-per-day", repr(per_1000 * pages[history] / 1000),
               "--signal-recall", repr(recall)] + extra
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    result = json.loads(done.stdout)
    return (1 - result["weighted_freshness"], 1 - result["freshness"], result["crawls"],
            result["seconds"])


def print_table(rows, jobs, policy, rivals):
    print("| history | recall | crawls/day/1,000 | " + " | ".join(rivals) +
          f" | **{policy}** | against the best |")
    print("|" + "---|" * (len(rivals) + 5))
    logs = []
    for history, recall, per_1000 in jobs:
        def stale(name):
            return rows[(history, recall, per_1000, name)]
        best = min(rivals, key=stale)
        ratio = stale(policy) / stale(best)
        logs.append(math.log(ratio))
        cells = [f"_{stale(name):.5f}_" if name == best else f"{stale(name):.5f}"
                 for name in rivals]
        print(f"| {history} | {recall:g} | {per_1000:g} | " + " | ".join(cells) +
              f" | **{stale(policy):.5f}** | {100 * (ratio - 1):+.1f}% |")
    mean = math.exp(sum(logs) / len(logs))
    print(f"\nGeometric mean over {len(logs)} rows: {100 * (mean - 1):+.1f}%; "
          f"worst row {100 * (math.exp(max(logs)) - 1):+.1f}%.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sim", default="build/release/bin/freshet-sim")
    parser.add_argument("--history", action="append", required=True, help="NAME=FILE")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--policy", default="default")
    parser.add_argument("--rivals", default=",".join(RIVALS))
    parser.add_argument("--recall", default="1,0.5,0.2")
    parser.add_argument("--per-1000", default="0.5,2,5,20")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--extra", default="", help="more flags for freshet-sim replay")
    flags = parser.parse_args()
    histories = dict(item.split("=", 1) for item in flags.history)
    pages = {name: count_pages(path) for name, path in histories.items()}
    rivals = flags.rivals.split(",")
    cells = list(itertools.product(histories, map(float, flags.recall.split(",")),
                                   map(float, flags.per_1000.split(","))))
    rows = read_rows(flags.out)
    todo = [cell + (name,) for name in rivals + [flags.policy] for cell in cells
            if cell + (name,) not in rows]
    with flags.out.open("a") as out, concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool:
        results = pool.map(lambda job: (job, run(flags.sim, histories, pages, job,
                                                 flags.extra.split())), todo)
        for (history, recall, per_1000, name), (stale, plain, crawls, seconds) in results:
            rows[(history, recall, per_1000, name)] = stale
            print(history, f"{per_1000:g}", f"{recall:g}", name, f"{stale:.7f}", f"{plain:.7f}",
                  crawls, f"{seconds:.1f}", sep="\t", file=out, flush=True)
    print_table(rows, cells, flags.policy, rivals)


if __name__ == "__main__":
    main()
