"""Reads the code blocks of Markdown pages, and the annotations that say how to test each.

An annotation is an HTML comment directly before its block, which readers do not see:

    <!-- doctest: run GROUP [like] [exit=N] [serve] -->   runs the commands of the block in the shell of GROUP
    <!-- doctest: skip: REASON -->                        does not run the block; says why
    <!-- doctest: output GROUP [like] -->                 the block is (part of) the output of GROUP's last command
    <!-- doctest: file GROUP NAME -->                     writes the block to this file
    <!-- doctest: config -->                              starts freshetd with the block as its configuration
    <!-- doctest: text -->                                the block has no commands: a picture, a format
    <!-- doctest: hidden GROUP                            runs commands that readers do not need: to prepare or check
    ... -->                                              `serve COMMAND` acts as above; `stop` ends that server

`like` ignores words with digits when it compares outputs; `...` in a block matches anything. `serve` leaves the last
command in the background once it has printed `ready`. Each command of the block must end with exit code N. More
lines of `run`:

    skip PREFIX: REASON     does not run commands that begin with PREFIX
    background PREFIX       keeps commands that begin with PREFIX running until the group ends; they must not end before
    with TEXT => TEXT       replaces the first text by the second, in commands and in expected outputs
"""

import dataclasses
import pathlib
import re
import subprocess

PREFIX = "<!-- doctest:"
KINDS = ("run", "skip", "output", "file", "config", "text", "hidden")
SHELLS = ("", "sh", "bash", "shell", "console")


class Mistake(Exception):
    """A mistake in a page: a block or annotation that cannot be understood."""


@dataclasses.dataclass
class Annotation:
    kind: str
    where: str
    words: list[str] = dataclasses.field(default_factory=list)
    reason: str = ""
    lines: list[str] = dataclasses.field(default_factory=list)

    @property
    def group(self) -> str:
        return self.words[0] if self.words else ""

    def has(self, word: str) -> bool:
        return word in self.words[1:]

    @property
    def exit_code(self) -> int:
        return next((int(word[5:]) for word in self.words if word.startswith("exit=")), 0)

    def rules(self, verb: str) -> list[str]:
        return [line[len(verb) + 1 :].strip() for line in self.lines if line.startswith(verb + " ")]


@dataclasses.dataclass
class Block:
    where: str
    language: str | None  # None: indented
    lines: list[str]
    annotation: Annotation | None = None


@dataclasses.dataclass
class Command:
    where: str
    text: str
    expected: list[str] | None = None


def parse_annotation(text: str, where: str) -> Annotation:
    """Parses a whole comment, from PREFIX to `-->`."""
    body = text[len(PREFIX) :].strip().removesuffix("-->").rstrip()
    head, _, rest = body.partition("\n")
    kind, _, arguments = head.strip().partition(" ")
    reason = ""
    if kind.endswith(":"):
        kind, reason, arguments = kind[:-1], arguments, ""
    annotation = Annotation(kind, where, arguments.split(), reason, rest.split("\n") if rest else [])
    if kind not in KINDS:
        raise Mistake(f"{where}: '{kind}' is none of {', '.join(KINDS)}")
    if kind in ("run", "output", "file", "hidden") and not annotation.group:
        raise Mistake(f"{where}: {kind} needs the name of a group")
    if kind == "skip" and not reason:
        raise Mistake(f"{where}: skip needs a reason")
    if kind == "file" and len(annotation.words) != 2:
        raise Mistake(f"{where}: file needs a group and a name")
    if kind == "run":
        for line in annotation.lines:
            if not re.match(r"skip .+: .+|background .+|with .+ => ", line):
                raise Mistake(f"{where}: '{line}' is no rule")
    return annotation


def _block_at(lines: list[str], at: int, where: str) -> tuple[Block | None, int]:
    """Returns the block that begins at this line, or None, and the line to continue at."""
    if lines[at].startswith("```"):
        end = next((i for i in range(at + 1, len(lines)) if lines[i].startswith("```")), len(lines))
        return Block(where, lines[at][3:].strip(), lines[at + 1 : end]), end + 1
    if not lines[at].startswith("    ") or not lines[at].strip() or (at and lines[at - 1].strip()):
        return None, at + 1
    end = at
    while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
        end += 1
    block = Block(where, None, [text[4:] for text in lines[at:end]])
    while not block.lines[-1].strip():
        block.lines.pop()
    return block, end


def blocks_of(page: pathlib.Path, name: str) -> list[Block | Annotation]:
    """Returns the blocks of a page in order, and hidden annotations between them."""
    lines = [*page.read_text().split("\n"), "end"]
    found: list[Block | Annotation] = []
    pending: Annotation | None = None
    at = 0
    while at < len(lines):
        line, where = lines[at], f"{name}:{at + 1}"
        if line.startswith(PREFIX) and not pending:
            end = next(i for i in range(at, len(lines)) if "-->" in lines[i])
            pending = parse_annotation("\n".join(lines[at : end + 1]), where)
            at = end + 1
            if pending.kind == "hidden":
                found.append(pending)
                pending = None
            continue
        block, at = _block_at(lines, at, where)
        if block:
            block.annotation, pending = pending, None
            found.append(block)
        elif line.strip() and pending:
            raise Mistake(f"{pending.where}: no block follows")
    return found


def _whole(text: str) -> bool:
    """Whether the command is complete, so that bash needs no further line."""
    if text.endswith("\\"):
        return False
    checked = subprocess.run(["bash", "-n"], input=text + "\n", capture_output=True, text=True, check=False)
    return checked.returncode == 0 and "here-document" not in checked.stderr


def commands_of(lines: list[str], where: str) -> list[Command]:
    """Returns the commands; in a block with `$ ` prompts, each has the lines after it as expected output."""
    name, _, first = where.rpartition(":")
    prompts = any(line.startswith("$ ") for line in lines)
    commands: list[Command] = []
    text = ""
    for number, line in enumerate(lines, int(first)):
        if prompts and not text and not line.startswith("$ "):
            if not commands:
                raise Mistake(f"{name}:{number}: output before any command")
            commands[-1].expected = [*(commands[-1].expected or []), line]
            continue
        if not text and (not line.strip() or line.lstrip().startswith("#")):
            continue
        if not text:
            start = number
        text += ("\n" if text else "") + (line.removeprefix("$ ") if prompts and not text else line)
        if _whole(text):
            commands.append(Command(f"{name}:{start}", text))
            text = ""
    if text:
        raise Mistake(f"{name}:{start}: this command has no end: {text}")
    return commands


def _pattern(lines: list[str], like: bool) -> str:
    def word(text: str) -> str:
        if like and re.search(r"\d", text):
            return r"\S+"
        return r"[\s\S]*?".join(re.escape(part) for part in text.split("..."))

    return r"\s+".join(word(text) for text in " ".join(lines).split())


def said(expected: list[str], output: str, like: bool, whole: bool) -> bool:
    """Whether `output` is, or contains, the expected text; line breaks and runs of spaces do not matter."""
    pattern = _pattern(expected, like)
    if whole:
        return re.fullmatch(pattern, output.strip()) is not None
    return re.search(pattern, output) is not None
