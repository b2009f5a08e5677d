"""Checks the console's table of explained terms: each has the words of the glossary, and is used."""

import json
import pathlib
import re
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
CONSOLE = REPOSITORY / "server/ops/console"
TEXTS = {file.name: file.read_text() for file in (*CONSOLE.glob("*.js"), *CONSOLE.glob("*.html"))}


def terms() -> dict[str, list[str]]:
    """The table of terms.js: for each word its usual term and its meaning."""
    table = re.search(r"TERMS = (\{.*?\n\});", TEXTS["terms.js"], re.DOTALL)[1]
    return json.loads(re.sub(r",\n\}", "\n}", table))


def glossary() -> dict[str, list[str]]:
    """The same from docs/glossary.md; a row may explain several words."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in (REPOSITORY / "docs/glossary.md").read_text().split("\n") if line.startswith("| ")]
    return {word: ["" if usual == "-" else usual, meaning.replace("`", "")] for words, usual, meaning in rows for word in re.split(r"[,;] ", words)}


class Terms(unittest.TestCase):
    def test_terms_are_explained_in_the_words_of_the_glossary(self):
        known = glossary()
        for word, row in terms().items():
            self.assertEqual(row, known.get(word), f"{word}: terms.js and docs/glossary.md differ")

    def test_each_link_has_a_term_and_each_term_is_of_use(self):
        linked = {word for text in TEXTS.values() for word in re.findall(r'(?<!const )\bterm\("([^"]+)"', text)}
        self.assertGreater(len(linked), 20)
        self.assertEqual(linked - set(terms()), set(), "term() names words that TERMS does not have")
        meanings = " ".join(meaning for _, meaning in terms().values())
        idle = {word for word in set(terms()) - linked if not re.search(rf"\b{word}s?\b", meanings)}
        self.assertEqual(idle, set(), "no view links to these, and no meaning has them")

    def test_private_words_are_not_said_without_their_meaning(self):
        private = re.compile(r"\b(ticks?|epochs?|filed anew|believed)\b", re.IGNORECASE)
        for name, source in TEXTS.items():
            if name == "terms.js":
                continue
            bare = re.sub(r'\bterm\("[^"]+"|^\s*//.*$', "", source, flags=re.MULTILINE)
            literals = [found[0] or found[1] for found in re.findall(r'"([^"\n]*)"|`([^`\n]*)`', bare)]
            # Names of fields and addresses have neither spaces nor capitals.
            said = [re.sub(r"\$\{[^}]*\}", "", one) for one in literals if re.search(r"[A-Z ]", one)]
            self.assertEqual([one for one in said if private.search(one)], [], f"{name}: use a common word, and term() for its meaning")


if __name__ == "__main__":
    unittest.main()
