#!/usr/bin/env python3
"""Checks the sources against countable rules of structure. usage: house.py [--tighten | --list]

Classes: at most 25 public methods, 400 lines of member functions over all files, 40 fields.
Files: at most 12 levels of own headers.
Rooms: at least so many asserts in 100 functions of ten lines or more, and comment lines in 100 lines of the headers.
Clocks: no reads.
Comments: no sentence begins without a subject.

house_limits.txt lists the numbers that exceed their limits today. They may only improve; --tighten writes the better
numbers. New code keeps the limits. --list prints all numbers over their limits. Exit code 1: a number is too bad.
"""

import argparse
import bisect
import collections
import dataclasses
import functools
import pathlib
import re
import sys
from collections.abc import Iterable

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LIMITS = pathlib.Path(__file__).resolve().with_name("house_limits.txt")
ROOMS = ("core", "sync", "storage", "server", "tools", "lab")
MOST = {"methods": 25, "lines": 400, "fields": 40, "depth": 12, "clocks": 0, "begins": 0}
# Least numbers by room, per hundred.
LEAST = {"asserts": {"core": 70, "storage": 70, "server": 30}, "comment": {"core": 35, "storage": 35, "server": 35, "tools": 35, "lab": 35}}
NO_CLOCK = ("core", "sync", "storage", "server")
LONG_FUNCTION = 10
WHAT = {
    "methods": "public methods",
    "lines": "lines of member functions",
    "fields": "fields",
    "depth": "headers deep",
    "clocks": "reads of a clock",
    "begins": "sentences of comments that begin with Of, That, Those, Who, What or Likewise",
    "asserts": "asserts in 100 functions of ten lines or more",
    "comment": "lines of comment in 100 of the headers",
}


# --- Code without comments and strings


TRIVIA = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<delimiter>[^()\s]*)\(.*?\)(?P=delimiter)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)


def blank(match: re.Match) -> str:
    lines = "\n" * match[0].count("\n")
    return '""' + lines if match[0][0] in "R\"'" else lines or " "


def code_of(text: str) -> str:
    """Removes comments, strings and directives; line numbers stay the same."""
    return DIRECTIVE.sub(blank, TRIVIA.sub(blank, text))


def group_end(code: str, at: int) -> int:
    """The position after the bracket that closes the one at `at`."""
    depth = 0
    for bracket in BRACKET.finditer(code, at):
        depth += 1 if bracket[0] in "({[" else -1
        if depth == 0:
            return bracket.end()
    return len(code)


BRACKET = re.compile(r"[(){}\[\]]")
MACRO = re.compile(r"\b(?:FRESHET_[A-Z_]+|alignas|decltype)\s*\(")
ATTRIBUTE = re.compile(r"\[\[.*?\]\]", re.DOTALL)
OPERATOR = re.compile(r"\boperator\s*(?:\(\)|\[\]|[^\s\w(]+|[\w:<>*& ]+?(?=\s*\())")
TEMPLATE = re.compile(r"\btemplate\s*(?=<)|(?<=\w)(?=<)")


def flattened(head: str) -> str:
    """A declaration without attributes, macros and template arguments; groups become `()` and `{}`."""
    head = ATTRIBUTE.sub(" ", head)
    while macro := MACRO.search(head):
        head = head[: macro.start()] + head[group_end(head, macro.end() - 1) :]
    head = OPERATOR.sub("operator_", head)
    out = []
    at = 0
    while at < len(head):
        if head[at] == "(":
            out.append("()")
            at = group_end(head, at)
        elif head[at] in "[{":
            out.append("{}" if head[at] == "{" else "")
            at = group_end(head, at)
        elif head[at] == "<" and re.search(r"\w$|\btemplate\s*$", "".join(out[-12:])):
            at = angle_end(head, at)
        else:
            out.append(head[at])
            at += 1
    return " ".join("".join(out).split())


