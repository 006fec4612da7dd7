"""Clients: one JSON file, read again whenever it is replaced.

{"clients": [{"client_id": "canopy-portal", "secret_sha256": ["<64 hex digits>"], "service": "canopy-portal",
              "roles": ["service"], "audiences": ["canopy-applications"]}]}

A secret is 256 random bits, so its plain SHA-256 is a sound verifier: there is no dictionary to try, and a slow hash
would only make the token endpoint easy to exhaust. Two digests may stand side by side while a secret is exchanged.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_FIELDS: Final = {"client_id", "secret_sha256", "service", "roles", "audiences"}


class ClientsFileError(Exception):
    """The file is not what it should be; the text tells the place, never a digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Who may get tokens. `service` is None for clients that act for people; `audiences` are service ids."""

    client_id: str
    secret_sha256: tuple[bytes, ...]
    service: str | None
    roles: tuple[str, ...]
    audiences: frozenset[str]


class ClientsFile:
    """The clients on disk, by client id."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._clients: dict[str, Client] = {}

    def clients(self) -> dict[str, Client]:
        """Return the present clients. Raises ClientsFileError when the file is missing or malformed."""
        try:
            state = self._path.stat()
            seen = (state.st_ino, state.st_mtime_ns, state.st_size)
            if seen != self._seen:
                self._clients = _parse(self._path.read_text())
                self._seen = seen
        except (OSError, UnicodeDecodeError) as error:
            raise ClientsFileError(f"{self._path} cannot be read ({type(error).__name__})") from None
        return self._clients


def _parse(text: str) -> dict[str, Client]:
    try:
        document: object = json.loads(text)
    except ValueError:
        raise ClientsFileError("the clients file is not JSON") from None
    entries: object = cast("dict[str, object]", document).get("clients") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ClientsFileError('the clients file must be {"clients": […]}')
    clients = [_client(index, entry) for index, entry in enumerate(cast("list[object]", entries))]
    by_id = {client.client_id: client for client in clients}
    if len(by_id) != len(clients):
        raise ClientsFileError("the clients file names a client twice")
    return by_id


def _client(index: int, entry: object) -> Client:
    if not isinstance(entry, dict) or set(cast("dict[str, Any]", entry)) != _FIELDS:
        raise ClientsFileError(f"clients[{index}] must have exactly the fields {', '.join(sorted(_FIELDS))}")
    fields = cast("dict[str, Any]", entry)
    digests = _texts(index, fields, "secret_sha256")
    if not digests or not all(_DIGEST.fullmatch(digest) for digest in digests):
        raise ClientsFileError(
            f"clients[{index}].secret_sha256 must be a list of 64 lower-case hexadecimal digits each"
        )
    client_id, service = fields["client_id"], fields["service"]
    if not isinstance(client_id, str) or not client_id:
        raise ClientsFileError(f"clients[{index}].client_id must be a text")
    if not (service is None or isinstance(service, str)):
        raise ClientsFileError(f"clients[{index}].service must be a text or null")
    return Client(
        client_id=client_id,
        secret_sha256=tuple(bytes.fromhex(digest) for digest in digests),
        service=service,
        roles=tuple(_texts(index, fields, "roles")),
        audiences=frozenset(_texts(index, fields, "audiences")),
    )


def _texts(index: int, fields: dict[str, Any], name: str) -> list[str]:
    value: object = fields[name]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[object]", value)):
        raise ClientsFileError(f"clients[{index}].{name} must be a list of texts")
    return cast("list[str]", value)
