"""Checks the register of claims against the pages; changes of a page, a source or a number are noticed."""

import pathlib
import tempfile
import unittest

import claims

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]

PAGE = "# Title\n\nIt is **17% less**\nstale ([table](docs/table.md)).\n\n    5 in a block\n"
REGISTER = "README.md: 17% less stale\n    docs/table.md: mean -17.2% over 24 rows\n"


def mistakes(register: str, **files: str) -> list[str]:
    """The mistakes in a repository of these files; `_` in their names stands for a dot."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "docs").mkdir()
        texts = {"README_md": PAGE, "concepts_md": "", "table_md": "# Rows\n\nmean\n-17.2% over 24 rows"} | files
        for name, text in texts.items():
            path = root / ("" if name == "README_md" else "docs") / name.replace("_", ".")
            path.write_text(text)
        (root / "claims.txt").write_text(register)
        return claims.mistakes(root, root / "claims.txt")


class Claims(unittest.TestCase):
    def test_every_number_and_superlative_of_the_front_pages_has_its_source(self):
        found = claims.mistakes(REPOSITORY, HERE / "claims.txt")
        self.assertEqual(found, [], "\n" + "\n".join(found))


class Register(unittest.TestCase):
    TABLE = "docs/table.md: mean -17.2% over 24 rows\n    docs/table.md: mean -17.2% over 24 rows\n"

    def test_a_claim_is_held_to_its_page_and_its_source(self):
        self.assertEqual(mistakes(REGISTER + self.TABLE), [])
        (gone,) = mistakes(REGISTER + self.TABLE, README_md="# Title\n\nIt is less stale.\n")
        self.assertIn("README.md does not say '17% less stale'", gone)
        changed = mistakes(REGISTER, table_md="# Rows\n\nNo figures.\n")
        self.assertEqual(len(changed), 1)
        self.assertIn("docs/table.md does not say 'mean -17.2% over 24 rows'", changed[0])

    def test_a_number_or_superlative_without_a_claim_is_named(self):
        for words in ("It takes 9 bytes.", "It is the fastest.", "- never late", "| a | 1.5 % |\n|---|---|"):
            (found,) = mistakes(REGISTER + self.TABLE, README_md=PAGE + f"\n{words}\n")
            self.assertIn("README.md: no source in claims.txt for", found)

    def test_only_the_first_paragraph_of_other_pages_is_a_front(self):
        register = REGISTER + self.TABLE
        self.assertEqual(mistakes(register, other_md="# Title\n\nPlain.\n\nIt takes 9 bytes.\n"), [])
        self.assertEqual(len(mistakes(register, other_md="# Title\n\nIt takes 9 bytes.\n")), 1)

    def test_names_code_and_links_are_no_claims(self):
        harmless = "Debian 12, C++20, at most, [page](docs/x-17.md#at-3), HTTP/2, `s3`, an IPv4 address"
        self.assertEqual(mistakes(REGISTER + self.TABLE, README_md=PAGE + f"\n{harmless}\n"), [])

    def test_mistakes_of_the_register_are_named(self):
        for register, words in (
            ("README.md 17%\n", "not of the form"),
            ("    docs/table.md: x\n", "a source without a claim"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                claims.parse(register, "claims.txt")
        (unsupported,) = mistakes("README.md: 17% less stale\n" + self.TABLE)
        self.assertIn("nothing supports", unsupported)


if __name__ == "__main__":
    unittest.main()
