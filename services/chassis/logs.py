"""Structured logs: one JSON object a line on stderr, correlated with the trace.

What may be said: `event` is a fixed text, everything else is an id, a reason, a count or a duration, given as `extra`.
An exception is logged by its label (services/kernel/errors.py) and place only, because its message may hold what
somebody sent.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final

from opentelemetry import trace

from services.kernel.errors import label

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
_FRAMES: Final = 20


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON."""

    def __init__(self, service: str) -> None:
        """Prepare lines of `service`, a service id."""
        super().__init__()
        self._service = service

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without its end."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "service": self._service,
            "logger": record.name,
            "event": record.getMessage(),
        }
        span = trace.get_current_span().get_span_context()
        if span.is_valid:
            line["trace_id"] = trace.format_trace_id(span.trace_id)
            line["span_id"] = trace.format_span_id(span.span_id)
        line.update((name, value) for name, value in vars(record).items() if name not in _STANDARD)
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = label(record.exc_info[1])
            line["stack"] = _stack(record.exc_info[2])
        return json.dumps(line, default=lambda value: type(value).__name__, ensure_ascii=False)


def _stack(trace_back: TracebackType | None) -> list[str]:
    """Name the innermost frames; no source line and no local value."""
    frames = traceback.extract_tb(trace_back)[-_FRAMES:]
    return [f"{frame.filename}:{frame.lineno}:{frame.name}" for frame in frames]


def configure(service: str, level: str) -> None:
    """Send every log line of the process to stderr as JSON; libraries speak from WARNING on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter(service))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for ours in ("services", "interceptors"):
        logging.getLogger(ours).setLevel(level)
