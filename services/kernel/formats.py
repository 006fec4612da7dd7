"""The spellings that (canopy.options.v1.field).format names, one check per format."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Final

from canopy.options.v1.field_pb2 import Format
from services.kernel import dates

# Postal codes: 50 States, DC, and the territories AS GU MP PR VI.
_STATES: Final = (
    "A[KLRSZ]|C[AOT]|D[CE]|FL|G[AU]|HI|I[ADLN]|K[SY]|LA|M[ADEINOPST]|N[CDEHJMVY]|O[HKR]|P[AR]|RI|S[CD]|T[NX]|UT|V[AIT]"
    "|W[AIVY]"
)

_NAME_HYPHENS: Final = "-\u2010\u2011\u058a\u05be"
_NAME_SPACES: Final = " \u00a0"
# "Jr., Esq.", "Raj a/l Kumar", "Lim @ Ong", "!Xóõ": what registries print.
_NAME_SIGNS: Final = ",/@!"
_NAME_ANYWHERE: Final = frozenset("'\u2019\u02bc\u05f3." + _NAME_SIGNS + _NAME_HYPHENS + _NAME_SPACES)
# Catalan col·legi, the katakana dot between the parts of a foreign name, joiners of Persian and Indic scripts.
_NAME_BETWEEN_LETTERS: Final = frozenset("\u00b7\u30fb\u200c\u200d")


def _is_letter(character: str) -> bool:
    """Tell whether a character is a letter, a mark or a digit ("3rd", and the name 1069): what a name is made of."""
    return character.isalpha() or unicodedata.category(character) in ("Mn", "Mc", "Me", "Nd", "Nl")


def _is_name(text: str) -> bool:
    """Tell whether `text` is spelt as a name: a letter, mark or digit of any script at least, and what joins them."""
    if text.isalpha():
        return True
    letters = [_is_letter(character) for character in text]
    for index, character in enumerate(text):
        if letters[index] or character in _NAME_ANYWHERE:
            continue
        between = 0 < index < len(text) - 1 and letters[index - 1] and letters[index + 1]
        if not (between and character in _NAME_BETWEEN_LETTERS):
            return False
    return any(letters)


def _is_date(text: str) -> bool:
    try:
        dates.parse_date(text)
    except ValueError:
        return False
    return True


def _is_month(text: str) -> bool:
    try:
        dates.Month.parse(text)
    except ValueError:
        return False
    return True


def _is_year(text: str) -> bool:
    return bool(re.fullmatch("[0-9]{4}", text)) and dates.FIRST_YEAR <= int(text) <= dates.LAST_YEAR


def _spelt(pattern: str) -> Callable[[str], bool]:
    match = re.compile(pattern).fullmatch
    return lambda text: match(text) is not None


_EMAIL: Final = _spelt(
    r"[^\s@\"(),:;<>\[\\\]\x00-\x20\x7f]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]"
)


def _is_email(text: str) -> bool:
    return len(text) <= 254 and _EMAIL(text)


CHECKS: Mapping[int, Callable[[str], bool]] = {
    Format.FORMAT_UUID: _spelt("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    Format.FORMAT_DATE: _is_date,
    Format.FORMAT_MONTH: _is_month,
    Format.FORMAT_YEAR: _is_year,
    Format.FORMAT_APPLICATION_CODE: _spelt("HH-[0-9a-f]{8}"),
    Format.FORMAT_PASSCODE: _spelt("[0-9]{4}-[0-9]{4}-[0-9]{4}"),
    Format.FORMAT_NAME: _is_name,
    Format.FORMAT_LANGUAGE: _spelt("[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,4}"),
    Format.FORMAT_NINE_DIGITS: _spelt("[0-9]{9}"),
    Format.FORMAT_ZIP: _spelt("[0-9]{5}(?:-[0-9]{4})?"),
    Format.FORMAT_STATE: _spelt(_STATES),
    Format.FORMAT_FIPS_COUNTY: _spelt("[0-9]{5}"),
    Format.FORMAT_PHONE: _spelt(r"\+[1-9][0-9]{7,14}"),
    Format.FORMAT_EMAIL: _is_email,
    Format.FORMAT_SLUG: _spelt("[a-z0-9]+(?:-[a-z0-9]+)*"),
}
"""Format number → whether a text is spelt so. Free text (FORMAT_UNSPECIFIED, FORMAT_TEXT) has no spelling to check."""


def slug(number: int) -> str:
    """Return the rule that a wrong spelling breaks: FORMAT_DATE is "format_date"."""
    return Format.Name(number).lower()
