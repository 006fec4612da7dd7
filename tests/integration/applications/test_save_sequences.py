"""Any sequence of saves, repeats, submits and an expiry, against a model of one draft in a few lines."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from canopy.applications.v1.draft_pb2 import DraftContent, WrappedKey
from canopy.errors.v1.reason_pb2 import Reason
from services.applications.domain.drafts import Drafts
from services.applications.store.drafts import Saved
from services.chassis.postgres import Database
from services.kernel.errors import Refusal
from tests.applications import content, drafts_on, seed_draft, wrapped_key
from tests.postgres import FreshDatabase

CONTENTS: Final = [content() for _ in range(3)]
KEYS: Final = [wrapped_key(), wrapped_key(), None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Save:
    """A device saves. `ahead`: how far its revision is from the draft's; `again`: under the id of the last save."""

    ahead: int
    content: int
    key: int
    again: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Resend:
    """A device sends one of the earlier saves again, byte for byte."""

    which: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    """A submit begins, is being undone, is undone: the next of the three."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expire:
    """Thirty days go by."""


Step: TypeAlias = Save | Resend | Submit | Expire


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What a save says."""

    save_id: uuid.UUID
    expected_revision: int
    content: DraftContent
    wrapped_key: WrappedKey | None


@dataclass(slots=True, kw_only=True)
class Model:
    """What a draft is: its last save, and whether it may be saved at all."""

    revision: int = 0
    last: Sent | None = None
    answer: Saved | None = None
    key: WrappedKey | None = None
    submit: str = "none"
    expired: bool = False
    sent: list[Sent] = field(default_factory=list)

    def refuses(self, save: Sent) -> Reason | None:
        """Say why a save is refused; None where it is taken, or is the last one again."""
        if save.expected_revision == 0 and save.wrapped_key is None:
            return Reason.REASON_INVALID_FIELD
        if self.expired:
            return Reason.REASON_DRAFT_NOT_FOUND
        if self.last is not None and save.save_id == self.last.save_id:
            return None if save == self.last else Reason.REASON_SAVE_ID_REUSED
        if self.submit in ("in_progress", "compensating"):
            return Reason.REASON_FINALIZE_IN_PROGRESS
        return None if save.expected_revision == self.revision else Reason.REASON_REVISION_STALE


saves = st.builds(
    Save,
    ahead=st.sampled_from([0, 0, 0, 1, -1]),
    content=st.integers(0, len(CONTENTS) - 1),
    key=st.integers(0, len(KEYS) - 1),
    again=st.sampled_from([False, False, True]),
)
steps = st.lists(
    st.one_of(saves, saves, saves, st.builds(Resend, which=st.integers(0, 9)), st.builds(Submit), st.builds(Expire)),
    max_size=14,
)

BEGIN: Final = """
INSERT INTO finalize_operations (operation_id, application_id, kind, status, generation, holder, lease_expires_at)
VALUES ($1, $1, 'initial', 'in_progress', 1, $1, clock_timestamp())
"""
UNDO: Final = "UPDATE finalize_operations SET status = 'compensating' WHERE operation_id = $1"
UNDONE: Final = """
UPDATE finalize_operations
   SET status = 'aborted', holder = NULL, lease_expires_at = NULL
 WHERE operation_id = $1
"""
BEGIN_AGAIN: Final = """
UPDATE finalize_operations
   SET status = 'in_progress', generation = generation + 1, holder = $1, lease_expires_at = clock_timestamp()
 WHERE operation_id = $1
"""
SUBMIT: Final = {
    "none": ("in_progress", BEGIN),
    "in_progress": ("compensating", UNDO),
    "compensating": ("aborted", UNDONE),
    "aborted": ("in_progress", BEGIN_AGAIN),
}
EXPIRE: Final = "UPDATE application_drafts SET expires_at = clock_timestamp() WHERE application_id = $1"


@pytest.fixture
async def owner(fresh: FreshDatabase) -> AsyncIterator[asyncpg.Connection]:
    async with fresh.as_owner() as connection:
        yield connection


@pytest.fixture
def drafts(db: Database) -> Iterator[Drafts]:
    with drafts_on(db) as drafts:
        yield drafts


# The fixtures are shared by the examples; each example has a draft of its own.
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
async def test_any_sequence_ends_where_the_model_does(
    db: Database, owner: asyncpg.Connection, drafts: Drafts, steps: list[Step]
) -> None:
    """DRF-04: after any sequence the draft is the last acknowledged save, and every answer is the model's."""
    draft, model = await seed_draft(db), Model()

    for step in steps:
        match step:
            case Save():
                await _save(drafts, draft, model, _made(model, step))
            case Resend(which=which) if model.sent:
                await _save(drafts, draft, model, model.sent[which % len(model.sent)])
            case Resend():
                pass
            case Submit():
                model.submit, statement = SUBMIT[model.submit]
                await owner.execute(statement, draft)
            case Expire():
                model.expired = True
                await owner.execute(EXPIRE, draft)
        await _compare(drafts, draft, model)


def _made(model: Model, step: Save) -> Sent:
    again = step.again and model.last is not None
    save = Sent(
        save_id=model.last.save_id if again and model.last else uuid.uuid4(),
        expected_revision=max(0, model.revision + step.ahead),
        content=CONTENTS[step.content],
        wrapped_key=KEYS[step.key],
    )
    model.sent.append(save)
    return save


async def _save(drafts: Drafts, draft: uuid.UUID, model: Model, save: Sent) -> None:
    expected = model.refuses(save)
    outcome = await _outcome(drafts, draft, save)
    if expected is not None:
        assert outcome == expected
        return
    assert isinstance(outcome, Saved)
    if save == model.last:
        assert outcome == model.answer
        return
    assert outcome.revision == model.revision + 1
    model.revision, model.last, model.answer = outcome.revision, save, outcome
    model.key = save.wrapped_key or model.key


async def _outcome(drafts: Drafts, draft: uuid.UUID, save: Sent) -> Saved | Reason:
    try:
        return await drafts.save(draft, save.save_id, save.expected_revision, save.content, save.wrapped_key)
    except Refusal as refusal:
        return refusal.reason


async def _compare(drafts: Drafts, draft: uuid.UUID, model: Model) -> None:
    if model.expired:
        with pytest.raises(Refusal, match="REASON_DRAFT_NOT_FOUND"):
            await drafts.get(draft)
        return
    stored, _ = await drafts.get(draft)
    assert stored.revision == model.revision
    assert stored.content == (model.last.content if model.last else None)
    assert stored.wrapped_key == model.key
    assert stored.submitting == (model.submit in ("in_progress", "compensating"))
