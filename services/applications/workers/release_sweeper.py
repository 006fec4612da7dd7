"""Finishes what submits left to do: releases of completed filings, undoings that nobody drives any more (FIN-14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from services.applications.domain.claim import Claims
from services.applications.domain.release import Releases
from services.applications.domain.undo import Undoing
from services.applications.store import releases
from services.kernel import step_key

BATCH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSweeper:
    """One pass looks for durable intents and carries each out. Any number may run: every step can be repeated.

    patience_seconds: how long a submit has to release its own filing before it is swept.
    """

    claims: Claims
    releases: Releases
    undoing: Undoing
    patience_seconds: float

    async def sweep(self) -> None:
        """Carry out every intent that is due. One that fails is tried again by the next pass and holds up no other."""
        failures: list[Exception] = []
        for waiting in await releases.unreleased(self.claims.db, self.patience_seconds, BATCH):
            manifest = [step_key.from_text(key) for key in waiting.manifest]
            try:
                await self.releases.release(waiting.operation_id, waiting.generation, waiting.digest, manifest)
            except Exception as error:  # noqa: BLE001 -- reported below, once all others had their turn
                failures.append(error)
        for operation_id, generation in await releases.undone_by_nobody(self.claims.db, BATCH):
            try:
                undo = await self.claims.take_over_undo(operation_id, generation)
                if undo is not None:
                    await self.undoing.finish(undo.fence)
            except Exception as error:  # noqa: BLE001 -- likewise
                failures.append(error)
        if failures:
            raise ExceptionGroup("release sweep", failures)
