"""Telling persons to let the events of a completed filing go, once and for all (FIN-13, FIN-14, FIN-19).

`completed AND released_at IS NULL` is the durable intent. The submit tries it before it answers; the sweeper tries
again until persons has sealed the generation. A refusal that repeating does not mend is noted once, for a data steward.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from canopy.errors.v1.reason_pb2 import Reason
from canopy.persons.v1.step_pb2 import StepKey
from services.applications.clients.persons import PersonsFinalize
from services.applications.store import releases
from services.chassis.postgres import Database, Transaction
from services.kernel import failpoint, instruments
from services.kernel.errors import ClientError
from services.kernel.failpoint import Failpoint

_log: Final = logging.getLogger(__name__)

# What persons will answer again, however often it is asked.
_FOR_GOOD: Final = frozenset(
    {
        Reason.REASON_RELEASE_BLOCKED,
        Reason.REASON_GENERATION_ABSENT,
        Reason.REASON_GENERATION_CANCELLED,
        Reason.REASON_DIGEST_MISMATCH,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """Releases completed filings."""

    db: Database
    persons: PersonsFinalize

    async def release(
        self, operation_id: uuid.UUID, generation: int, digest: bytes, manifest: Sequence[StepKey]
    ) -> bool:
        """Release a generation and note so; False where persons refuses for good, which is noted too.

        Raises ClientError and Refusal where it is worth another try.
        """
        try:
            await self.persons.release(operation_id, generation, digest, manifest)
        except ClientError as error:
            if error.reason not in _FOR_GOOD:
                raise
            await self._block(operation_id, generation, error.reason)
            return False
        await failpoint.reach(Failpoint.APPLICATIONS_AFTER_RELEASE)

        async def work(tx: Transaction) -> bool:
            return await releases.mark_released(tx, operation_id, generation)

        # Where the answer of COMMIT is lost, the sweeper asks persons once more.
        await self.db.transact("finalize.mark_released", work)
        await failpoint.reach(Failpoint.APPLICATIONS_AFTER_RELEASED_AT)
        return True

    async def _block(self, operation_id: uuid.UUID, generation: int, reason: Reason) -> None:
        async def work(tx: Transaction) -> bool:
            return await releases.mark_release_blocked(tx, operation_id, generation)

        if await self.db.transact("finalize.mark_release_blocked", work):
            instruments.FINALIZE_RELEASES_BLOCKED.add(1, {instruments.REASON: Reason.Name(reason)})
            _log.error(
                "release blocked",
                extra={"operation_id": str(operation_id), "generation": generation, "reason": Reason.Name(reason)},
            )