def angle_end(head: str, at: int) -> int:
    depth = 0
    while at < len(head):
        if head[at] in "([{":
            at = group_end(head, at)
            continue
        if head[at] == "<":
            depth += 1
        elif head[at] == ">" and head[at - 1] != "-":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return at


# --- Declarations of a file


@dataclasses.dataclass
class Class:
    name: str
    file: str
    fields: int = 0
    methods: int = 0


@dataclasses.dataclass
class Function:
    scope: str  # name of its class, "" = none
    file: str
    lines: int


@dataclasses.dataclass
class Scope:
    kind: str  # namespace, class or function
    name: str
    made: Class | None = None
    public: bool = False


CLASS = re.compile(r"\b(class|struct|union)\s+((?:\w+::)*\w+)(?:\s+final)?\s*(?::[^:].*)?$", re.DOTALL)
LABEL = re.compile(r"\s*(public|protected|private)\s*:(?!:)")
CALLED = re.compile(r"(~?\w+(?:::~?\w+)*)\s*\(\)")
NO_MEMBER = re.compile(r"\s*(using|typedef|friend|static_assert|template\s+class|extern|enum)\b|\s*(class|struct|union)\s+[\w:]+\s*$")
NO_FIELD = re.compile(r"\b(static|constexpr)\b")


class Reader:
    """Finds the classes and functions of one file."""

    def __init__(self, file: str, text: str):
        self.file = file
        self.code = code_of(text)
        self.ends = [m.start() for m in re.finditer("\n", self.code)]
        self.classes: list[Class] = []
        self.functions: list[Function] = []
        self.scopes = [Scope("namespace", "")]
        self.start = 0
        self.read()

    def line(self, at: int) -> int:
        return bisect.bisect_left(self.ends, at)

    def read(self) -> None:
        at = 0
        for_tokens = re.compile(r"[(\[{};]")
        while token := for_tokens.search(self.code, at):
            at = token.end()
            if token[0] in "([":
                at = group_end(self.code, token.start())
            elif token[0] == ";":
                self.declare(self.code[self.start : token.start()])
                self.start = at
            elif token[0] == "}":
                if len(self.scopes) > 1:
                    self.scopes.pop()
                self.start = at
            else:
                at = self.open(token.start())

    def labelled(self, head: str) -> str:
        while label := LABEL.match(head):
            self.scopes[-1].public = label[1] == "public"
            head = head[label.end() :]
        return head

    def open(self, at: int) -> int:
        """Handles a `{` and returns the position to continue at."""
        head = self.labelled(self.code[self.start : at])
        flat = flattened(head).strip()
        scope = self.scopes[-1]
        if re.search(r"\bnamespace\b[\w: ]*$", flat) or flat.startswith("extern"):
            self.scopes.append(Scope("namespace", ""))
        elif (named := CLASS.search(flat)) and not re.search(r"\(\)|=|\benum\b", flat):
            name = "::".join(filter(None, [scope.name, named[2].removeprefix("freshet::")]))
            made = Class(name, self.file)
            self.classes.append(made)
            self.scopes.append(Scope("class", name, made, named[1] != "class"))
        elif self.is_function(flat):
            end = group_end(self.code, at)
            self.define(head, flat, at, end)
            self.start = end
            return end
        else:  # an initialiser, an enum or an unnamed type: part of the declaration
            end = group_end(self.code, at)
            if re.match(r"(enum|struct|union|class)\b", flat):
                self.start = end
            return end
        self.start = at + 1
        return at + 1

    @staticmethod
    def is_function(flat: str) -> bool:
        if "()" not in flat or re.search(r"(?<![=!<>])=(?!=)", flat.replace("operator_", "")):
            return False
        # A constructor may initialise members by braces before its body.
        return not re.match(r"[^()]*\(\)[\w ]* :(?!:).*[\w>]$", flat)

    def define(self, head: str, flat: str, at: int, end: int) -> None:
        called = CALLED.search(flat)
        name = called[1] if called else ""
        scope = self.scopes[-1]
        of = scope.name if scope.kind == "class" else "::".join(p for p in name.split("::")[:-1] if p[:1].isupper())
        plain = name.split("::")[-1].lstrip("~")
        found = re.search(re.escape(plain.replace("operator_", "operator")) + r"\W", head) if plain else None
        begun = at - len(head) + (found.start() if found else len(head) - len(head.lstrip()))
        self.functions.append(Function(of, self.file, self.line(end - 1) - self.line(begun) + 1))
        if scope.kind == "class":
            self.count_method(flat)

    def declare(self, head: str) -> None:
        scope = self.scopes[-1]
        if scope.kind != "class":
            return
        flat = flattened(self.labelled(head)).strip()
        if not flat or NO_MEMBER.match(flat):
            return
        declared = flat.split("=")[0]
        if "()" in declared:
            self.count_method(declared)
        elif scope.made and not NO_FIELD.search(flat):
            scope.made.fields += 1 + flat.count(",")

    def count_method(self, flat: str) -> None:
        scope = self.scopes[-1]
        called = CALLED.search(flat)
        if scope.made and scope.public and called and not called[1].startswith("~") and "friend" not in flat:
            scope.made.methods += 1


