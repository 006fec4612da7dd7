"""Schema migrations: forward-only SQL files, each applied once, in order, under one lock per database.

A line is a folder of files `NNNN_{pre|post}_name.sql`; a database carries one or more lines (its own and the shared
outbox). A release applies its pre files, rolls its code out, then applies its post files: code of the old and the new
release both work between the two. What was applied is written down with its checksum, and a file that has changed or
gone since stops everything before any statement runs.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import asyncpg

from services.chassis.resources import shipped
from services.kernel.secret import Secret

LOCK_KEY: Final = int.from_bytes(hashlib.blake2b(b"canopy migrate", digest_size=8).digest(), "big", signed=True)
LOCK_SECONDS: Final = 120.0
NO_TRANSACTION: Final = "-- no-transaction"

_FILE_NAME: Final = re.compile(r"(?P<number>[0-9]{4})_(?P<stage>pre|post)_(?P<name>[a-z0-9_]+)\.sql")
_LOCK_PAUSE_SECONDS: Final = 0.1

TRY_LOCK: Final = "SELECT pg_try_advisory_lock($1)"
CREATE_LEDGER: Final = """
CREATE TABLE IF NOT EXISTS schema_migrations (
  line       TEXT        NOT NULL,
  number     INTEGER     NOT NULL,
  name       TEXT        NOT NULL,  -- of the file
  sha256     TEXT        NOT NULL,  -- of the file's bytes
  applied_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (line, number)
)
"""
SELECT_APPLIED: Final = """
SELECT number, name, sha256
  FROM schema_migrations
 WHERE line = $1
"""
INSERT_APPLIED: Final = """
INSERT INTO schema_migrations (line, number, name, sha256)
VALUES ($1, $2, $3, $4)
"""


class MigrationError(Exception):
    """The migrations cannot be applied as they are. The text is made for the operator."""


class Stage(StrEnum):
    """Which side of a roll-out a file belongs to."""

    PRE = "pre"  # before the new code; the old code still works afterwards
    POST = "post"  # once no old code runs any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One file."""

    line: str
    number: int
    stage: Stage
    path: Path
    sql: str
    sha256: str

    def __str__(self) -> str:
        return f"{self.line}/{self.path.name}"


def read_line(line: str, root: Path | None = None) -> list[Migration]:
    """Read a line's files in number order. Raises MigrationError: no such folder, a bad name, a number used twice."""
    folder = (root or shipped("migrations")) / line
    if not folder.is_dir():
        raise MigrationError(f"there is no migration line {line} ({folder})")
    migrations = [_read(line, path) for path in sorted(folder.glob("*.sql"))]
    for one, next_one in itertools.pairwise(migrations):
        if one.number == next_one.number:
            raise MigrationError(f"{one} and {next_one} have the same number")
    return migrations


async def apply(
    dsn: str, lines: Sequence[str], *, password: Secret[str], through: Stage = Stage.POST, root: Path | None = None
) -> list[str]:
    """Apply what is missing, line by line in the given order, and return the names of the files applied.

    dsn, password: of the owner role. through: PRE stops each line before its first post file. Several at once are safe:
    one applies, the others wait (at most 120 s) and find nothing to do. A failed file leaves the earlier ones applied
    and itself undone, unless it is marked `-- no-transaction`: such a file holds one statement, such as CREATE INDEX
    CONCURRENTLY, and is to be written so that it can run again. Raises MigrationError.
    """
    files = {line: read_line(line, root) for line in lines}
    connection = await asyncpg.connect(dsn, password=password.reveal(), server_settings={"application_name": "migrate"})
    try:
        await _take_lock(connection)
        await connection.execute("SET client_min_messages = warning")
        await connection.execute(CREATE_LEDGER)
        pending = [
            migration
            for line, migrations in files.items()
            for migration in _select(line, migrations, await connection.fetch(SELECT_APPLIED, line), through)
        ]
        for migration in pending:
            await _run(connection, migration)
        return [str(migration) for migration in pending]
    finally:
        await connection.close()


def _read(line: str, path: Path) -> Migration:
    match = _FILE_NAME.fullmatch(path.name)
    if match is None:
        raise MigrationError(f"{line}/{path.name} is not named NNNN_pre_name.sql or NNNN_post_name.sql")
    content = path.read_bytes()
    return Migration(
        line=line,
        number=int(match["number"]),
        stage=Stage(match["stage"]),
        path=path,
        sql=content.decode(),
        sha256=hashlib.sha256(content).hexdigest(),
    )


async def _take_lock(connection: asyncpg.Connection) -> None:
    """Take the lock, which ends with the session, by asking again and again.

    A statement that waited inside the server would hold a snapshot, and CREATE INDEX CONCURRENTLY of the process that
    has the lock would wait for that snapshot: a deadlock.
    """
    try:
        async with asyncio.timeout(LOCK_SECONDS):
            while not await connection.fetchval(TRY_LOCK, LOCK_KEY):  # noqa: ASYNC110 -- see above
                await asyncio.sleep(_LOCK_PAUSE_SECONDS)
    except TimeoutError:
        raise MigrationError(f"another process has been migrating this database for {LOCK_SECONDS:g} s") from None


def _select(
    line: str, migrations: Sequence[Migration], applied: Sequence[asyncpg.Record], through: Stage
) -> list[Migration]:
    """Compare the files with what was applied, and return those to apply now."""
    known = {migration.number: migration for migration in migrations}
    for row in applied:
        migration = known.pop(row["number"], None)
        if migration is None:
            raise MigrationError(
                f"{line}/{row['name']} was applied and its file is gone: the database is newer than this code"
            )
        if migration.sha256 != row["sha256"] or migration.path.name != row["name"]:
            raise MigrationError(f"{migration} has changed since it was applied: write a new file instead")
    pending = [known[number] for number in sorted(known)]
    newest = max((row["number"] for row in applied), default=0)
    if pending and pending[0].number < newest:
        raise MigrationError(f"{pending[0]} comes before {newest:04d}, which was applied already: give it a new number")
    if through is Stage.POST:
        return pending
    now = list(itertools.takewhile(lambda migration: migration.stage is Stage.PRE, pending))
    skipped = next((each for each in pending[len(now) :] if each.stage is Stage.PRE), None)
    if skipped is not None:
        raise MigrationError(f"{pending[len(now)]} of an earlier release is still to be applied before {skipped}")
    return now


async def _run(connection: asyncpg.Connection, migration: Migration) -> None:
    record = (migration.line, migration.number, migration.path.name, migration.sha256)
    try:
        if migration.sql.startswith(NO_TRANSACTION):
            await connection.execute(migration.sql)
            await connection.execute(INSERT_APPLIED, *record)
            return
        await connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        await connection.execute(migration.sql)
        if not connection.is_in_transaction():
            raise MigrationError(f"{migration} ends the transaction it runs in")
        await connection.execute(INSERT_APPLIED, *record)
        if (tag := await connection.execute("COMMIT")) != "COMMIT":
            raise MigrationError(f"{migration} was rolled back ({tag})")
    except asyncpg.PostgresError as error:
        raise MigrationError(f"{migration} failed: {error}") from error
