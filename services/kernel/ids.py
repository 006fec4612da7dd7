"""Identifiers: random UUIDs as text. They tell nothing about what they name, not even when it was made."""

from __future__ import annotations

import uuid


def new_id() -> str:
    """Return a fresh identifier in the spelling of FORMAT_UUID."""
    return str(uuid.uuid4())