# --- Figures


ASSERT = re.compile(r"\b(?:D?CHECK|static_assert)\s*\(")
# A read of a standard library clock, under any name.
CLOCK = re.compile(r"\w::now\(")
OWN_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


COMMENTS = re.compile(r"(?:^[ \t]*//.*\n?)+|(?<=[^\s:/])[ \t]*//.*$", re.MULTILINE)
SLASHES = re.compile(r"^\s*//+", re.MULTILINE)
BEGINS = re.compile(r"(?:^|[.:;]\s)\s*(?:Of|That|Those|Who|Whoever|What|Likewise)\b(?![^.]*\?)")


def subjectless(text: str) -> int:
    """The number of sentences in comments that begin without a subject."""
    comments = (" ".join(SLASHES.sub("", comment[0]).split()) for comment in COMMENTS.finditer(text))
    return sum(len(BEGINS.findall(comment)) for comment in comments)


def comment_share(texts: list[str]) -> float:
    lines = [line.strip() for text in texts for line in text.split("\n") if line.strip()]
    return 100 * sum(line.startswith("//") for line in lines) / max(1, len(lines))


def depths(files: dict[str, str]) -> dict[str, int]:
    includes = {file: [own for own in OWN_INCLUDE.findall(text) if own in files] for file, text in files.items()}

    @functools.cache
    def depth(file: str) -> int:
        return max((1 + depth(own) for own in includes[file]), default=0)

    return {file: depth(file) for file in files}


class Homes:
    """Finds the file of a class. A source file may declare a class with the same name as one of a header."""

    def __init__(self, readers: Iterable[Reader]):
        self.headers: dict[str, list[str]] = collections.defaultdict(list)
        self.own: set[tuple[str, str]] = set()
        for one in (one for reader in readers for one in reader.classes):
            if one.file.endswith(".h"):
                self.headers[one.name].append(one.file)
            else:
                self.own.add((one.file, one.name))

    def of(self, file: str, name: str) -> str:
        """The class that `name` means in `file`, the nearest one, with the file of its declaration."""
        home = file
        if (file, name) not in self.own and name in self.headers:
            near = [file.rpartition("/")[0] + "/", file.split("/")[0] + "/"]
            home = min(self.headers[name], key=lambda header: (header != file, *(not header.startswith(folder) for folder in near)))
        return f"{home} {name}"


