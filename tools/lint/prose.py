#!/usr/bin/env python3
"""Holds the pages to the countable rules of CONTRIBUTING.md: usage: prose.py [--tighten | --list] [PAGE...]

A paragraph or list item has at most 90 words, a cell of a table at most 40; no sentence begins with one of the words
below; nothing "is no" thing. Code, headings and comments are ignored. prose_ratchet.txt has the allowed findings of
each page: the numbers may only fall, and --tighten writes the lower ones. Exit code 1: a page has more.
"""

import argparse
import dataclasses
import pathlib
import re
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
RATCHET = pathlib.Path(__file__).resolve().with_name("prose_ratchet.txt")
MOST_WORDS = {"paragraph": 90, "cell": 40}
# Questions may begin with "What" and "Who".
BEGINS = re.compile(r"(Of|That of|Who|What|Whoever|One that|But for|Likewise|Else|So is)\b")
QUESTIONS = ("Who", "What")
# "There is no limit" and "is no longer" are common English.
IS_NO = re.compile(r"(?<![Tt]here )\bis no\b(?! longer| more\b)")


@dataclasses.dataclass
class Unit:
    kind: str  # paragraph or cell
    line: int
    text: str


# --- Units of a page


def units_of(page: str) -> list[Unit]:
    """Paragraphs, list items and cells, without code, headings and comments."""
    page = re.sub(r"<!--.*?-->", lambda comment: "\n" * comment[0].count("\n"), page, flags=re.DOTALL)
    units: list[Unit] = []
    current: Unit | None = None
    fenced = False
    after_blank = True
    for number, line in enumerate(page.split("\n"), 1):
        fence = line.lstrip().startswith(("```", "~~~"))
        fenced ^= fence
        code = fence or fenced or (line.startswith("    ") and after_blank and not current)
        item = re.match(r"\s*(?:[-*]|\d+\.)\s+(.*)", line)
        if code or not line.strip() or line.startswith("#"):
            # A blank line ends a paragraph; indented text behind it is code, unless it is an item.
            after_blank = not line.strip() or (code and after_blank)
            current = None
            if not (code and item and not fenced and not fence):
                continue
        after_blank = False
        if line.startswith("|"):
            current = None
            units += [Unit("cell", number, cell) for cell in cells_of(line)]
        elif item or current is None:
            current = Unit("paragraph", number, item[1] if item else line.strip())
            units.append(current)
        else:
            current.text += " " + line.strip()
    return units


def cells_of(row: str) -> list[str]:
    if re.fullmatch(r"[|\s:-]+", row):
        return []
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def plain(text: str) -> str:
    """The text as read: code is a word, a link its text."""
    text = re.sub(r"`[^`]*`", "CODE", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}", "", text)


# --- Findings


def findings(page: str) -> list[tuple[int, str]]:
    """Returns each finding with its line."""
    found = []
    for unit in units_of(page):
        text = plain(unit.text)
        words = len(text.split())
        if words > MOST_WORDS[unit.kind]:
            found.append((unit.line, f"a {unit.kind} of {words} words, at most {MOST_WORDS[unit.kind]}"))
        # A mere link has the title of its page.
        linked = re.fullmatch(r"!?\[[^\]]*\]\([^)]*\)", unit.text)
        for sentence in [] if linked else re.split(r"(?<=[.!?])\s+", text):
            begins = BEGINS.match(sentence)
            if begins and not (begins[1] in QUESTIONS and sentence.endswith("?")):
                found.append((unit.line, f"a sentence begins with '{begins[1]}'"))
        found += [(unit.line, "'is no'") for _ in IS_NO.finditer(text)]
    return found


def tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.md"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return sorted(name for name in set(listed.stdout.split("\n")) if name and (REPOSITORY / name).exists())


# --- The ratchet


def read_ratchet(text: str) -> dict[str, int]:
    rows = (line.split() for line in text.split("\n") if line and not line.startswith("#"))
    return {name: int(count) for count, name in rows}


def tightened(allowed: dict[str, int], counts: dict[str, int]) -> dict[str, int]:
    return {name: min(count, counts.get(name, 0)) for name, count in allowed.items() if counts.get(name, 0)}


def written(allowed: dict[str, int]) -> str:
    head = "# Findings of prose.py that a page may still have; others have none. `tools/lint/prose.py --tighten` lowers them.\n"
    return head + "".join(f"{count} {name}\n" for name, count in sorted(allowed.items()))


def main() -> int:
    parser = argparse.ArgumentParser(description="Holds the pages to the countable rules of prose.")
    parser.add_argument("--tighten", action="store_true", help="lower the numbers of the ratchet")
    parser.add_argument("--list", action="store_true", help="print all findings, those that are allowed, too")
    parser.add_argument("pages", nargs="*", help="pages, by their paths in the repository (all)")
    arguments = parser.parse_args()
    allowed = read_ratchet(RATCHET.read_text()) if RATCHET.exists() else {}
    found = {name: findings((REPOSITORY / name).read_text()) for name in arguments.pages or tracked()}
    over = {name for name, list_ in found.items() if len(list_) > allowed.get(name, 0)}
    for name, list_ in found.items():
        if name in over or arguments.list:
            print("".join(f"{name}:{line}: {what}\n" for line, what in list_), end="")
        if name in over:
            print(f"{name}: {len(list_)} findings, at most {allowed.get(name, 0)}")
    if arguments.tighten:
        counts = {name: len(list_) for name, list_ in found.items()}
        kept = {name: count for name, count in allowed.items() if name not in counts} if arguments.pages else {}
        RATCHET.write_text(written(tightened(allowed, counts) | kept))
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
