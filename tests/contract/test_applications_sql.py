"""The SQL of the applications service against its migrated schema."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from services.applications import store
from tests.servers import CreateDatabase


def statements() -> Iterator[tuple[str, str]]:
    """Yield every public upper-case text of the store modules, by module and name."""
    for found in pkgutil.iter_modules(store.__path__):
        module = importlib.import_module(f"{store.__name__}.{found.name}")
        for name, value in vars(module).items():
            if name.isupper() and not name.startswith("_") and isinstance(value, str):
                yield f"{found.name}.{name}", value


async def test_every_statement_prepares(create_database: CreateDatabase) -> None:
    """DRF-02: each constant parses and finds its tables, columns and types, whether or not another test runs it."""
    fresh = await create_database("outbox", "applications")
    prepared: list[str] = []
    async with fresh.as_owner() as owner:
        for name, sql in statements():
            await owner.prepare(sql)
            prepared.append(name)

    assert len(prepared) > 20
