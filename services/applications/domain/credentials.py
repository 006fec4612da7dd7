"""Codes and passcodes: how they are made, and how they are read as people type them.

A code is a gate, not a secret: 32 random bits that an application is called by. A passcode is twelve uniform digits. It
exists in memory only, from its minting to the answer that carries it, and again for the length of a login.
"""

from __future__ import annotations

import secrets
import unicodedata
from typing import Final

from services.kernel.secret import Secret

PASSCODE_DIGITS: Final = 12
_CODE_BYTES: Final = 4
_CODE_PREFIX: Final = "HH-"


def mint_passcode() -> Secret[str]:
    """Make the digits of a new passcode: each of the 10^12 is as likely as any other, leading zeros included."""
    return Secret(f"{secrets.randbelow(10**PASSCODE_DIGITS):0{PASSCODE_DIGITS}d}")


def spell_passcode(digits: Secret[str]) -> str:
    """Group the digits for people: NNNN-NNNN-NNNN (FORMAT_PASSCODE)."""
    plain = digits.reveal()
    return "-".join(plain[start : start + 4] for start in range(0, PASSCODE_DIGITS, 4))


def read_passcode(typed: str) -> Secret[str] | None:
    """Return the twelve ASCII digits that were typed, None where they are not twelve digits.

    Spaces and hyphens of any kind do not matter, and a digit may be of any script: phones type the digits of their
    keyboard's language.
    """
    digits: list[str] = []
    for character in typed:
        value = unicodedata.decimal(character, None)
        if value is not None:
            digits.append(str(value))
        elif not _separates(character):
            return None
    return Secret("".join(digits)) if len(digits) == PASSCODE_DIGITS else None


def mint_code() -> str:
    """Make a code: HH- and eight random hexadecimal digits (FORMAT_APPLICATION_CODE). It may be taken already."""
    return f"{_CODE_PREFIX}{secrets.token_hex(_CODE_BYTES)}"


def read_code(typed: str) -> str | None:
    """Return the usual spelling of a code; case, spaces and hyphens do not matter. None where it is none."""
    compact = "".join(character for character in unicodedata.normalize("NFKC", typed) if not _separates(character))
    prefix, digits = compact[:2].upper(), compact[2:].lower()
    if prefix != _CODE_PREFIX[:2] or len(digits) != 2 * _CODE_BYTES or not set(digits) <= set("0123456789abcdef"):
        return None
    return f"{_CODE_PREFIX}{digits}"


def _separates(character: str) -> bool:
    return character.isspace() or unicodedata.category(character) == "Pd"
