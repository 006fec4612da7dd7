"""Migrations on a real database: order, stages, refusals, several processes at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from services.chassis import migrate
from services.chassis.migrate import MigrationError, Stage
from services.chassis.resources import shipped
from tests.postgres import FreshDatabase
from tests.servers import CreateDatabase

Apply = Callable[..., Awaitable[list[str]]]


class Line:
    """A migration line in a temporary folder."""

    def __init__(self, root: Path, name: str = "line") -> None:
        self.name = name
        self.folder = root / name
        self.folder.mkdir()

    def write(self, file: str, sql: str) -> Path:
        path = self.folder / file
        path.write_text(sql)
        return path


@pytest.fixture
def line(tmp_path: Path) -> Line:
    return Line(tmp_path)


@pytest.fixture
async def fresh(create_database: CreateDatabase) -> FreshDatabase:
    return await create_database()


@pytest.fixture
def apply(fresh: FreshDatabase, tmp_path: Path) -> Apply:
    def run(*lines: str, through: Stage = Stage.POST) -> Awaitable[list[str]]:
        return migrate.apply(
            fresh.owner_dsn, lines or ("line",), password=fresh.owner_password, through=through, root=tmp_path
        )

    return run


async def columns(fresh: FreshDatabase, table: str) -> list[str]:
    async with fresh.as_owner() as owner:
        rows = await owner.fetch(
            "SELECT column_name FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position", table
        )
    return [row["column_name"] for row in rows]


async def test_files_are_applied_once_in_order(fresh: FreshDatabase, line: Line, apply: Apply) -> None:
    """MSH-18: the owner applies every file once; a second run finds nothing to do."""
    line.write("0002_pre_more.sql", "ALTER TABLE things ADD COLUMN colour TEXT;")
    line.write("0001_pre_things.sql", "CREATE TABLE things (id INTEGER); COMMENT ON TABLE things IS 'two statements';")

    assert await apply() == ["line/0001_pre_things.sql", "line/0002_pre_more.sql"]
    assert await apply() == []
    assert await columns(fresh, "things") == ["id", "colour"]


async def test_lines_are_applied_in_the_given_order(line: Line, apply: Apply, tmp_path: Path) -> None:
    """MSH-12: a service's own line builds on the shared ones that stand before it."""
    line.write("0001_pre_child.sql", "CREATE TABLE child (id INTEGER REFERENCES parent (id));")
    Line(tmp_path, "shared").write("0001_pre_parent.sql", "CREATE TABLE parent (id INTEGER PRIMARY KEY);")

    assert await apply("shared", "line") == ["shared/0001_pre_parent.sql", "line/0001_pre_child.sql"]


async def test_post_files_wait_for_the_roll_out(fresh: FreshDatabase, line: Line, apply: Apply) -> None:
    """MSH-18: before the new code runs only pre files are applied; afterwards the rest."""
    line.write("0001_pre_things.sql", "CREATE TABLE things (old TEXT, new TEXT);")
    line.write("0002_post_drop.sql", "ALTER TABLE things DROP COLUMN old;")

    assert await apply(through=Stage.PRE) == ["line/0001_pre_things.sql"]
    assert await columns(fresh, "things") == ["old", "new"]
    assert await apply() == ["line/0002_post_drop.sql"]
    assert await columns(fresh, "things") == ["new"]


async def test_a_release_is_not_skipped(line: Line, apply: Apply) -> None:
    """MSH-18: a pre file may rest on the post file of the release before; the stage is refused, nothing is applied."""
    line.write("0001_post_drop.sql", "SELECT 1;")
    line.write("0002_pre_next.sql", "SELECT 1;")

    with pytest.raises(MigrationError, match=r"0001_post_drop\.sql of an earlier release .* before line/0002_pre"):
        await apply(through=Stage.PRE)

    assert await apply() == ["line/0001_post_drop.sql", "line/0002_pre_next.sql"]


async def test_a_changed_file_is_refused(fresh: FreshDatabase, line: Line, apply: Apply) -> None:
    """MSH-18: a file that differs from what was applied stops the run before any statement, also of other files."""
    line.write("0001_pre_things.sql", "CREATE TABLE things (id INTEGER);")
    await apply()
    line.write("0001_pre_things.sql", "CREATE TABLE things (id BIGINT);")
    line.write("0002_pre_more.sql", "CREATE TABLE more (id INTEGER);")

    with pytest.raises(MigrationError, match=r"0001_pre_things\.sql has changed"):
        await apply()

    assert await columns(fresh, "more") == []


