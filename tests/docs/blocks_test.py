"""Tests of blocks.py; a block without annotation is refused, so that no block of the docs is silently not run."""

import pathlib
import tempfile
import unittest

import blocks
import docs_test


def parse(text: str) -> list:
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.md"
        page.write_text(text)
        return blocks.blocks_of(page, "page.md")


class Blocks(unittest.TestCase):
    def test_fenced_and_indented_blocks_are_found_with_their_annotations(self):
        found = parse(
            "<!-- doctest: run a -->\n```sh\nls\n```\n\ntext\n\n<!-- doctest: skip: long -->\n\n    sleep 9\n\n    x\n"
        )
        self.assertEqual([block.lines for block in found], [["ls"], ["sleep 9", "", "x"]])
        self.assertEqual([block.annotation.kind for block in found], ["run", "skip"])
        self.assertEqual(found[1].where, "page.md:10")

    def test_a_block_without_annotation_is_refused(self):
        for text in ("    ls\n", "```\nls\n```\n", "```sh\nls\n```\n", "```yaml\na: b\n```\n"):
            with self.assertRaisesRegex(blocks.Mistake, "neither run nor left out"):
                docs_test.place(parse(text)[0], {})

    def test_python_without_annotation_is_parsed(self):
        docs_test.place(parse("```python\nx = 1\n```\n")[0], {})
        with self.assertRaises(SyntaxError):
            docs_test.place(parse("```python\nx = = 1\n```\n")[0], {})

    def test_mistakes_in_annotations_are_named(self):
        for text, message in (
            ("<!-- doctest: rum a -->\n\n    ls\n", "none of run"),
            ("<!-- doctest: run -->\n\n    ls\n", "name of a group"),
            ("<!-- doctest: skip -->\n\n    ls\n", "needs a reason"),
            ("<!-- doctest: run a\nskip ls\n-->\n\n    ls\n", "is no rule"),
            ("<!-- doctest: run a -->\n\nno block\n", "no block follows"),
            ("<!-- doctest: run a -->\n", "no block follows"),
        ):
            with self.assertRaisesRegex(blocks.Mistake, message):
                parse(text)


class Commands(unittest.TestCase):
    def test_a_command_ends_where_bash_needs_no_more(self):
        lines = ["cat > x <<END", "a $(b)", "END", "# a comment", "echo 'one", "two' \\", "  three", "ls  # list"]
        found = blocks.commands_of(lines, "page.md:7")
        self.assertEqual([command.where for command in found], ["page.md:7", "page.md:11", "page.md:14"])
        self.assertEqual(found[1].text, "echo 'one\ntwo' \\\n  three")

    def test_a_command_without_end_is_refused(self):
        with self.assertRaisesRegex(blocks.Mistake, "no end"):
            blocks.commands_of(["echo 'one"], "page.md:1")

    def test_what_follows_a_prompt_is_output(self):
        found = blocks.commands_of(["$ ls", "a", "b", "$ pwd"], "page.md:1")
        self.assertEqual([(command.text, command.expected) for command in found], [("ls", ["a", "b"]), ("pwd", None)])


class Outputs(unittest.TestCase):
    def test_words_count_and_spaces_do_not(self):
        self.assertTrue(blocks.said(["a  b", "c"], "a b c\n", like=False, whole=True))
        self.assertFalse(blocks.said(["a b"], "a c", like=False, whole=True))
        self.assertFalse(blocks.said(["a b"], "a b c", like=False, whole=True))
        self.assertTrue(blocks.said(["b c"], "a b c d", like=False, whole=False))

    def test_like_leaves_numbers_open_and_words_not(self):
        self.assertTrue(blocks.said(["lease 17 of 2026-01-02"], "lease 5 of 1999-12-31", like=True, whole=True))
        self.assertFalse(blocks.said(["lease 17"], "page 17", like=True, whole=True))

    def test_dots_stand_for_anything(self):
        self.assertTrue(blocks.said(["a", "...", "z"], "a b c z", like=False, whole=True))


if __name__ == "__main__":
    unittest.main()
