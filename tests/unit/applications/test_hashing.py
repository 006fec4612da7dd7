"""Argon2id of passcodes: what is hashed, and how much of it at once."""

from __future__ import annotations

import asyncio

import argon2.low_level
from nacl.pwhash import argon2id

from canopy.errors.v1.reason_pb2 import Reason
from services.applications.config import PasscodesConfig
from services.applications.domain.hashing import PasscodeHasher
from services.applications.store.credentials import Cost
from services.kernel.secret import Secret
from tests.mesh import reason_of, refused

DIGITS = Secret("000000000042")
SALT = bytes(range(16))
COST = Cost(memory_kib=65_536, passes=3)


async def test_two_libraries_agree_on_the_hash() -> None:
    """DRF-09: Argon2id 1.3, one lane, 32 bytes, of the label and the twelve digits."""
    with PasscodeHasher.open(PasscodesConfig()) as hasher:
        hashed = await hasher.hash(DIGITS, SALT, hasher.cost)

    assert hasher.cost == COST
    assert hashed == argon2.low_level.hash_secret_raw(
        b"canopy/login/v1\x00000000000042",
        SALT,
        time_cost=3,
        memory_cost=65_536,
        parallelism=1,
        hash_len=32,
        type=argon2.low_level.Type.ID,
        version=19,
    )


async def test_a_verifier_is_never_a_draft_key() -> None:
    """DRF-03: even under one salt, which never happens, the device's derivation gives another key."""
    with PasscodeHasher.open(PasscodesConfig()) as hasher:
        hashed = await hasher.hash(DIGITS, SALT, COST)

    assert hashed != argon2id.kdf(32, DIGITS.reveal().encode(), SALT, opslimit=3, memlimit=65_536 * 1024)


async def test_what_the_queue_does_not_hold_is_refused() -> None:
    """DRF-09: two at once and one waiting: of five, two are refused, and the places are free afterwards."""
    with PasscodeHasher.open(PasscodesConfig(concurrent=2, queue=1)) as hasher:
        outcomes = await asyncio.gather(*(hasher.hash(DIGITS, SALT, COST) for _ in range(5)), return_exceptions=True)

        refusals = [reason_of(outcome) for outcome in outcomes if isinstance(outcome, BaseException)]
        assert refusals == ["REASON_OVERLOADED"] * 2
        assert len({outcome for outcome in outcomes if isinstance(outcome, bytes)}) == 1
        await asyncio.gather(*(hasher.hash(DIGITS, SALT, COST) for _ in range(3)))


async def test_a_caller_that_goes_away_keeps_its_place_while_its_hash_runs() -> None:
    """DRF-09: what is bounded is memory in use, so giving up and asking again does not get round it."""
    with PasscodeHasher.open(PasscodesConfig(concurrent=1, queue=1)) as hasher:
        runs, waits = [asyncio.ensure_future(hasher.hash(DIGITS, SALT, COST)) for _ in range(2)]
        await asyncio.sleep(0)  # both are admitted

        waits.cancel()
        await asyncio.wait([waits])
        waits = asyncio.ensure_future(hasher.hash(DIGITS, SALT, COST))  # the place of what was never begun is free
        await asyncio.sleep(0)
        runs.cancel()
        await asyncio.wait([runs])
        with refused(Reason.REASON_OVERLOADED):
            await hasher.hash(DIGITS, SALT, COST)

        assert len(await waits) == 32
