"""A value that must not be printed."""

from __future__ import annotations

from typing import Generic, NoReturn, TypeVar

SecretT = TypeVar("SecretT", str, bytes)


class Secret(Generic[SecretT]):
    """Holds a text or bytes that no log, error, trace or serialised form may show.

    `reveal()` is the only way out, so that every use can be found by one search. Equality is left to identity:
    comparing secrets is the job of `hmac.compare_digest`.
    """

    __slots__ = ("_value",)

    def __init__(self, value: SecretT) -> None:
        self._value = value

    def reveal(self) -> SecretT:
        """Return the value itself."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"

    def __format__(self, format_spec: str) -> str:
        return "Secret(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not serialised")
