"""Keys of advisory locks."""

from __future__ import annotations

import uuid

from services.persons.store.advisory import LockClass, lock_key

SAMPLE = uuid.UUID("6f1c1a52-5f5e-4c7b-9a55-0d3c5b0f4a11").bytes


def test_keys_never_change() -> None:
    """FIN-04: two releases that serve side by side take the same lock for the same thing."""
    assert lock_key(LockClass.GENERATION, SAMPLE, bytes(8)) == -2692336277870802595
    assert lock_key(LockClass.ENTITY, SAMPLE) == -2718983287281590010


def test_keys_tell_classes_and_parts_apart() -> None:
    """FIN-04: the class and the length of each part are in a key: neither classes nor parts run into each other."""
    assert lock_key(LockClass.GENERATION, SAMPLE) != lock_key(LockClass.ENTITY, SAMPLE)
    assert lock_key(LockClass.ENTITY, b"ab", b"c") != lock_key(LockClass.ENTITY, b"a", b"bc")


def test_keys_are_signed_64_bit_and_do_not_collide() -> None:
    """FIN-04: a key is a bigint, and 100,000 ids have as many keys."""
    keys = {lock_key(LockClass.ENTITY, uuid.UUID(int=number).bytes) for number in range(100_000)}

    assert len(keys) == 100_000
    assert all(-(2**63) <= key < 2**63 for key in keys)
    assert any(key < 0 for key in keys)