async def test_a_missing_file_is_refused(line: Line, apply: Apply) -> None:
    """MSH-18: a database that is newer than the code is left alone."""
    line.write("0001_pre_things.sql", "SELECT 1;")
    newer = line.write("0002_pre_more.sql", "SELECT 1;")
    await apply()
    newer.unlink()

    with pytest.raises(MigrationError, match=r"0002_pre_more\.sql was applied and its file is gone"):
        await apply()


async def test_a_late_number_is_refused(line: Line, apply: Apply) -> None:
    """MSH-18: two branches that merge in the wrong order are noticed, not applied in another order than elsewhere."""
    line.write("0002_pre_second.sql", "SELECT 1;")
    await apply()
    line.write("0001_pre_first.sql", "SELECT 1;")

    with pytest.raises(MigrationError, match=r"0001_pre_first\.sql comes before 0002"):
        await apply()


@pytest.mark.parametrize("names", [("0001_things.sql",), ("1_pre_things.sql",), ("0001_pre_a.sql", "0001_pre_b.sql")])
async def test_a_bad_name_or_a_number_used_twice_is_refused(line: Line, apply: Apply, names: tuple[str, ...]) -> None:
    """MSH-18: the order of files is never in doubt."""
    for name in names:
        line.write(name, "SELECT 1;")

    with pytest.raises(MigrationError, match=r"is not named|have the same number"):
        await apply()


async def test_a_failed_file_leaves_nothing_and_keeps_the_earlier_ones(
    fresh: FreshDatabase, line: Line, apply: Apply
) -> None:
    """MSH-18: each file is all or nothing, and the run can be repeated once the file is mended."""
    line.write("0001_pre_things.sql", "CREATE TABLE things (id INTEGER);")
    line.write("0002_pre_broken.sql", "CREATE TABLE half (id INTEGER); SELECT no_such_column FROM things;")

    with pytest.raises(MigrationError, match=r"0002_pre_broken\.sql failed: .*no_such_column"):
        await apply()
    assert await columns(fresh, "half") == []

    line.write("0002_pre_broken.sql", "CREATE TABLE half (id INTEGER);")
    assert await apply() == ["line/0002_pre_broken.sql"]


async def test_a_file_that_ends_its_own_transaction_is_refused(line: Line, apply: Apply) -> None:
    """MSH-18: a COMMIT inside a file would leave it applied and unrecorded."""
    line.write("0001_pre_commit.sql", "CREATE TABLE things (id INTEGER); COMMIT;")

    with pytest.raises(MigrationError, match="ends the transaction it runs in"):
        await apply()


async def test_a_file_without_transaction_runs_while_others_wait(
    fresh: FreshDatabase, line: Line, apply: Apply
) -> None:
    """MSH-18: processes that start together apply each file once, even an index built concurrently.

    CREATE INDEX CONCURRENTLY waits for every older snapshot; a waiting process that held one would deadlock with it.
    """
    line.write("0001_pre_things.sql", "CREATE TABLE things (id INTEGER);")
    line.write("0002_pre_index.sql", "-- no-transaction\nCREATE INDEX CONCURRENTLY things_id ON things (id);")

    outcomes = await asyncio.gather(*(apply() for _ in range(4)))

    assert sorted(map(len, outcomes)) == [0, 0, 0, 2]
    async with fresh.as_owner() as owner:
        assert await owner.fetchval("SELECT indisvalid FROM pg_index WHERE indexrelid = 'things_id'::regclass")


async def test_an_unknown_line_is_refused(apply: Apply) -> None:
    """MSH-18: a misspelt line is not an empty one."""
    with pytest.raises(MigrationError, match="no migration line elsewhere"):
        await apply("elsewhere")


def test_the_lines_of_this_project_are_found() -> None:
    """MSH-18: the folder is found, and every file in it has a proper name."""
    root = shipped("migrations")

    assert all(migrate.read_line(folder.name) for folder in root.iterdir() if folder.is_dir())
