"""Tests commands within sentences and tables: runs those of `freshet`, checks the options of other programs."""

import pathlib
import re
import tempfile

import session

# Placeholders of the docs, and the values that replace them here.
STANDS_FOR = {
    "URL": "https://example.org/",
    "HOST": "example.org",
    "H": "example.org",
    "ID": "shop",
    "NAME": "greedy",
    "SERVICE": "freshet.v1.AdminService",
    "FILE": "sitemap.xml",
    "COMMAND": "get",
}
FIRST = """freshet upsert https://example.org/ https://example.com/ https://en.wiki.example/
freshet upsert --crawl-id shop https://example.net/ && freshet upsert --crawl-id news https://example.org/
printf '<urlset><url><loc>https://example.org/</loc><lastmod>2026-01-01</lastmod></url></urlset>' > sitemap.xml"""
# Expected exit codes other than 0.
ANSWERS = {
    "freshet list > /dev/full": {4},
    "freshet --server somehost": {2},
    # This server is not in a cluster.
    "freshet fleet": {1},
    "freshet fleet drain NODE --yes": {1},
    # Without a terminal the command cannot ask for confirmation.
    "freshet fleet drain NODE": {2},
    # The docs spell this command in two ways, and the first already deletes the crawl.
    "freshet crawls delete shop --yes": {0, 1},
}
# Commands that cannot run alone: groups, commands without arguments, commands that need the internet or more files.
FRAGMENTS = {
    "freshet crawls": "a group of commands",
    "freshet auth hash-token": "reads a token from standard input",
    "freshet crawls set shop --frontier-mode": "without a mode",
    "freshet crawls shadow news": "needs a crawl id in shadow mode; tests/grpc has some",
    "freshet crawls shadow shop": "likewise",
    "freshet crawls show": "without a crawl id",
    "freshet health [freshet.v1.AdminService]": "with or without a service",
    "freshet host": "without a host",
    "freshet import sitemap.xml...": "needs files of other crawlers; tests/cli/transfer has some",
    "freshet host --block-until": "without a host",
    "freshet hosts delete": "without a host",
    "freshet get": "without a URL",
    "freshet explain": "without a URL",
    "freshet report": "without rows",
    "freshet signal --sitemap": "without a file",
    "freshet trust --source greedy": "needs a source of that name",
    "freshet upsert --crawl-id": "without a crawl id",
    "freshet sitemap": "without a site",
    "freshet sitemap https://example.org/": "asks the world outside; run against a local site in docs/sitemaps.md",
    "freshet crawls set shop": "without an option",
    "freshet restore": "without a checkpoint",
    "freshet restore CHECKPOINT DIR": "needs a checkpoint; run in docs/backup.md",
}


def commands(pages: list[tuple[str, pathlib.Path]], program: str) -> list[tuple[str, str]]:
    """Returns place and text of each different command."""
    found: dict[str, str] = {}
    for name, path in pages:
        for number, line in enumerate(path.read_text().split("\n"), 1):
            for text in re.findall(r"`(" + program + r" [^`]+)`", line):
                found.setdefault(text.replace("\\|", "|"), f"{name}:{number}")
    return [(where, text) for text, where in found.items()]


def _spelled_out(text: str) -> str:
    return re.sub(r"\b[A-Z]+\b", lambda word: STANDS_FOR.get(word[0], word[0]), text)


def check(pages: list[tuple[str, pathlib.Path]], repository: pathlib.Path, programs: pathlib.Path) -> str:
    shell = session.Session(pathlib.Path(tempfile.mkdtemp(prefix="freshet_docs_")), repository, programs)
    problems, gone = [], []
    try:
        shell.run("freshetd --data-dir data", serve=True)
        if shell.run(FIRST):
            problems.append(shell.last_output)
        # Commands that delete pages and hosts come last.
        for where, text in sorted(commands(pages, "freshet"), key=lambda found: "delete" in found[1]):
            command = _spelled_out(text)
            if command in FRAGMENTS:
                continue
            code = shell.run(command)
            if code not in ANSWERS.get(command, {0}):
                problems.append(f"{where}: `{text}`: exit code {code}\n{shell.last_output}")
        for program in ("freshetd", "freshet-sim", "freshet-bench", "freshet-demo"):
            problems += _options(shell, pages, program)
    except session.Failure as failure:
        problems.append(str(failure))
    finally:
        gone = shell.close()
    return "\n".join(problems + gone)


def _options(shell: session.Session, pages: list[tuple[str, pathlib.Path]], program: str) -> list[str]:
    problems = []
    for where, text in commands(pages, program):
        words = text.split()
        verb = words[1] if len(words) > 1 and not words[1].startswith("-") else ""
        shell.run(f"{program} {verb} --help")
        known = set(re.findall(r"--[a-z-]+", shell.last_output))
        for option in re.findall(r"--[a-z-]+", text):
            if option not in known:
                problems.append(f"{where}: `{text}`: {program} {verb} has no {option}")
    return problems
