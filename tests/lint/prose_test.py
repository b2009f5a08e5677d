"""Tests of tools/lint/prose.py: `python3 -m unittest prose_test` in this folder."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/lint"))

import prose  # noqa: E402


def found(page: str) -> list[str]:
    return [what for _, what in prose.findings(page)]


class FindingsTest(unittest.TestCase):
    def test_good_sentences_have_none(self):
        self.assertEqual(found("# Who\n\nThe server stops. What does it do?\n\n- There is no limit.\n- It is no longer there.\n"), [])

    def test_names_the_line(self):
        self.assertEqual(prose.findings("# Title\n\nGood.\n\nBad. Else it waits.\n"), [(5, "a sentence begins with 'Else'")])

    def test_sentences_that_begin_without_a_subject(self):
        for begins in ("Of", "That of", "Who", "What", "Whoever", "One that", "But for", "Likewise", "Else", "So is"):
            self.assertEqual(found(f"First. {begins} this."), [f"a sentence begins with '{begins}'"])
        self.assertEqual(found("| name | Of a page. |\n|---|---|\n"), ["a sentence begins with 'Of'"])
        self.assertEqual(found("**Rate.** What it allows."), ["a sentence begins with 'What'"])

    def test_words_that_only_begin_so(self):
        self.assertEqual(found("Often this. Whole pages. Elsewhere too. Whatever comes."), [])

    def test_nothing_is_no_thing(self):
        self.assertEqual(found("That is no URL."), ["'is no'"])

    def test_counts_words_as_they_are_read(self):
        link = "[a](https://example.org/)"
        self.assertEqual(found(" ".join([link] * 90)), [])
        self.assertEqual(found(" ".join([link] * 91)), ["a paragraph of 91 words, at most 90"])
        self.assertEqual(found("| " + "`a b c` " * 40 + "| b |"), [])
        self.assertEqual(found("| " + "a " * 41 + "| b |"), ["a cell of 41 words, at most 40"])

    def test_lines_of_an_item_are_one(self):
        self.assertEqual(found("- " + "a " * 50 + "\n  " + "b " * 41), ["a paragraph of 91 words, at most 90"])
        self.assertEqual(found("- " + "a " * 50 + "\n- " + "b " * 41), [])

    def test_code_and_comments_are_left_out(self):
        self.assertEqual(found("```\nOf this.\n```\n\n    Of that.\n\n<!-- doctest: run x\nOf it.\n-->\n`Of` this is no".replace("is no", "is")), [])
        self.assertEqual(found("Text:\n\n    Of that.\n\n    Of more.\n"), [])

    def test_a_link_alone_is_a_title(self):
        self.assertEqual(found("- [What it is](a.md)\n"), [])


class RatchetTest(unittest.TestCase):
    def test_numbers_only_fall(self):
        allowed = {"a": 3, "b": 2, "c": 1}
        self.assertEqual(prose.tightened(allowed, {"a": 5, "b": 1, "c": 0, "d": 4}), {"a": 3, "b": 1})

    def test_reads_what_it_writes(self):
        self.assertEqual(prose.read_ratchet(prose.written({"docs/b.md": 1, "a.md": 20})), {"docs/b.md": 1, "a.md": 20})


if __name__ == "__main__":
    unittest.main()
