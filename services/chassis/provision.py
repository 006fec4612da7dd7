"""Roles and databases of a service, made by an administrator before its migrations run (MSH-18).

For the database `canopy_persons`: the role `canopy_persons_owner` owns it and runs the migrations; the role
`canopy_persons` is what the service logs in as. It owns nothing and has what migrations grant to the group role
`canopy_service`, whose members are the service roles; the group alone opens no database.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from typing import Final

import asyncpg

from services.kernel.secret import Secret

SERVICE_GROUP: Final = "canopy_service"
LOCK_KEY: Final = int.from_bytes(hashlib.blake2b(b"canopy provision", digest_size=8).digest(), "big", signed=True)

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,50}")
_SCRAM_ITERATIONS: Final = 4096


async def provision(
    admin_dsn: str,
    database: str,
    *,
    admin_password: Secret[str],
    owner_password: Secret[str],
    service_password: Secret[str],
) -> None:
    """Make the roles and the database, or bring those that exist to this state; safe to repeat, and at once.

    database: lower-case letters, digits, underscores. admin_dsn: of a superuser; its database serves as the place of
    the lock. Raises ValueError for a bad name, asyncpg.PostgresError for a lack of rights.
    """
    if not _NAME.fullmatch(database):
        raise ValueError("a database is named by lower-case letters, digits and underscores")
    connection = await asyncpg.connect(admin_dsn, password=admin_password.reveal())
    try:
        await connection.fetchval("SELECT pg_advisory_lock($1)", LOCK_KEY)  # until the session ends
        await _role(connection, SERVICE_GROUP, "NOLOGIN")
        await _role(connection, f"{database}_owner", f"LOGIN PASSWORD '{scram_verifier(owner_password)}'")
        await _role(connection, database, f"LOGIN PASSWORD '{scram_verifier(service_password)}'")
        await connection.execute(f"GRANT {SERVICE_GROUP} TO {database}")
        if not await connection.fetchval("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", database):
            await connection.execute(f"CREATE DATABASE {database} OWNER {database}_owner")
        await connection.execute(f"REVOKE ALL ON DATABASE {database} FROM PUBLIC")
        await connection.execute(f"GRANT CONNECT ON DATABASE {database} TO {database}")
    finally:
        await connection.close()


def scram_verifier(password: Secret[str]) -> str:
    """Compute what PostgreSQL stores for a password (RFC 5802), so that no statement and no log holds the password."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.reveal().encode(), salt, _SCRAM_ITERATIONS)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    stored_key = hashlib.sha256(client_key).digest()
    parts = [base64.b64encode(part).decode() for part in (salt, stored_key, server_key)]
    return f"SCRAM-SHA-256${_SCRAM_ITERATIONS}:{parts[0]}${parts[1]}:{parts[2]}"


async def _role(connection: asyncpg.Connection, name: str, options: str) -> None:
    exists = await connection.fetchval("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", name)
    await connection.execute(f"{'ALTER' if exists else 'CREATE'} ROLE {name} {options}")
