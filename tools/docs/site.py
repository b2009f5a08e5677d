#!/usr/bin/env python3
"""Builds a site of the documentation with mkdocs: usage: site.py OUTPUT [--work DIR]

Pages are copied to their places in the repository, with everything to which they link: other pages unchanged, sources
and other files as pages that show them, folders as lists. So the site is complete, and each link that works in a
clone works there. Its contents are those of docs/README.md. Then everything is checked: all links and anchors lead
somewhere, and the site loads nothing from elsewhere. Exit code 1: something is wrong, which is printed; 77: mkdocs or
its theme (mkdocs-material) is missing.
"""

import argparse
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
FIRST = ("README.md", "docs/README.md")
CONTENTS = "docs/README.md"
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
COMMENT = re.compile(r"<!-- doctest:.*?-->\n", re.DOTALL)
STYLES = "site.css"
PICTURES = (".svg", ".png")
LANGUAGES = {".h": "cpp", ".cc": "cpp", ".proto": "protobuf", ".py": "python", ".sh": "bash", ".yaml": "yaml"}
# Longer files are not shown.
MOST_BYTES = 200_000


class Mistake(Exception):
    pass


# --- Pages


def page_of(path: pathlib.Path) -> str:
    """The page that shows this file or folder of the repository."""
    name = path.relative_to(REPOSITORY).as_posix()
    if path.is_dir():
        return "README.md" if name == "." else f"{name}/README.md"
    # mkdocs would use a README as index.md, which exists too.
    if name == CONTENTS:
        return "docs/contents.md"
    return name if name.endswith((".md", *PICTURES)) else f"{name}.md"


def text_of(path: pathlib.Path) -> str:
    """Markdown that shows the file or folder."""
    if path.suffix == ".md":
        return path.read_text()
    name = path.relative_to(REPOSITORY).as_posix()
    if path.is_dir():
        files = subprocess.run(
            ["git", "ls-files", "-z", "--", name], cwd=REPOSITORY, capture_output=True, text=True, check=False
        ).stdout.split("\0")
        names = sorted({file[len(name) + 1 :].partition("/")[0] for file in files if file})
        return f"# {name}\n\n" + "\n".join(f"- `{file}`" for file in names) + "\n"
    if path.stat().st_size > MOST_BYTES:
        return f"# {name}\n\n{path.stat().st_size:,} bytes: see the repository.\n"
    return f"# {name}\n\n~~~~ {LANGUAGES.get(path.suffix, 'text')}\n{path.read_text()}\n~~~~\n"


