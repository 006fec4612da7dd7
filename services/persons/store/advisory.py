"""Advisory locks: a fair gate, and a lock on something that has no row to lock yet.

Only transaction-level locks: they end with the transaction, whatever ends it. A key is 64 bits of a hash, its first
input byte the class of lock; two things that share a key by accident only wait for each other. Locks of one class are
taken in one statement in the order of their keys, not of what they stand for, so two transactions never wait in a ring.

PostgreSQL queues waiters of advisory locks in their order of arrival. It does not so for rows: FOR SHARE by a stream of
writers can starve the one who wants the row for itself, so such writers pass a gate first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from services.chassis.postgres import Transaction


class LockClass(IntEnum):
    """What a key stands for. Numbers are part of the keys: never reuse one."""

    GENERATION = 1  # the gate of one finalize generation
    ENTITY = 2  # one person, household, membership or income


def lock_key(lock_class: LockClass, *parts: bytes) -> int:
    """Return the key of a thing: the first 8 bytes of blake2b over the class byte and each part with its length."""
    content = bytes([lock_class]) + b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big", signed=True)


ENTER_GATE: Final = """
SELECT pg_advisory_xact_lock_shared($1)  -- bigint; waits behind one who waits to close the gate
"""


async def enter_gate(tx: Transaction, key: int) -> None:
    """Pass a gate together with others, until the transaction ends. The next statement sees what closed it before."""
    await tx.execute(ENTER_GATE, key)


CLOSE_GATE: Final = """
SELECT pg_advisory_xact_lock($1)         -- bigint; those who come later wait behind us
"""


async def close_gate(tx: Transaction, key: int) -> None:
    """Wait until all who passed the gate have ended, then keep it to oneself until the transaction ends."""
    await tx.execute(CLOSE_GATE, key)


LOCK_ALL: Final = """
SELECT pg_advisory_xact_lock(key)
  FROM unnest($1::bigint[]) AS key       -- sorted: the order in which the locks are taken
"""


async def lock_all(tx: Transaction, keys: Iterable[int]) -> None:
    """Take an exclusive lock on each key until the transaction ends, in key order; no keys, no statement."""
    if ordered := sorted(set(keys)):
        await tx.execute(LOCK_ALL, ordered)
