"""Checks that every number and superlative on the front pages has a source.

claims.txt is the register. A line that begins in the first column is a claim, and the indented lines below it are its
sources:

    PAGE: WORDS OF THE PAGE
        FILE: WORDS OF THAT FILE
        run: COMMAND

Words are compared as a reader sees them, without markup and line breaks. `run` is for a number that a command prints:
the page must name the command. A claim or source that no page has is a mistake, and so is a number or superlative on a
front page without a claim. Front pages are all of README.md and docs/concepts.md, with their blocks of text, and the
first paragraph of every page in docs/.
"""

import dataclasses
import pathlib
import re

WHOLE = ("README.md", "docs/concepts.md")
WORDS = (
    "best worst most least always never nothing fastest slowest largest smallest highest lowest shortest longest "
    "cheapest perfect optimal unlimited two three four five six seven eight nine ten eleven twelve dozen hundred "
    "hundreds thousand thousands million millions half third quarter tenth twice"
).split()
# A number, but not a part of a name, as in `s3`, nor the number of a list item.
NUMBER = r"(?<![\w.,/:-])\d+(?:[.,]\d+)*(?:\s?%)?(?![\w-]*[A-Za-z])"
CLAIMING = re.compile(rf"{NUMBER}|\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
# Names that contain numbers, and phrases that only look like superlatives.
NAMES = re.compile(r"Debian \d+|C\+\+\d+|Apache License 2\.0|at (?:most|least)\b|WWW \d+|PNAS \d+", re.IGNORECASE)


@dataclasses.dataclass
class Claim:
    where: str
    page: str
    words: str
    sources: list[tuple[str, str]] = dataclasses.field(default_factory=list)


def plain(text: str) -> str:
    """The text of Markdown as a reader sees it, in one line; other text only loses its line breaks."""
    text = re.sub(r"<!--.*?-->", " ", text, flags=re.S)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return " ".join(re.sub(r"\*\*|`|(?<!\w)[*_](?=\w)|(?<=[\w.%])[*_](?!\w)", "", text).split())


def prose(text: str) -> list[str]:
    """The paragraphs, items and tables of a page, in order, without headings and blocks of code."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    parts = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
    return [part for part in parts if not part.startswith("    ") and not part.lstrip().startswith("#")]


def front(page: str, text: str) -> list[str]:
    """The parts of a page that need sources, as a reader sees them."""
    parts = prose(text)
    if page not in WHOLE:
        return [plain(part) for part in parts[:1]]
    shown = re.findall(r"^<!-- doctest: text -->\n\n((?:    .*\n|\n)+)", text, flags=re.M)
    return [plain(part) for part in parts + shown]


def names_removed(text: str) -> str:
    """Replaces names by spaces of the same length, so that offsets stay the same."""
    return NAMES.sub(lambda found: " " * len(found.group()), text)


def parse(text: str, name: str) -> list[Claim]:
    claims: list[Claim] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        file, colon, words = line.strip().partition(": ")
        if not colon or not words.strip():
            raise ValueError(f"{name}:{number}: not of the form 'FILE: WORDS'")
        if not line.startswith(" "):
            claims.append(Claim(f"{name}:{number}", file, plain(words)))
        elif not claims:
            raise ValueError(f"{name}:{number}: a source without a claim")
        else:
            claims[-1].sources.append((file, plain(words)))
    return claims


def uncovered(parts: list[str], claims: list[Claim]) -> list[str]:
    """Numbers and superlatives of these parts that no claim contains, with the text around them."""
    missing = []
    for part in parts:
        spans = []
        for claim in claims:
            spans += [(m.start(), m.end()) for m in re.finditer(re.escape(claim.words), part)]
        for found in CLAIMING.finditer(names_removed(part)):
            if not any(begin <= found.start() and found.end() <= end for begin, end in spans):
                around = part[max(0, found.start() - 50) : found.end() + 50]
                missing.append(f"'{found.group().strip()}' in '...{around}...'")
    return missing


def mistakes(repository: pathlib.Path, register: pathlib.Path) -> list[str]:
    claims = parse(register.read_text(), register.name)
    wrong = []
    texts: dict[str, str] = {}

    def seen(file: str) -> str:
        if file not in texts:
            path = repository / file
            texts[file] = plain(path.read_text()) if path.is_file() else ""
        return texts[file]

    for claim in claims:
        if claim.words not in seen(claim.page):
            wrong.append(f"{claim.where}: {claim.page} does not say '{claim.words}' (any more)")
        if not claim.sources:
            wrong.append(f"{claim.where}: nothing supports '{claim.words}'")
        for file, words in claim.sources:
            if file == "run":
                file = claim.page
            if words not in seen(file):
                wrong.append(f"{claim.where}: {file} does not say '{words}' (any more), which supports '{claim.words}'")
    pages = [*WHOLE, *(str(path.relative_to(repository)) for path in sorted(repository.glob("docs/*.md")))]
    for page in dict.fromkeys(pages):
        own = [claim for claim in claims if claim.page == page]
        for missing in uncovered(front(page, (repository / page).read_text()), own):
            wrong.append(f"{page}: no source in {register.name} for {missing}")
    return wrong
