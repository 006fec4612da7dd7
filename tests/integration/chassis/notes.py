"""A small table for the tests of transactions, made by the owner and granted to the service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from services.chassis.postgres import Database
from tests.postgres import FreshDatabase

_SCHEMA: Final = """
CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE note_links (note_id INTEGER REFERENCES notes (id) DEFERRABLE INITIALLY DEFERRED);
GRANT SELECT, INSERT, UPDATE ON notes, note_links TO canopy_service;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """SQL over the notes."""

    insert: str = "INSERT INTO notes (id, text) VALUES ($1, $2) RETURNING text"
    update: str = "UPDATE notes SET text = $2 WHERE id = $1 RETURNING text"
    lock: str = "SELECT text FROM notes WHERE id = $1 FOR UPDATE"


NOTES: Final = Statements()


class Notes:
    """Looks at the table."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def texts(self) -> list[str]:
        """Return every committed text in the order of ids."""
        return [row["text"] for row in await self._db.fetch("SELECT text FROM notes ORDER BY id")]


async def create_notes(fresh: FreshDatabase) -> None:
    """Make the tables."""
    async with fresh.as_owner() as owner:
        await owner.execute(_SCHEMA)