def stage(work: pathlib.Path) -> None:
    """Copies FIRST and everything to which they link."""
    waiting = [REPOSITORY / name for name in FIRST] + sorted((REPOSITORY / "docs").rglob("*.md"))
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        target = work / page_of(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix in PICTURES:
            shutil.copyfile(path, target)
            continue
        text = for_mkdocs(text_of(path))
        if path.suffix == ".md":
            text, found = with_pages_linked(text, path)
            waiting += [other for other in found if other not in seen]
            seen |= found
        target.write_text(text)


def with_pages_linked(text: str, path: pathlib.Path) -> tuple[str, set[pathlib.Path]]:
    found = set()

    def replaced(match: re.Match) -> str:
        link, hash_sign, anchor = match[1].partition("#")
        if "://" in link or link.startswith("mailto:") or not link:
            return match[1]
        other = (path.parent / link).resolve()
        if not other.exists():
            raise Mistake(f"{path.relative_to(REPOSITORY)}: {link} leads nowhere")
        if other.is_dir() and (other / "README.md").exists():
            other /= "README.md"
        found.add(other)
        return os.path.relpath(page_of(other), path.parent.relative_to(REPOSITORY)) + hash_sign + anchor

    return LINK.sub(replaced, text), found


def for_mkdocs(text: str) -> str:
    """Removes parts that only tests read, and writes lists for Python's Markdown: after a blank line, with four
    spaces a level."""
    lines: list[str] = []
    fenced = item = False
    for line in COMMENT.sub("", text).split("\n"):
        fenced ^= line.startswith(("```", "~~~"))
        begins = re.match(r"( *)([-*]|\d+\.) ", line)
        if begins and not fenced and (item or len(begins[1]) < 4):
            if not item and lines and lines[-1].strip():
                lines.append("")
            item = True
            line = "  " * (len(begins[1]) // 2 * 2) + line.lstrip()
        elif not line.strip() or not line.startswith(" "):
            item = item and not line.strip()
        lines.append(line)
    return "\n".join(lines)


# --- Contents


def contents() -> list:
    """The `nav` of mkdocs, from the headings and lists of CONTENTS."""
    nav: list = [{"Freshet": "README.md"}, {"Contents": page_of(REPOSITORY / CONTENTS)}]
    section: list = []
    for line in (REPOSITORY / CONTENTS).read_text().split("\n"):
        heading = re.match(r"## (.+)", line)
        if heading:
            section = []
            nav.append({heading[1]: section})
        for title, link in re.findall(r"^- \[([^]]+)\]\(([^)#]+\.md)\)", line):
            section.append({title: os.path.normpath(os.path.join("docs", link))})
    return [entry for entry in nav if next(iter(entry.values()))]


def has_theme() -> bool:
    """Whether mkdocs, which has its own interpreter, finds the theme."""
    interpreter = pathlib.Path(shutil.which("mkdocs")).read_bytes().split(b"\n")[0].removeprefix(b"#!").split()
    asks = "import sys; from mkdocs import utils; sys.exit('material' not in utils.get_theme_names())"
    return subprocess.run([*interpreter, "-c", asks], capture_output=True, check=False).returncode == 0


def configuration(work: pathlib.Path, output: pathlib.Path) -> dict:
    return {
        "site_name": "Freshet",
        "docs_dir": str(work),
        "site_dir": str(output),
        "use_directory_urls": False,
        "theme": {
            "name": "material",
            "font": False,  # uses the fonts of the reader's machine
            "features": ["navigation.tabs", "navigation.tracking", "navigation.top", "search.suggest", "search.highlight"],
            "palette": [
                {"media": f"(prefers-color-scheme: {scheme})", "scheme": name, "primary": "teal", "accent": "teal"}
                | {"toggle": {"icon": icon, "name": f"Show it {other}"}}
                for scheme, name, icon, other in (
                    ("light", "default", "material/weather-night", "dark"),
                    ("dark", "slate", "material/weather-sunny", "light"),
                )
            ],
        },
        "extra_css": [STYLES],
        "extra": {"generator": False},
        "plugins": ["search"],
        "nav": contents(),
        "markdown_extensions": [
            "tables",
            "fenced_code",
            "sane_lists",
            {"codehilite": {"guess_lang": False, "css_class": "highlight"}},
            {"toc": {"permalink": True}},
        ],
    }


# --- What was built


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag in ("img", "script", "iframe", "source") and values.get("src"):
            self.fetched.append(values["src"])
        elif tag == "link" and values.get("href") and values.get("rel") != "canonical":
            self.fetched.append(values["href"])


def check(output: pathlib.Path) -> list[str]:
    pages = {}
    # 404.html is served at any address, so its links start at the root of the host.
    for path in set(output.rglob("*.html")) - {output / "404.html"}:
        pages[path] = Page()
        pages[path].feed(path.read_text())
    problems = []
    for path, page in pages.items():
        name = path.relative_to(output)
        problems += [f"{name}: fetches {url}" for url in page.fetched if is_outside(url)]
        for link in [*page.links, *page.fetched]:
            if not is_outside(link) and not leads_somewhere(link, path, pages):
                problems.append(f"{name}: {link} leads nowhere")
    for sheet in output.rglob("*.css"):
        for url in re.findall(r"(?:url\(|@import )[\"']?([^\"')]+)", sheet.read_text(errors="replace")):
            if is_outside(url):
                problems.append(f"{sheet.relative_to(output)}: fetches {url}")
    if not json.loads((output / "search/search_index.json").read_text())["docs"]:
        problems.append("the index of the search is empty")
    return problems


def is_outside(link: str) -> bool:
    return link.startswith(("http:", "https:", "//", "mailto:"))


def leads_somewhere(link: str, path: pathlib.Path, pages: dict) -> bool:
    parts = urllib.parse.urlsplit(link)
    if parts.scheme:
        return parts.scheme == "data"
    target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
    if target not in pages or not parts.fragment:
        return target.exists()
    return urllib.parse.unquote(parts.fragment) in pages[target].ids


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds a site of the documentation.")
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, help="where pages are copied to (OUTPUT-pages)")
    arguments = parser.parse_args()
    output = arguments.output.resolve()
    work = (arguments.work or output.with_name(output.name + "-pages")).resolve()
    if not shutil.which("mkdocs") or not has_theme():
        print("site: SKIPPED: mkdocs or its theme is not installed (./dev docs does)", file=sys.stderr)
        return 77
    shutil.rmtree(work, ignore_errors=True)
    try:
        stage(work)
    except Mistake as mistake:
        print(f"site: {mistake}", file=sys.stderr)
        return 1
    shutil.copyfile(HERE / STYLES, work / STYLES)
    settings = work.with_suffix(".json")  # JSON is YAML
    settings.write_text(json.dumps(configuration(work, output), indent=2))
    built = subprocess.run(["mkdocs", "build", "--strict", "--quiet", "--clean", "-f", str(settings)], check=False)
    if built.returncode:
        return 1
    problems = check(output)
    for problem in problems:
        print(f"site: {problem}", file=sys.stderr)
    print(f"site: {len(list(output.rglob('*.html')))} pages in {output}, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
