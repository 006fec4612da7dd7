"""The databases of a stack: which there are, what they carry, and how they come to the newest schema."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import asyncpg

from services.chassis.migrate import MigrationError, apply
from services.chassis.provision import provision
from services.cli.stack.home import Home
from services.cli.stack.password import ensure_password
from services.cli.stack.postgres import SUPERUSER
from services.cli.stack.process import LOOPBACK, StackError

# Migration lines of each database, in the order they are applied.
DATABASES: Final[Mapping[str, tuple[str, ...]]] = {
    "canopy_persons": ("outbox", "persons"),
    "canopy_applications": ("outbox", "applications"),
}


def dsn(port: int, database: str, user: str) -> str:
    """Return the address of a database, without a password."""
    return f"postgresql://{user}@{LOOPBACK}:{port}/{database}?sslmode=disable"


def password_path(home: Home, user: str) -> Path:
    """Name the file of a role's password."""
    return home.secrets / f"database-{user}"


async def migrate(home: Home, port: int) -> dict[str, list[str]]:
    """Make roles and databases where they are missing and apply what is new; return the applied files by database.

    port: of the embedded server. Raises StackError.
    """
    admin = ensure_password(home.secrets / "postgres-superuser")
    applied: dict[str, list[str]] = {}
    for database, lines in DATABASES.items():
        owner = f"{database}_owner"
        owner_password = ensure_password(password_path(home, owner))
        try:
            await provision(
                dsn(port, "postgres", SUPERUSER),
                database,
                admin_password=admin,
                owner_password=owner_password,
                service_password=ensure_password(password_path(home, database)),
            )
            applied[database] = await apply(dsn(port, database, owner), lines, password=owner_password)
        except (MigrationError, asyncpg.PostgresError, OSError) as error:
            raise StackError(f"{database} cannot be migrated: {error}") from error
    return applied
