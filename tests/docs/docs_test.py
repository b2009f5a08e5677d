#!/usr/bin/env python3
"""Runs the commands of README.md, CONTRIBUTING.md and docs/: usage: docs_test.py BIN_DIR [GROUP...]

Every indented or fenced block is run, or an annotation says why not (blocks.py describes annotations). Blocks of a
group share a shell, in the order of the pages; groups run in parallel. Commands within sentences (`freshet get URL`)
are run on a server of their own; for some, only the options are checked.
"""

import ast
import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile

import blocks
import inline
import session

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
UNCHECKED = {"python": ast.parse, "json": json.loads}


def pages() -> list[tuple[str, pathlib.Path]]:
    paths = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted(REPOSITORY.glob("docs/**/*.md"))]
    return [(str(path.relative_to(REPOSITORY)), path) for path in paths]


def collect() -> tuple[dict[str, list], list[str]]:
    """Returns the blocks of each group, and the mistakes of the pages themselves."""
    groups: dict[str, list] = {}
    mistakes = []
    for name, path in pages():
        try:
            for found in blocks.blocks_of(path, name):
                place(found, groups)
        except (blocks.Mistake, SyntaxError, ValueError) as mistake:
            mistakes.append(str(mistake))
    return groups, mistakes


def place(found, groups: dict[str, list]) -> None:
    annotation = found if isinstance(found, blocks.Annotation) else found.annotation
    if annotation is None:
        if found.language in UNCHECKED:
            UNCHECKED[found.language]("\n".join(found.lines))
            return
        raise blocks.Mistake(
            f"{found.where}: this block is neither run nor left out: put '<!-- doctest: run GROUP -->' or "
            f"'<!-- doctest: skip: REASON -->' before it (tests/docs/blocks.py has all)"
        )
    if annotation.kind == "run" and found.language not in (None, *blocks.SHELLS):
        raise blocks.Mistake(f"{found.where}: a block of {found.language} cannot be run")
    if annotation.kind == "config":
        groups.setdefault(f"config of {found.where}", []).append(found)
    elif annotation.kind not in ("skip", "text"):
        groups.setdefault(annotation.group, []).append(found)


def rule_of(command: blocks.Command, rules: list[str]) -> str | None:
    """The rule, `PREFIX` or `PREFIX: REASON`, that applies to this command."""
    return next((rule for rule in rules if command.text.startswith(rule.partition(": ")[0])), None)


class Group:
    def __init__(self, name: str, items: list, programs: pathlib.Path):
        self.name, self.items, self.programs = name, items, programs
        self.ran = self.skipped = 0

    def play(self) -> str:
        """Runs the group; returns the problem, or "" if there is none."""
        root = pathlib.Path(tempfile.mkdtemp(prefix="freshet_docs_"))
        self.shell = session.Session(root, REPOSITORY, self.programs)
        problem, gone = "", []
        try:
            for item in self.items:
                self._item(item)
        except (session.Failure, blocks.Mistake) as failure:
            problem = str(failure)
        finally:
            gone = self.shell.close()
        return problem or "\n".join(gone)

    def _item(self, item) -> None:
        if isinstance(item, blocks.Annotation):
            name, _, line = item.where.rpartition(":")
            for command in blocks.commands_of(item.lines, f"{name}:{int(line) + 1}"):
                if command.text == "stop":
                    self.shell.stop()
                    continue
                serve = command.text.startswith("serve ")
                self._command(blocks.Command(command.where, command.text.removeprefix("serve ")), item, serve)
            return
        annotation = item.annotation
        if annotation.kind == "run":
            self._run(item)
        elif annotation.kind == "output":
            expected = self.shell.translate("\n".join(item.lines))
            if not blocks.said(expected.split("\n"), self.shell.last_output, annotation.has("like"), whole=False):
                raise session.Failure(
                    f"{item.where}: expected\n{expected}\nbut the last command said\n{self.shell.last_output}"
                )
        else:
            name = annotation.words[1] if annotation.kind == "file" else "freshet.yaml"
            text = self.shell.translate("\n".join(item.lines)) + "\n"
            (self.shell.clone / name).write_text(text)
            if annotation.kind == "config":
                self._command(
                    blocks.Command(item.where, "freshetd --data-dir data --config freshet.yaml"), annotation, serve=True
                )

    def _run(self, block: blocks.Block) -> None:
        annotation = block.annotation
        commands = blocks.commands_of(block.lines, self._first_line(block))
        unused = set(annotation.rules("skip")) | set(annotation.rules("background"))
        for number, command in enumerate(commands):
            skip = next(
                (rule for rule in annotation.rules("skip") if command.text.startswith(rule.partition(": ")[0])), None
            )
            background = next((rule for rule in annotation.rules("background") if command.text.startswith(rule)), None)
            unused -= {skip, background}
            if skip:
                self.skipped += 1
                continue
            serve = annotation.has("serve") and number == len(commands) - 1
            self._command(command, annotation, serve, background is not None)
        if unused:
            raise blocks.Mistake(f"{block.where}: no command of the block begins with '{unused.pop()}'")

    def _first_line(self, block: blocks.Block) -> str:
        name, _, line = block.where.rpartition(":")
        return f"{name}:{int(line) + (block.language is not None)}"

    def _command(
        self, command: blocks.Command, annotation: blocks.Annotation, serve: bool, background: bool = False
    ) -> None:
        rules = annotation.rules("with")
        text = command.text if annotation.kind == "hidden" else self.shell.translate(command.text, rules)
        code = self.shell.run(text, background, serve)
        self.ran += 1
        if code != annotation.exit_code:
            raise session.Failure(
                f"{command.where}: exit code {code}, not {annotation.exit_code}: {text}\n{self.shell.last_output}"
            )
        if command.expected:
            expected = self.shell.translate("\n".join(command.expected), rules)
            if not blocks.said(expected.split("\n"), self.shell.last_output, annotation.has("like"), whole=True):
                raise session.Failure(
                    f"{command.where}: {text}\nshould say\n{expected}\nbut says\n{self.shell.last_output}"
                )


def main() -> int:
    programs = pathlib.Path(sys.argv[1]).resolve()
    wanted = sys.argv[2:]
    groups, mistakes = collect()
    for mistake in mistakes:
        print(f"docs_test: {mistake}")
    work = [Group(name, items, programs) for name, items in groups.items() if not wanted or name in wanted]
    failed = len(mistakes)
    with concurrent.futures.ThreadPoolExecutor(max_workers=max(4, os.cpu_count() or 1)) as pool:
        jobs = []
        if not wanted or "inline" in wanted:
            jobs.append(pool.submit(inline.check, pages(), REPOSITORY, programs))
        jobs += [pool.submit(group.play) for group in work]
        for job in jobs:
            problem = job.result()
            if problem:
                failed += 1
                print(f"docs_test: {problem}", flush=True)
    ran, skipped = sum(group.ran for group in work), sum(group.skipped for group in work)
    print(f"docs_test: {ran} commands in {len(work)} groups run, {skipped} left out beside them, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
