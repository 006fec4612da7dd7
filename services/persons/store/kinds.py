"""The four kinds of entity and the table of versions of each."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """A kind of entity, as SQL, metadata of errors and step keys spell it."""

    PERSON = "person"
    HOUSEHOLD = "household"
    MEMBER = "member"
    INCOME = "income"


VERSION_TABLES: Final[Mapping[Kind, str]] = {
    Kind.PERSON: "person_versions",
    Kind.HOUSEHOLD: "household_versions",
    Kind.MEMBER: "member_versions",
    Kind.INCOME: "income_versions",
}
"""Where the versions of a kind are; the name is bound to their ciphertext, so it never changes."""
