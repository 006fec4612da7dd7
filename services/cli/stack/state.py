"""What the supervisor says about a running stack, as a file that every command can read."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from services.cli.stack.home import Home, read_json, supervisor_pid, write_atomically


class PartStatus(StrEnum):
    """Where one part stands."""

    WAITING = "waiting"
    STARTING = "starting"
    HEALTHY = "healthy"
    RESTARTING = "restarting"
    """It ended by itself and will be started again."""
    FAILED = "failed"
    """It could not be started, and so the stack was not."""
    STOPPED = "stopped"


class StackStatus(StrEnum):
    """Where the stack as a whole stands."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartState:
    """One part."""

    status: PartStatus = PartStatus.WAITING
    detail: str = ""
    """One line for a person: what it is doing, or why it failed."""
    pid: int | None = None
    port: int | None = None
    ready_urls: tuple[str, ...] = ()
    """Where its readiness can be asked; none for the stores."""
    restarts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StackState:
    """The whole stack. `addresses`: what a person needs, by name."""

    status: StackStatus
    supervisor: int
    started_at: str
    """RFC 3339, UTC."""
    parts: Mapping[str, PartState]
    addresses: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    """What a person must be told once."""
    error: str = ""
    """Why it failed, one line."""


def save(home: Home, state: StackState) -> None:
    """Publish the state."""
    write_atomically(home.state, json.dumps(dataclasses.asdict(state), indent=2) + "\n")


def saved(home: Home) -> StackState | None:
    """Read what was published last, whether or not it still runs; None where there is nothing to read."""
    content = read_json(home.state)
    try:
        parts: Mapping[str, Any] = content["parts"]
        return StackState(
            status=StackStatus(content["status"]),
            supervisor=int(content["supervisor"]),
            started_at=str(content["started_at"]),
            parts={name: _part(part) for name, part in parts.items()},
            addresses=dict(content["addresses"]),
            notices=tuple(content["notices"]),
            error=str(content["error"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _part(content: Mapping[str, Any]) -> PartState:
    known = {**content, "status": PartStatus(content["status"]), "ready_urls": tuple(content["ready_urls"])}
    return PartState(**known)


def running(home: Home) -> StackState | None:
    """Read the state of a stack that runs; None when none does, whatever a left-over file says."""
    state = saved(home)
    if state is None or supervisor_pid(home) != state.supervisor:
        return None
    return state
