"""`canopy migrate` on a database that somebody else runs (OPS-07)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from services.cli.main import program
from tests.postgres import FreshDatabase
from tests.servers import CreateDatabase


async def migrate(*arguments: str) -> Result:
    """Run the command in a thread: it has a loop of its own."""
    return await asyncio.to_thread(CliRunner().invoke, program, ["migrate", *arguments])


@pytest.fixture
async def empty(create_database: CreateDatabase) -> FreshDatabase:
    """A database with roles and without tables."""
    return await create_database()


@pytest.fixture
def password_file(empty: FreshDatabase, tmp_path: Path) -> Path:
    """The owner's password."""
    file = tmp_path / "password"
    file.write_text(empty.owner_password.reveal() + "\n")
    return file


async def test_an_external_database_comes_to_the_newest_schema(empty: FreshDatabase, password_file: Path) -> None:
    """OPS-07: every line of that database is applied, and a second run finds nothing to do."""
    arguments = ("--dsn", empty.owner_dsn, "--database", "canopy_persons", "--password-file", str(password_file))

    first = await migrate(*arguments)
    second = await migrate(*arguments)

    assert first.exit_code == 0, first.output
    assert "0001_pre_outbox.sql" in first.output
    assert second.output == "canopy_persons: nothing new\n"
    async with empty.as_owner() as owner:
        assert await owner.fetchval("SELECT to_regclass('person_versions') IS NOT NULL")


async def test_a_database_that_does_not_let_us_in_is_said_in_one_line(empty: FreshDatabase, tmp_path: Path) -> None:
    """OPS-07: a wrong password is one line and no traceback, and is not repeated."""
    wrong = tmp_path / "wrong"
    wrong.write_text("not-the-password")

    result = await migrate("--dsn", empty.owner_dsn, "--database", "canopy_persons", "--password-file", str(wrong))

    assert result.exit_code == 1
    assert result.output.count("\n") == 1
    assert "not-the-password" not in result.output


@pytest.mark.parametrize("arguments", [("--pre",), ("--dsn", "postgresql://x"), ("--database", "canopy_persons")])
async def test_half_an_address_is_not_understood(arguments: tuple[str, ...]) -> None:
    """OPS-07: nothing is guessed: exit code 2."""
    assert (await migrate(*arguments)).exit_code == 2
