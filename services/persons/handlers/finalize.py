"""FinalizeService: the persons side of a submit."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Final

from canopy.persons.v1 import finalize_service_pb2 as pb
from canopy.persons.v1.finalize_service_pb2_grpc import FinalizeServiceServicer
from canopy.persons.v1.step_pb2 import StepKey, StepReceipt
from services.kernel import step_key
from services.kernel.dates import parse_date
from services.kernel.errors import Violation, invalid
from services.persons.domain.generations import Generations
from services.persons.domain.steps import PlacedStep
from services.persons.domain.tagged_write import TaggedWriter
from services.persons.handlers import convert


class FinalizeHandler(FinalizeServiceServicer):
    """Serves FinalizeService."""

    def __init__(self, generations: Generations, writer: TaggedWriter) -> None:
        self._generations: Final = generations
        self._writer: Final = writer

    async def RegisterOperation(
        self, request: pb.RegisterOperationRequest, context: Any
    ) -> pb.RegisterOperationResponse:
        """Open a generation."""
        generation = request.generation
        await self._generations.register(convert.attempt(generation), generation.digest, parse_date(request.basis_date))
        return pb.RegisterOperationResponse()

    async def ApplyFinalizeStep(
        self, request: pb.ApplyFinalizeStepRequest, context: Any
    ) -> pb.ApplyFinalizeStepResponse:
        """Apply one step: a batch of one."""
        receipts = await self._apply(request.generation, [PlacedStep(path="step", step=request.step)])
        return pb.ApplyFinalizeStepResponse(receipt=receipts[0])

    async def ApplyFinalizeSteps(
        self, request: pb.ApplyFinalizeStepsRequest, context: Any
    ) -> pb.ApplyFinalizeStepsResponse:
        """Apply several steps, all or none."""
        placed = [PlacedStep(path=f"steps[{index}]", step=step) for index, step in enumerate(request.steps)]
        return pb.ApplyFinalizeStepsResponse(receipts=await self._apply(request.generation, placed))

    async def ReleaseOperation(self, request: pb.ReleaseOperationRequest, context: Any) -> pb.ReleaseOperationResponse:
        """Seal a generation and let its events go."""
        generation = request.generation
        count = await self._generations.release(
            convert.attempt(generation), generation.digest, _manifest(request.manifest)
        )
        return pb.ReleaseOperationResponse(released_events=count)

    async def CancelOperation(self, request: pb.CancelOperationRequest, context: Any) -> pb.CancelOperationResponse:
        """Cancel a generation that is empty, or was never registered."""
        await self._generations.cancel(convert.attempt(request))
        return pb.CancelOperationResponse()

    async def GetOperation(self, request: pb.GetOperationRequest, context: Any) -> pb.GetOperationResponse:
        """Tell where an operation's generations stand."""
        generations = await self._generations.status(uuid.UUID(request.operation_id))
        return pb.GetOperationResponse(generations=[convert.generation_status(each) for each in generations])

    async def _apply(self, generation: pb.Generation, placed: Sequence[PlacedStep]) -> list[StepReceipt]:
        stable_ids = await self._writer.apply(convert.attempt(generation), generation.digest, placed)
        return [
            StepReceipt(key=each.step.key, stable_id=str(stable_id))
            for each, stable_id in zip(placed, stable_ids, strict=True)
        ]


def _manifest(keys: Sequence[StepKey]) -> set[str]:
    """Read a manifest. Raises Refusal(REASON_INVALID_FIELD) for what is no step's key, and for a repeated one."""
    texts: set[str] = set()
    for index, key in enumerate(keys):
        try:
            text = step_key.to_text(key)
        except ValueError:
            raise invalid(Violation(field=f"manifest[{index}].index", rule="max")) from None
        if text in texts:
            raise invalid(Violation(field=f"manifest[{index}]", rule="unique"))
        texts.add(text)
    return texts
