"""Who is calling: the claims of a verified token, readable anywhere below the authentication interceptor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

SERVICE_ROLE: Final = "service"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The part of a verified token that decides access."""

    subject: str
    service: str | None = None  # claim "service", for example "canopy-portal"
    azp: str | None = None  # authorized party: the OAuth client that asked for the token
    roles: frozenset[str] = frozenset()

    @property
    def is_service(self) -> bool:
        """True where the issuer gave the token the role of a service; an id alone does not make one."""
        return SERVICE_ROLE in self.roles

    def service_id(self) -> str | None:
        """Return the id to look up in an allow-list. Says nothing by itself: check `is_service` first (MSH-04)."""
        return self.service or self.azp


ANONYMOUS: Final = Caller(subject="")

_current: ContextVar[Caller] = ContextVar("canopy_caller", default=ANONYMOUS)


def current() -> Caller:
    """Return the caller of the call that is being served; ANONYMOUS in a public method and outside of any call."""
    return _current.get()


@contextmanager
def use(caller: Caller) -> Iterator[None]:
    """Make `caller` the current one for the block."""
    token = _current.set(caller)
    try:
        yield
    finally:
        _current.reset(token)
