"""Keys and client secrets of a stack: made at random at the first start, one file each, for our eyes only."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from services.cli.stack.home import Home, read_json, write_atomically
from services.cli.stack.password import ensure_password
from services.cli.stack.process import StackError
from services.kernel.secret import Secret

KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPlan:
    """Who may ask the issuer for tokens: a service of the mesh, or a program that acts for people."""

    client_id: str
    service: str | None
    roles: tuple[str, ...]
    audiences: tuple[str, ...]


def ring_path(home: Home, name: str) -> Path:
    """Name the file of a key ring."""
    return home.secrets / f"ring-{name}.json"


def ensure_rings(home: Home, names: Iterable[str]) -> list[str]:
    """Make each key ring that there never was, with one key; return the names of those made.

    Raises StackError for a ring that was made here before and is gone: a new one in its place could not read the data.
    """
    record = home.root / "rings.json"
    known = set(read_json(record).get("made", ()))
    made: list[str] = []
    for name in names:
        path = ring_path(home, name)
        if path.exists():
            known.add(name)
        elif name in known:
            raise StackError(f"the key ring {path} is gone, and with it the way to read the data: restore it")
        else:
            key = base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()
            write_atomically(path, json.dumps({"active": "k1", "keys": {"k1": key}}) + "\n")
            made.append(name)
    write_atomically(record, json.dumps({"made": sorted(known | set(made))}) + "\n")
    return made


def client_secret_path(home: Home, client_id: str) -> Path:
    """Name the file of a client's secret."""
    return home.secrets / f"client-{client_id}"


def client_secret(home: Home, client_id: str) -> Secret[str]:
    """Return a client's secret, making it when it is new."""
    return ensure_password(client_secret_path(home, client_id))


def write_clients(home: Home, clients: Iterable[ClientPlan]) -> Path:
    """Write the issuer's file of clients, with digests of their secrets; return its path."""
    entries = [
        {
            "client_id": client.client_id,
            "secret_sha256": [hashlib.sha256(client_secret(home, client.client_id).reveal().encode()).hexdigest()],
            "service": client.service,
            "roles": list(client.roles),
            "audiences": list(client.audiences),
        }
        for client in clients
    ]
    home.identity.mkdir(mode=0o700, exist_ok=True)
    path = home.identity / "clients.json"
    write_atomically(path, json.dumps({"clients": entries}, indent=2) + "\n")
    return path
