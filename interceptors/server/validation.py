"""What may be said: every request message keeps its contract before a handler sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from google.protobuf.message import Message

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.server.chain import Call, Middleware
from services.kernel import fields, text
from services.kernel.errors import Refusal, Violation, invalid


def validation() -> Middleware:
    """Refuse request messages that break their contract. Innermost: a stranger's message is not even decoded."""

    @asynccontextmanager
    async def middleware(call: Call) -> AsyncIterator[None]:
        call.check = check
        yield

    return middleware


def check(message: Message) -> None:
    """Refuse unknown fields, bring text into form C in place, then refuse whatever breaks a rule.

    Unknown fields come first: dropping them unseen could drop what a newer client means to say.
    """
    if fields.has_unknown_fields(message):
        where = fields.path_of_unknown_field(message)
        violation = Violation(field=where, rule="unknown_field")
        raise Refusal(Reason.REASON_UNKNOWN_FIELD, violations=[violation], field=where)
    text.normalise(message)
    if broken := fields.violations(message):
        raise invalid(*broken)
