"""Tests examples/histories/from_git.py on a small repository. usage: from_git_test.py BIN_DIR"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path()
BEGIN = 1_600_000_000
DAY = 86400


class Site:
    """A git repository whose commit times are days."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.git("init", "--quiet", "--initial-branch", "main")

    def git(self, *arguments: str, day: int = 0) -> None:
        stamp = f"{BEGIN + day * DAY} +0000"
        settings = ["-c", "user.name=a", "-c", "user.email=a@b.test", "-c", "commit.gpgsign=false"]
        environment = {**os.environ, "GIT_COMMITTER_DATE": stamp, "GIT_AUTHOR_DATE": stamp}
        subprocess.run(["git", *settings, *arguments], cwd=self.root, env=environment, check=True, capture_output=True)

    def commit(self, day: int, **files: str) -> None:
        for name, text in files.items():
            self.write(name, text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", "x", day=day)

    def write(self, name: str, text: str) -> None:
        path = self.root / "content" / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def lines(first: int, count: int = 8) -> str:
    return "".join(f"line {n}\n" for n in range(first, first + count))


def history(root: pathlib.Path, *options: str, code: int = 0) -> str:
    script = REPOSITORY / "examples/histories/from_git.py"
    command = [sys.executable, "-B", str(script), str(root), "--path", "content", "--suffix", ".md", "--strip", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout


def days(text: str) -> dict[str, tuple[int, list[str]]]:
    """For each URL its first day, and the day and kind of each touch: `3c`."""
    found = {}
    for row in text.splitlines():
        url, _, first, touches = row.split("\t")
        pairs = [touch.split(":") for touch in touches.split(",") if touch]
        found[url] = ((int(first) - BEGIN) // DAY, [f"{(int(time) - BEGIN) // DAY}{kind}" for time, kind in pairs])
    return found


class FromGit(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        self.site = Site(self.root)
        self.site.commit(0, a=lines(0), b=lines(0), gone=lines(0))
        (self.root / "README").write_text("not a page")
        self.site.commit(1)

    def test_changes_and_minor_touches_are_told_apart(self) -> None:
        self.site.commit(2, a=lines(4))
        self.site.commit(3, a=lines(4) + "one more\n")
        self.site.commit(4, a=lines(50), b=lines(50), c=lines(50), gone=lines(60))
        self.assertEqual(
            days(history(self.root, "--mass", "3")),
            {
                "https://example.org/a": (0, ["2c", "3m", "4m"]),
                "https://example.org/b": (0, ["4m"]),
                "https://example.org/c": (4, []),
                "https://example.org/gone": (0, ["4m"]),
            },
        )
        self.assertEqual(days(history(self.root))["https://example.org/b"], (0, ["4c"]))
        self.assertEqual(days(history(self.root, "--minor", "1"))["https://example.org/a"], (0, ["2c", "3c", "4c"]))

    def test_a_page_begins_where_it_was_added_last(self) -> None:
        (self.root / "content/gone.md").unlink()
        (self.root / "content/a.md").rename(self.root / "content/new name.md")
        self.site.commit(2)
        self.site.commit(5, gone=lines(0))
        self.site.commit(6, gone=lines(9))
        found = days(history(self.root, "--url", "http://x.test/"))
        self.assertEqual(found["http://x.test/gone"], (5, ["6c"]))
        self.assertEqual(found["http://x.test/new%20name"], (2, []))
        self.assertNotIn("http://x.test/a", found)

    def test_what_was_merged_counts_once(self) -> None:
        self.site.git("checkout", "--quiet", "-b", "side")
        self.site.commit(2, a=lines(20))
        self.site.git("checkout", "--quiet", "main")
        self.site.commit(3, b=lines(20))
        self.site.git("merge", "--quiet", "--no-ff", "-m", "m", "side", day=7)
        self.assertEqual(days(history(self.root))["https://example.org/a"], (0, ["2c"]))
        self.assertEqual(days(history(self.root, "--first-parent"))["https://example.org/a"], (0, ["7c"]))

    def test_the_simulator_reads_it(self) -> None:
        self.site.commit(20, a=lines(20))
        weights = self.root / "weights.tsv"
        weights.write_text("content/a.md\t2.5\n")
        table = self.root / "history.tsv"
        table.write_text(history(self.root, "--weights", str(weights)))
        self.assertIn("https://example.org/a\t2.5\t", table.read_text())
        command = [str(BIN / "freshet-sim"), "replay", "--history", str(table), "--policy", "uniform"]
        said = subprocess.run([*command, "--crawls-per-day", "1"], capture_output=True, text=True, check=True).stdout
        self.assertIn('"pages":3', said)

    def test_what_is_no_repository_is_told(self) -> None:
        self.assertEqual(history(self.root / "content/nothing", code=1), "")
        self.assertEqual(history(self.root, "--suffix", ".html", code=1), "")


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
