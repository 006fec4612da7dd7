"""What a log line says of an error."""

from __future__ import annotations

import pytest

from canopy.errors.v1.reason_pb2 import Reason
from services.kernel.errors import ClientError, ClientFailure, Refusal, label

BUSY = Refusal(Reason.REASON_OPERATION_BUSY)
LOST = ClientError(ClientFailure.CONFLICT, method="/a/B", code=10, may_have_happened=False)


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ValueError("123-45-6789"), "ValueError"),
        (BUSY, "Refusal(REASON_OPERATION_BUSY)"),
        (LOST, "ClientError(CONFLICT, REASON_UNSPECIFIED)"),
        (
            ExceptionGroup("Alma", [OSError("Reyes"), ExceptionGroup("", [BUSY, BUSY])]),
            "ExceptionGroup(ExceptionGroup(Refusal(REASON_OPERATION_BUSY)), OSError)",
        ),
    ],
)
def test_label_names_types_and_reasons_and_no_text(error: Exception, name: str) -> None:
    """MSH-08: an operator learns what failed, of every member of a group; nobody learns what was sent."""
    assert label(error) == name
