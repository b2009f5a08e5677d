#!/usr/bin/env python3
"""Makes a page history of a git repository whose files are the pages of a site: paths, times and counts, no content.

    from_git.py ~/my-site --path content --suffix .md --strip --url https://example.org/ > history.tsv
    freshet-sim replay --history history.tsv --policy default --crawls-per-day 50
    ./dev run --history history.tsv

A page is a file in the revision. Its history begins with the last commit that added the file, so a renamed file
starts again. A commit touches a page: as a change of the content (`c`), or as a minor touch (`m`) if it changes
fewer than --minor lines of the file or is a mass edit of more than --mass pages. Needs git.
"""

from __future__ import annotations

import argparse
import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import quote


@dataclasses.dataclass
class Commit:
    time: int
    added: set[str] = dataclasses.field(default_factory=set)
    # How many lines of a file changed; None = not a text.
    lines: dict[str, int | None] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Page:
    first_seen: int
    touches: dict[int, str] = dataclasses.field(default_factory=dict)

    def touch(self, time: int, kind: str) -> None:
        # Whether a copy made in the second of a change has it is unknown.
        if time > self.first_seen and self.touches.get(time) != "c":
            self.touches[time] = kind


def git(repository: str, *arguments: str) -> str:
    command = ["git", "-C", repository, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode(errors="surrogateescape")


def commits(repository: str, revision: str, path: str, first_parent: bool) -> Iterator[Commit]:
    """All commits, oldest first."""
    history = ["--first-parent", "-m"] if first_parent else ["--no-merges"]
    text = git(
        repository, "log", "-z", "--reverse", "--no-renames", "--raw", "--numstat", "--format=commit %ct",
        *history, revision, "--", path,
    )  # fmt: skip
    commit: Commit | None = None
    status = ""
    for token in text.split("\0"):
        word = token.lstrip("\n")
        if word.startswith("commit "):
            if commit:
                yield commit
            # The first file may follow in the same token.
            head, _, word = word.partition("\n")
            commit = Commit(int(head.split()[1]))
            word = word.lstrip("\n")
        if commit is None or not word:
            continue
        if word.startswith(":"):
            status = word.split()[4][:1]
        elif status:
            if status == "A":
                commit.added.add(word)
            status = ""
        else:
            inserted, deleted, name = word.split("\t", 2)
            commit.lines[name] = None if inserted == "-" else int(inserted) + int(deleted)
    if commit:
        yield commit


def pages_of(history: Iterator[Commit], present: set[str], minor: int, mass: int) -> dict[str, Page]:
    pages: dict[str, Page] = {}
    for commit in history:
        touched = [name for name in commit.lines if name in present]
        for name in touched:
            page = pages.get(name)
            if page is None or name in commit.added:
                pages[name] = Page(commit.time)
                continue
            lines = commit.lines[name]
            is_minor = len(touched) > mass or (lines is not None and lines < minor)
            page.touch(commit.time, "m" if is_minor else "c")
    return pages


def weights_of(path: str) -> dict[str, float]:
    with open(path, encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines if line.strip()]
    return {name: float(weight) for name, weight in rows}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("repository")
    parser.add_argument("--revision", default="HEAD")
    parser.add_argument("--path", default="", help="only files below this folder, which URLs leave out")
    parser.add_argument("--suffix", default="", help="only files whose name ends so")
    parser.add_argument("--strip", action="store_true", help="leave --suffix out of URLs")
    parser.add_argument("--url", default="https://example.org/", help="what URLs begin with")
    parser.add_argument("--minor", type=int, default=3, help="fewer changed lines are a minor touch")
    parser.add_argument("--mass", type=int, default=200, help="a commit of more pages is a mass edit")
    parser.add_argument("--weights", help="file of PATH TAB IMPORTANCE; pages that it lacks have 1")
    parser.add_argument("--first-parent", action="store_true", help="count merges, at their time, not what they merged")
    options = parser.parse_args()
    folder = options.path.strip("/")
    try:
        weights = weights_of(options.weights) if options.weights else {}
        names = git(options.repository, "ls-tree", "-r", "-z", "--name-only", options.revision, "--", folder or ".")
        present = {name for name in names.split("\0") if name and name.endswith(options.suffix)}
        history = commits(options.repository, options.revision, folder or ".", options.first_parent)
        pages = pages_of(history, present, options.minor, options.mass)
    except (subprocess.CalledProcessError, OSError, ValueError) as error:
        print(f"{sys.argv[0]}: {error}", file=sys.stderr)
        return 1
    for name, page in sorted(pages.items()):
        short = name[len(folder) + 1 :] if folder else name
        if options.strip and options.suffix:
            short = short[: -len(options.suffix)]
        url = options.url + quote(short.encode(errors="surrogateescape"))
        touches = ",".join(f"{time}:{kind}" for time, kind in sorted(page.touches.items()))
        print(f"{url}\t{weights.get(name, 1):g}\t{page.first_seen}\t{touches}")
    changes = sum(kind == "c" for page in pages.values() for kind in page.touches.values())
    touches = sum(len(page.touches) for page in pages.values())
    print(f"{len(pages):,} pages, {touches:,} touches, {changes:,} of them changes", file=sys.stderr)
    return 0 if pages else 1


if __name__ == "__main__":
    sys.exit(main())