def figures(files: dict[str, str]) -> dict[tuple[str, str], int]:
    """All numbers by rule and subject."""
    result: dict[tuple[str, str], int] = collections.Counter()
    readers = {file: Reader(file, text) for file, text in files.items()}
    homes = Homes(readers.values())
    for reader in readers.values():
        for one in reader.classes:
            subject = homes.of(one.file, one.name)
            result["fields", subject] += one.fields
            result["methods", subject] += one.methods
        for function in reader.functions:
            if function.scope:
                result["lines", homes.of(function.file, function.scope)] += function.lines
    for file, depth in depths(files).items():
        key = "depth", file.rpartition("/")[0]
        result[key] = max(result[key], depth)
    for file, text in files.items():
        result["begins", file] = subjectless(text)
    for file, reader in readers.items():
        if file.split("/")[0] in NO_CLOCK:
            result["clocks", file] = len(CLOCK.findall(reader.code))
    for room in LEAST["asserts"]:
        own = [reader for file, reader in readers.items() if file.startswith(room + "/")]
        long = sum(function.lines >= LONG_FUNCTION for reader in own for function in reader.functions)
        asserts = sum(len(ASSERT.findall(reader.code)) for reader in own)
        if long:
            result["asserts", room] = int(100 * asserts / long)
    for room in LEAST["comment"]:
        headers = [text for file, text in files.items() if file.startswith(room + "/") and file.endswith(".h")]
        if headers:
            result["comment", room] = int(comment_share(headers))
    return dict(result)


# --- The ratchet


def over(found: dict[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """All numbers over their limits."""
    return {
        (rule, subject): number
        for (rule, subject), number in found.items()
        if (number > MOST[rule] if rule in MOST else number < LEAST[rule][subject])
    }


def better(rule: str, one: int, other: int) -> bool:
    return one < other if rule in MOST else one > other


def failures(found: dict[tuple[str, str], int], known: dict[tuple[str, str], int]) -> list[str]:
    told = []
    for (rule, subject), number in sorted(over(found).items()):
        was = known.get((rule, subject))
        if was is not None and not better(rule, was, number):
            continue
        limit = f"at most {MOST[rule]}" if rule in MOST else f"at least {LEAST[rule][subject]}"
        told.append(f"{subject}: {number} {WHAT[rule]}, {limit}" + (f", {was} before" if was is not None else ""))
    for rule, subject in sorted(set(known) - set(over(found))):
        told.append(f"{subject}: keeps the limit of {WHAT[rule]}: `tests/tidy/house.py --tighten` takes it out of {LIMITS.name}")
    return told


def tightened(known: dict[tuple[str, str], int], found: dict[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    left = over(found)
    return {key: left[key] if better(key[0], left[key], number) else number for key, number in known.items() if key in left}


def read_limits(text: str) -> dict[tuple[str, str], int]:
    rows = [line.split(maxsplit=2) for line in text.split("\n") if line and not line.startswith("#")]
    return {(rule, subject): int(number) for rule, number, subject in rows}


def written(limits: dict[tuple[str, str], int]) -> str:
    comments = "".join(line + "\n" for line in LIMITS.read_text().split("\n") if line.startswith("#")) if LIMITS.exists() else ""
    return comments + "".join(f"{rule} {number} {subject}\n" for (rule, subject), number in sorted(limits.items()))


def sources() -> dict[str, str]:
    paths = (path for room in ROOMS for path in (REPOSITORY / room).rglob("*.[hc]*") if path.suffix in (".h", ".cc"))
    return {str(path.relative_to(REPOSITORY)): path.read_text() for path in sorted(paths)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tighten", action="store_true", help="write the numbers that have become better")
    parser.add_argument("--list", action="store_true", help="print all that is over its limit")
    arguments = parser.parse_args()
    found = figures(sources())
    if arguments.list:
        sys.stdout.write("".join(f"{rule} {number} {subject}\n" for (rule, subject), number in sorted(over(found).items())))
        return 0
    known = read_limits(LIMITS.read_text())
    if arguments.tighten:
        known = tightened(known, found)
        LIMITS.write_text(written(known))
    told = failures(found, known)
    for line in told:
        print(f"tidy: {line}")
    return int(bool(told))


if __name__ == "__main__":
    sys.exit(main())
