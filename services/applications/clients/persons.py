"""Calls to the persons side of a finalize. Every one can be repeated; none is made inside a transaction (FIN-07)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import date
from typing import Final

import grpc

from canopy.persons.v1.finalize_service_pb2 import (
    ApplyFinalizeStepsRequest,
    CancelOperationRequest,
    Generation,
    RegisterOperationRequest,
    ReleaseOperationRequest,
)
from canopy.persons.v1.finalize_service_pb2_grpc import FinalizeServiceStub
from canopy.persons.v1.step_pb2 import Step, StepKey, StepReceipt
from services.kernel.errors import ClientError, ClientFailure

_APPLY: Final = "/canopy.persons.v1.FinalizeService/ApplyFinalizeSteps"


class PersonsFinalize:
    """FinalizeService of persons. Raises ClientError."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = FinalizeServiceStub(channel)

    async def register(self, operation_id: uuid.UUID, generation: int, digest: bytes, basis_date: date) -> None:
        """Open the generation, or have it acknowledged again."""
        await self._stub.RegisterOperation(
            RegisterOperationRequest(
                generation=_generation(operation_id, generation, digest), basis_date=basis_date.isoformat()
            )
        )

    async def apply(
        self, operation_id: uuid.UUID, generation: int, digest: bytes, steps: Sequence[Step]
    ) -> list[StepReceipt]:
        """Write a batch of steps, all or none, and return their receipts in the order of the steps.

        An answer that is not about exactly these steps is a breach of the contract: what it names must not be filed.
        """
        request = ApplyFinalizeStepsRequest(generation=_generation(operation_id, generation, digest), steps=steps)
        answer = await self._stub.ApplyFinalizeSteps(request)
        receipts = list(answer.receipts)
        if [receipt.key for receipt in receipts] != [step.key for step in steps]:
            raise ClientError(
                ClientFailure.CONTRACT, method=_APPLY, code=grpc.StatusCode.OK.value[0], may_have_happened=True
            )
        return receipts

    async def release(
        self, operation_id: uuid.UUID, generation: int, digest: bytes, manifest: Sequence[StepKey]
    ) -> None:
        """Seal the generation and let its events go, or have that acknowledged again."""
        await self._stub.ReleaseOperation(
            ReleaseOperationRequest(generation=_generation(operation_id, generation, digest), manifest=manifest)
        )

    async def cancel(self, operation_id: uuid.UUID, generation: int) -> None:
        """Cancel the generation for good, registered or not, or have that acknowledged again."""
        await self._stub.CancelOperation(CancelOperationRequest(operation_id=str(operation_id), generation=generation))


def _generation(operation_id: uuid.UUID, generation: int, digest: bytes) -> Generation:
    return Generation(operation_id=str(operation_id), generation=generation, digest=digest)
