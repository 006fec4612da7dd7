"""Roles: the service can do what was granted and nothing else (MSH-18)."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from services.chassis.provision import provision
from services.kernel.secret import Secret
from tests.postgres import PostgresDatabases

DATABASE = "provision_test"


async def connect(
    databases: PostgresDatabases, user: str, password: str, database: str = DATABASE
) -> asyncpg.Connection:
    return await asyncpg.connect(databases.server.dsn(database, user=user), password=password)


async def provision_with(databases: PostgresDatabases, service_password: str, database: str = DATABASE) -> None:
    await provision(
        databases.server.dsn(),
        database,
        admin_password=databases.server.password,
        owner_password=Secret("owner"),
        service_password=Secret(service_password),
    )


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE other (id INTEGER)",
        "CREATE SCHEMA other",
        "CREATE TEMPORARY TABLE other (id INTEGER)",
        "DROP TABLE notes",
        "TRUNCATE notes",
        "DELETE FROM notes",
        "ALTER TABLE notes ADD COLUMN other TEXT",
        "ALTER TABLE notes DISABLE TRIGGER ALL",
        "SET ROLE provision_test_owner",
        "CREATE ROLE other",
        "COPY notes TO PROGRAM 'true'",
        "SELECT pg_read_file('/etc/hostname')",
    ],
)
async def test_the_service_role_can_do_only_what_was_granted(databases: PostgresDatabases, statement: str) -> None:
    """MSH-18: a service role that tries to change, empty or leave its schema is refused by PostgreSQL itself."""
    await provision_with(databases, "service")
    owner = await connect(databases, f"{DATABASE}_owner", "owner")
    await owner.execute(
        "CREATE TABLE IF NOT EXISTS notes (id INTEGER); GRANT SELECT, INSERT ON notes TO canopy_service"
    )
    await owner.close()
    service = await connect(databases, DATABASE, "service")
    try:
        await service.execute("INSERT INTO notes VALUES (1)")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await service.execute(statement)
    finally:
        await service.close()


async def test_a_service_cannot_enter_the_database_of_another(databases: PostgresDatabases) -> None:
    """MSH-18: the group that all service roles are in opens no database."""
    await provision_with(databases, "service")
    await provision_with(databases, "other", "provision_other")

    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await connect(databases, "provision_other", "other")


async def test_provisioning_can_be_repeated_and_changes_the_password(databases: PostgresDatabases) -> None:
    """MSH-18: every start brings roles and databases to the wished state, several at once too."""
    await asyncio.gather(*(provision_with(databases, "first", "provision_again") for _ in range(3)))
    await provision_with(databases, "second", "provision_again")

    with pytest.raises(asyncpg.InvalidPasswordError):
        await connect(databases, "provision_again", "first", "provision_again")
    connection = await connect(databases, "provision_again", "second", "provision_again")
    assert await connection.fetchval("SELECT rolcanlogin FROM pg_roles WHERE rolname = 'canopy_service'") is False
    await connection.close()


async def test_no_password_reaches_the_server(databases: PostgresDatabases) -> None:
    """MSH-18: the server is sent verifiers only, so a log of its statements holds no password."""
    admin = await asyncpg.connect(databases.server.dsn(), password=databases.server.password.reveal())
    try:
        await admin.execute("ALTER ROLE postgres SET log_statement = 'all'")
        await provision_with(databases, "a-password-in-clear")
    finally:
        await admin.execute("ALTER ROLE postgres RESET log_statement")
        await admin.close()
    log = databases.server.process.log.read_text()

    assert "ROLE provision_test LOGIN PASSWORD 'SCRAM-SHA-256$4096:" in log
    assert "a-password-in-clear" not in log


@pytest.mark.parametrize("name", ["Canopy", "canopy-persons", "canopy; DROP", "", "1st"])
async def test_a_name_that_would_need_quoting_is_refused(databases: PostgresDatabases, name: str) -> None:
    """MSH-18: names are put into statements, so they are plain."""
    with pytest.raises(ValueError, match="lower-case letters"):
        await provision_with(databases, "service", name)
