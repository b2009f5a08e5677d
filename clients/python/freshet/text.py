"""Makes foreign texts safe for logs and terminals."""

from __future__ import annotations

import re

# Characters that a terminal or an editor might not show as letters of the line, as in core/base/safe_text.cc; and
# surrogates, which no output accepts.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def safe_text(text: object) -> str:
    """Converts the value with `str` into one line: control characters, line separators, and marks that change the
    writing direction become escapes such as `\x1b` and `\u202e`. Backslashes stay unchanged, since the text is for
    people."""
    return _UNSAFE.sub(lambda found: _escaped(found[0]), str(text))


def _escaped(letter: str) -> str:
    code = ord(letter)
    return _NAMED.get(letter) or (f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}")
