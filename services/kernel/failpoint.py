"""Named points between two durable effects, where tests stop, break or kill the process (FIN-26).

Production code says `await failpoint.reach(Failpoint.X)`, which does nothing unless the point is armed. Points are
armed by a test in the same process, or from the environment variable CANOPY_FAILPOINTS by `from_environment`; no
request, file or configuration can arm one.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from types import TracebackType
from typing import Final, Self, TypeAlias

VARIABLE: Final = "CANOPY_FAILPOINTS"

_log: Final = logging.getLogger(__name__)


class Failpoint(StrEnum):
    """Every point, grouped by the service (or shared mechanism) that reaches it, in the order it is reached."""

    DB_BEFORE_COMMIT = "db.before_commit"  # the work is done, COMMIT is about to be sent
    DB_AFTER_COMMIT = "db.after_commit"  # the server has committed, the caller does not know yet

    PERSONS_AFTER_BEGIN = "persons.after_begin"
    PERSONS_AFTER_GENERATION_LOCK = "persons.after_generation_lock"
    PERSONS_AFTER_RECEIPT = "persons.after_receipt"
    PERSONS_AFTER_ENTITY = "persons.after_entity"
    PERSONS_AFTER_EVENT = "persons.after_event"
    PERSONS_BEFORE_COMMIT = "persons.before_commit"
    PERSONS_AFTER_COMMIT = "persons.after_commit"
    PERSONS_AFTER_REGISTER = "persons.after_register"
    PERSONS_RELEASE_AFTER_MANIFEST = "persons.release_after_manifest"
    PERSONS_RELEASE_AFTER_SEAL = "persons.release_after_seal"
    PERSONS_RELEASE_AFTER_UNHOLD = "persons.release_after_unhold"
    PERSONS_CANCEL_AFTER_STATE = "persons.cancel_after_state"

    APPLICATIONS_AFTER_CLAIM = "applications.after_claim"
    APPLICATIONS_AFTER_REGISTER_SENT = "applications.after_register_sent"
    APPLICATIONS_BEFORE_APPLY = "applications.before_apply"
    APPLICATIONS_AFTER_APPLY = "applications.after_apply"
    APPLICATIONS_BEFORE_FINAL = "applications.before_final"
    APPLICATIONS_FINAL_AFTER_APPLICATION = "applications.final_after_application"
    APPLICATIONS_FINAL_AFTER_DRAFT_DELETE = "applications.final_after_draft_delete"
    APPLICATIONS_FINAL_AFTER_OPERATION = "applications.final_after_operation"
    APPLICATIONS_FINAL_AFTER_COMMIT = "applications.final_after_commit"
    APPLICATIONS_AFTER_RELEASE = "applications.after_release"
    APPLICATIONS_AFTER_RELEASED_AT = "applications.after_released_at"
    APPLICATIONS_HEARTBEAT_BEFORE = "applications.heartbeat_before"
    APPLICATIONS_HEARTBEAT_AFTER = "applications.heartbeat_after"
    APPLICATIONS_ABORT_AFTER_COMPENSATING = "applications.abort_after_compensating"
    APPLICATIONS_ABORT_AFTER_CANCEL = "applications.abort_after_cancel"
    APPLICATIONS_AFTER_ABORTED = "applications.after_aborted"

    DRAFTS_CREATE_AFTER_DRAFT = "drafts.create_after_draft"
    DRAFTS_CREATE_AFTER_CODE = "drafts.create_after_code"
    DRAFTS_CREATE_AFTER_HASH = "drafts.create_after_hash"
    DRAFTS_SAVE_BEFORE_COMMIT = "drafts.save_before_commit"

    OUTBOX_AFTER_CLAIM = "outbox.after_claim"
    OUTBOX_AFTER_PUBLISH = "outbox.after_publish"
    OUTBOX_AFTER_MARK = "outbox.after_mark"


class Action(StrEnum):
    """What an armed point does to the task that reaches it."""

    RAISE = "raise"  # raise FailpointError
    KILL = "kill"  # SIGKILL to this process
    PAUSE = "pause"  # wait for Arming.resume
    HANG = "hang"  # wait for ever, as behind a lost network
    CANCEL = "cancel"  # cancel the task, as a caller that went away


Behaviour: TypeAlias = Action | Callable[[], Awaitable[None]]


class FailpointError(Exception):
    """Raised by Action.RAISE; nothing in the product catches it by name."""


class Arming:
    """One armed point: await `reached`, then `resume`. As a context manager it disarms at the end of the block."""

    def __init__(self, point: Failpoint, behaviour: Behaviour, times: int | None) -> None:
        self.point: Final = point
        self._behaviour: Final = behaviour
        self._left = times
        self._reached: Final = asyncio.Event()
        self._resumed: Final = asyncio.Event()

    async def reached(self) -> None:
        """Wait until a task has come to the point."""
        await self._reached.wait()

    def resume(self) -> None:
        """Let every paused task go on, now and later."""
        self._resumed.set()

    def disarm(self) -> None:
        """Make the point harmless again and let paused tasks go on."""
        if _armed.get(self.point) is self:
            del _armed[self.point]
        self.resume()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.disarm()

    async def act(self) -> None:
        """Do what was armed, to the current task."""
        if self._left is not None:
            self._left -= 1
            if self._left == 0 and _armed.get(self.point) is self:
                del _armed[self.point]
        self._reached.set()
        _log.warning("failpoint %s reached", self.point.value)
        match self._behaviour:
            case Action.RAISE:
                raise FailpointError(self.point.value)
            case Action.KILL:
                os.kill(os.getpid(), signal.SIGKILL)
            case Action.PAUSE:
                await self._resumed.wait()
            case Action.HANG:
                await asyncio.Event().wait()
            case Action.CANCEL:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
                await asyncio.sleep(0)
            case behaviour:
                await behaviour()


# Process-wide by purpose: a test arms a point that tasks of servers it does not own will reach.
_armed: Final[dict[Failpoint, Arming]] = {}


async def reach(point: Failpoint) -> None:
    """Pass the point; an armed one acts on the current task."""
    if _armed and (arming := _armed.get(point)) is not None:
        await arming.act()


def arm(point: Failpoint, behaviour: Behaviour, *, times: int | None = 1) -> Arming:
    """Arm a point for its next `times` passes (None: until disarmed), in place of what was armed before.

    behaviour: an Action, or an async function that is called in the task that reaches the point.
    """
    arming = Arming(point, behaviour, times)
    _armed[point] = arming
    return arming


def disarm_all() -> None:
    """Make every point harmless."""
    for arming in list(_armed.values()):
        arming.disarm()


def from_environment(environ: Mapping[str, str]) -> tuple[Arming, ...]:
    """Arm what CANOPY_FAILPOINTS says, for example `persons.after_receipt=kill;outbox.after_mark=raise`, each once.

    Raises ValueError for an unknown point or action, and for `pause`, which nobody could resume.
    """
    armings: list[Arming] = []
    for entry in filter(None, environ.get(VARIABLE, "").split(";")):
        name, _, action = entry.strip().partition("=")
        if action == Action.PAUSE:
            raise ValueError(f"{VARIABLE}: a pause cannot be armed from the environment, use hang")
        armings.append(arm(Failpoint(name), Action(action)))
    if armings:
        points = ", ".join(arming.point.value for arming in armings)
        _log.warning("FAILPOINTS ARMED, THIS PROCESS WILL FAIL ON PURPOSE: %s", points)
    return tuple(armings)
