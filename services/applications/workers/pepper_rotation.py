"""Seals again what a retired pepper key had sealed, so that the key can be taken out of the ring and destroyed.

It takes neither a passcode nor a login: the verifier is encrypted, not hashed, under the pepper (ADR-7).
"""

from __future__ import annotations

from typing import Final

from services.applications.domain.pepper import Pepper
from services.applications.store import peppered
from services.chassis.postgres import Database
from services.chassis.postgres_transaction import Transaction

BATCH: Final = 500


class PepperRotation:
    """One pass seals everything that it finds under retired keys; several processes may be at it."""

    def __init__(self, db: Database, pepper: Pepper, *, batch: int = BATCH) -> None:
        self._db = db
        self._pepper = pepper
        self._batch = batch

    async def run_once(self) -> int:
        """Seal again, in transactions of at most `batch` rows, until nothing is found; returns how many were sealed."""
        if not self._pepper.retired:
            return 0
        sealed = 0
        while batch := await self._db.transact("pepper.seal_verifiers", self._verifiers):
            sealed += batch
        while batch := await self._db.transact("pepper.seal_shares", self._shares):
            sealed += batch
        return sealed

    async def _verifiers(self, tx: Transaction) -> int:
        found = await peppered.lock_verifiers(tx, self._pepper.retired, self._batch)
        opened = [(owner, self._pepper.open_verifier(owner, sealed)) for owner, sealed in found]
        await peppered.replace_verifiers(
            tx, [(owner, self._pepper.seal_verifier(owner, each)) for owner, each in opened]
        )
        return len(found)

    async def _shares(self, tx: Transaction) -> int:
        found = await peppered.lock_shares(tx, self._pepper.retired, self._batch)
        opened = [(owner, self._pepper.open_share(owner, sealed)) for owner, sealed in found]
        await peppered.replace_shares(tx, [(owner, self._pepper.seal_share(owner, each)) for owner, each in opened])
        return len(found)
