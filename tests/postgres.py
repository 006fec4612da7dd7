"""A real PostgreSQL for the tests: one server per run, one template per set of lines, one database per test."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from services.chassis import migrate
from services.chassis.postgres import Database
from services.chassis.postgres_config import DatabaseConfig
from services.chassis.provision import provision
from services.cli.stack.postgres import PostgresServer
from services.kernel.secret import Secret

# Nothing of a test run outlives it, so nothing need reach the disk. Tests of durability start a server without these.
NOT_DURABLE: Final = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshDatabase:
    """A migrated, empty database of one test. `service` is least-privileged, `owner` may change the schema."""

    name: str
    service: DatabaseConfig
    owner_dsn: str
    owner_password: Secret[str]
    admin_dsn: str
    admin_password: Secret[str]

    @asynccontextmanager
    async def as_owner(self) -> AsyncIterator[asyncpg.Connection]:
        """Connect as the migration owner."""
        connection = await asyncpg.connect(self.owner_dsn, password=self.owner_password.reveal())
        try:
            yield connection
        finally:
            await connection.close()

    @asynccontextmanager
    async def as_admin(self) -> AsyncIterator[asyncpg.Connection]:
        """Connect as the superuser, to look at or end other sessions."""
        connection = await asyncpg.connect(self.admin_dsn, password=self.admin_password.reveal())
        try:
            yield connection
        finally:
            await connection.close()


class PostgresDatabases:
    """Makes databases on a running server. Templates are made once per set of lines; a copy takes some 35 ms."""

    def __init__(self, server: PostgresServer) -> None:
        self.server: Final = server
        self._owner_password: Final = Secret(secrets.token_urlsafe(16))
        self._service_password: Final = Secret(secrets.token_urlsafe(16))
        self._templates: Final[dict[tuple[str, ...], str]] = {}
        self._numbers: Final = itertools.count(1)
        self._lock: Final = asyncio.Lock()

    async def create(self, *lines: str) -> FreshDatabase:
        """Make a database that carries the given migration lines, for example "outbox", "persons"; none: empty."""
        async with self._lock:  # one copy of a template at a time: PostgreSQL demands it
            if lines not in self._templates:
                self._templates[lines] = await self._make_template(lines)
            template = self._templates[lines]
            name = f"test_{next(self._numbers)}"
            connection = await asyncpg.connect(self.server.dsn(), password=self.server.password.reveal())
            try:
                await connection.execute(
                    f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY wal_log OWNER {template}_owner"
                )
            finally:
                await connection.close()
        return FreshDatabase(
            name=name,
            service=DatabaseConfig(dsn=self.server.dsn(name, user=template), password=self._service_password),
            owner_dsn=self.server.dsn(name, user=f"{template}_owner"),
            owner_password=self._owner_password,
            admin_dsn=self.server.dsn(name),
            admin_password=self.server.password,
        )

    async def _make_template(self, lines: tuple[str, ...]) -> str:
        name = "_".join(("template", *lines))
        await provision(
            self.server.dsn(),
            name,
            admin_password=self.server.password,
            owner_password=self._owner_password,
            service_password=self._service_password,
        )
        await migrate.apply(self.server.dsn(name, user=f"{name}_owner"), lines, password=self._owner_password)
        return name


BLOCKED = """
SELECT count(*)
  FROM pg_stat_activity
 WHERE datname = current_database()
   AND cardinality(pg_blocking_pids(pid)) > 0
"""


async def blocked(db: Database, call: asyncio.Task[Any], *, sessions: int = 1) -> None:
    """Return once so many sessions of a database wait for others; fail where `call`, which is to wait, has ended."""
    while await db.fetchval(BLOCKED) < sessions:
        assert not call.done(), "it did not wait"
