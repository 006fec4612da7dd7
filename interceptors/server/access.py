"""Who may: the contract of a method names its callers, and nobody else passes (MSH-03, MSH-04)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.server.chain import Call, Middleware
from services.kernel import caller as current_caller
from services.kernel.caller import Caller
from services.kernel.errors import Refusal
from services.kernel.policy import Access


def access(policies: Mapping[str, Access]) -> Middleware:
    """Deny by default: a method without a policy admits nobody. Needs: authentication, status."""

    @asynccontextmanager
    async def middleware(call: Call) -> AsyncIterator[None]:
        policy = policies.get(call.method)
        if policy is None or not admits(policy, current_caller.current()):
            raise Refusal(Reason.REASON_CALLER_NOT_ALLOWED)
        yield

    return middleware


def admits(policy: Access, caller: Caller) -> bool:
    """Tell whether `policy` names `caller`.

    A service must first be one, by the role in its token, and only then be on the list: `service_id()` may fall back to
    the OAuth client id, which any client of the issuer has and which proves nothing.
    """
    if policy.public:
        return True
    if policy.services and caller.is_service and caller.service_id() in policy.services:
        return True
    return not policy.roles.isdisjoint(caller.roles)
