"""Texts that somebody else has chosen, for logs and terminals."""

from __future__ import annotations

import re

# Whatever a terminal or an editor could take for anything but a letter of its line, as in core/base/safe_text.cc; and
# halves of characters, which no output takes.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def safe_text(text: object) -> str:
    """What `str` makes of it, as one line: control characters, separators of lines, and marks that turn the direction
    of writing become escapes such as `\\x1b` and `\\u202e`. A backslash stays as it is: this is for people."""
    return _UNSAFE.sub(lambda found: _escaped(found[0]), str(text))


def _escaped(letter: str) -> str:
    code = ord(letter)
    return _NAMED.get(letter) or (f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}")
