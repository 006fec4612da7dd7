"""Every SQL constant of every store, and of the chassis, against the migrated schema.

A store's statements are its module constants; those whose name begins with an underscore are parts of others. A service
has SQL when it has a line of migrations.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import CreateDatabase

ROOT = Path(__file__).parents[2]
SERVICES, MIGRATIONS = ROOT / "services", ROOT / "migrations"
SHARED = "outbox"  # the line of migrations that every database has
STATEMENT = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|MERGE|VALUES|WITH)\b")  # what PostgreSQL can prepare


def rooms() -> list[tuple[str, str]]:
    """List the packages that hold SQL, with the line of migrations that each needs beside the shared one."""
    lines = sorted(folder.name for folder in MIGRATIONS.iterdir() if folder.is_dir())
    stores = [(f"services.{line}.store", line) for line in lines if (SERVICES / line / "store").is_dir()]
    return [("services.chassis", SHARED), *stores]


def statements(package: str) -> Iterator[tuple[str, str]]:
    """Yield the statements of a package's modules, by module and name."""
    for found in pkgutil.iter_modules(importlib.import_module(package).__path__):
        module = importlib.import_module(f"{package}.{found.name}")
        for name, value in vars(module).items():
            public = name.isupper() and not name.startswith("_")
            if public and isinstance(value, str) and STATEMENT.match(value):
                yield f"{found.name}.{name}", value


def test_every_line_of_migrations_has_its_room() -> None:
    """MSH-16: a service that gets a database is found here without being listed."""
    found = {line for _, line in rooms()}

    assert {"persons", "applications"} <= found
    assert found == {folder.name for folder in MIGRATIONS.iterdir() if folder.is_dir()}


@pytest.mark.parametrize(("package", "line"), rooms())
async def test_every_statement_prepares(create_database: CreateDatabase, package: str, line: str) -> None:
    """MSH-16: each constant parses and finds its tables, columns and types, whether or not another test runs it."""
    fresh = await create_database(*dict.fromkeys((SHARED, line)))
    prepared: list[str] = []
    async with fresh.as_owner() as owner:
        for name, sql in statements(package):
            try:
                await owner.prepare(sql)
            except Exception as error:
                raise AssertionError(f"{package}.{name} does not prepare: {error}") from error
            prepared.append(name)

    assert len(prepared) >= 10
