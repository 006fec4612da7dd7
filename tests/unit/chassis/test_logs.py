"""Log lines: JSON, correlated, and silent about what people sent."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from services.chassis.logs import JsonFormatter
from services.kernel.secret import Secret


def line_of(message: str, *, error: BaseException | None = None, **extra: object) -> dict[str, Any]:
    exc_info = (type(error), error, error.__traceback__) if error else None
    record = logging.LogRecord("services.x", logging.WARNING, __file__, 1, message, None, exc_info)
    vars(record).update(extra)
    return json.loads(JsonFormatter("canopy-x").format(record))


def test_line_has_event_level_logger_and_the_extra_fields() -> None:
    """OPS-03: one object a line, with the ids that were given."""
    line = line_of("claim lost", operation_id="42", attempts=3)

    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "WARNING",
        "service": "canopy-x",
        "logger": "services.x",
        "event": "claim lost",
        "operation_id": "42",
        "attempts": 3,
    }


def test_exception_is_logged_by_type_and_place_without_its_message() -> None:
    """OPS-03: the message of an exception may hold what somebody sent; neither it nor a source line is written."""
    with pytest.raises(ValueError, match="Alma") as caught:
        int("Alma Reyes, 123-45-6789")

    line = line_of("failed", error=caught.value)

    assert line["error"] == "ValueError"
    assert line["stack"][0].startswith(f"{__file__}:")
    assert "Alma" not in json.dumps(line)


def test_value_that_is_not_plain_is_named_by_its_type() -> None:
    """OPS-03: an object given by mistake shows nothing of its content."""
    line = line_of("configured", key=Secret("hunter2"), person={"name": object()})

    assert line["key"] == "Secret"
    assert line["person"] == {"name": "object"}
