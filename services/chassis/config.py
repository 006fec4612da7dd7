"""Configuration: environment variables into frozen dataclasses, with every violation reported at once.

A service states its knobs as fields of frozen, keyword-only dataclasses; a field whose type is such a dataclass is a
section. `CANOPY_PERSONS__DATABASE__POOL_SIZE` is the knob `pool_size` of the section `database` of the service
`persons`. A `Secret` knob is never in the environment: its variable ends in `_FILE` and names a file to read.
Nothing is clamped, rounded or ignored: a value outside its domain and a variable nobody knows both stop the start.
"""

from __future__ import annotations

import dataclasses
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from services.kernel.secret import Secret

T = TypeVar("T")

_METADATA: Final = "canopy.knob"
_SECRET_MAX_BYTES: Final = 65_536
_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
_TYPE_NAMES: Final[Mapping[Any, str]] = {
    int: "whole number",
    float: "number",
    bool: "true or false",
    str: "text",
    Path: "path",
    tuple[str, ...]: "list of texts, separated by commas",
    Secret[str]: "file holding a text",
    Secret[bytes]: "file holding bytes",
}


class ConfigError(Exception):
    """Everything that is wrong with an environment. `violations` has one line each; no line holds a sent value."""

    def __init__(self, violations: Iterable[str]) -> None:
        self.violations: Final = tuple(violations)
        super().__init__("\n".join(self.violations))


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """What a field may hold. `lo` and `hi` (inclusive) bound a number, or the length of a text, list or secret."""

    doc: str
    lo: float | None = None
    hi: float | None = None
    choices: tuple[Any, ...] = ()
    unit: str = ""
    pattern: str = ""

    def domain(self, kind: Any) -> str:
        """Say the domain of a knob of type `kind` in words, for violations and the generated page; empty if none."""
        parts: list[str] = []
        length = "" if kind in (int, float) else "length "
        if self.choices:
            parts.append("one of " + ", ".join(str(choice) for choice in self.choices))
        if self.lo is not None and self.hi is not None:
            parts.append(f"{length}{self.lo} to {self.hi}")
        elif self.lo is not None:
            parts.append(f"{length}at least {self.lo}")
        elif self.hi is not None:
            parts.append(f"{length}at most {self.hi}")
        if self.pattern:
            parts.append(f"matching {self.pattern}")
        return ", ".join(parts)

    def admits(self, value: object) -> bool:
        """Tell whether a parsed value lies in the domain; for a list, choices and pattern hold for each item."""
        if isinstance(value, Secret):
            value = value.reveal()
        items: tuple[Any, ...] = typing.cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
        if self.choices and any(item not in self.choices for item in items):
            return False
        if self.pattern and not all(re.fullmatch(self.pattern, str(item)) for item in items):
            return False
        size = value if isinstance(value, (int, float)) else len(value) if isinstance(value, (str, bytes, tuple)) else 0
        return (self.lo is None or size >= self.lo) and (self.hi is None or size <= self.hi)


def knob(
    default: Any = dataclasses.MISSING,
    *,
    doc: str,
    lo: float | None = None,
    hi: float | None = None,
    choices: Iterable[Any] | None = None,
    unit: str = "",
    pattern: str = "",
) -> Any:
    """Declare a configurable field. Without a default the variable is required.

    doc: one sentence for the operator. unit: "s", "bytes", … as printed in the generated page.
    lo, hi: inclusive bounds of a number, or of the length of a text, list or secret. pattern: matched whole.
    Raises ValueError when the default lies outside its own domain.
    """
    spec = Knob(doc=doc, lo=lo, hi=hi, choices=tuple(choices or ()), unit=unit, pattern=pattern)
    if default is not dataclasses.MISSING and default is not None and not spec.admits(default):
        raise ValueError("the default of a knob must lie in its own domain")
    return dataclasses.field(default=default, metadata={_METADATA: spec})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the generated configuration page; `default` is "required" where there is none."""

    name: str
    type: str
    default: str
    unit: str
    domain: str
    doc: str


def load(cls: type[T], prefix: str, environ: Mapping[str, str]) -> T:
    """Read one service's configuration, for example `load(PersonsConfig, "CANOPY_PERSONS", os.environ)`.

    Raises ConfigError listing every violation: a missing, malformed, out-of-domain or unknown variable, a secret file
    that cannot be read, and whatever the `check()` methods of the sections yield.
    """
    loader = _Loader(environ)
    value = loader.section(cls, prefix)
    known = {leaf.name for leaf in _leaves(cls, prefix)}
    for name in sorted(environ):
        if name.startswith(f"{prefix}__") and name not in known:
            loader.violations.append(f"{name}: no such knob")
    if loader.violations:
        raise ConfigError(loader.violations)
    return typing.cast("T", value)


def rows(cls: type[Any], prefix: str) -> Iterator[Row]:
    """Yield every knob below `cls` in field order, for docs/configuration.md."""
    for leaf in _leaves(cls, prefix):
        yield Row(
            name=leaf.name,
            type=_TYPE_NAMES[leaf.type] + (" or empty" if leaf.optional else ""),
            default=_spell(leaf.default),
            unit=leaf.knob.unit,
            domain=leaf.knob.domain(leaf.type),
            doc=leaf.knob.doc,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leaf:
    """One knob with its place: the field, its environment variable and its type without `| None`."""

    field: str
    name: str
    type: Any
    optional: bool
    default: Any
    knob: Knob


def _members(cls: type[Any], prefix: str) -> Iterator[_Leaf | tuple[str, type[Any], str]]:
    """Yield the fields of a section: knobs as leaves, sections as (field, class, prefix). TypeError for others."""
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        kind, optional = _without_none(hints[field.name])
        name = f"{prefix}__{field.name.upper()}"
        spec = field.metadata.get(_METADATA)
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            yield field.name, kind, name
        elif isinstance(spec, Knob) and kind in _TYPE_NAMES:
            secret = typing.get_origin(kind) is Secret
            yield _Leaf(
                field=field.name,
                name=f"{name}_FILE" if secret else name,
                type=kind,
                optional=optional,
                default=field.default,
                knob=spec,
            )
        else:
            raise TypeError(f"{cls.__name__}.{field.name} is neither a section nor a knob of a known type")


def _leaves(cls: type[Any], prefix: str) -> Iterator[_Leaf]:
    for member in _members(cls, prefix):
        if isinstance(member, _Leaf):
            yield member
        else:
            yield from _leaves(member[1], member[2])


def _without_none(hint: Any) -> tuple[Any, bool]:
    """Split `X | None` into (X, True); any other hint is (hint, False)."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        kinds = [kind for kind in typing.get_args(hint) if kind is not types.NoneType]
        if len(kinds) == 1:
            return kinds[0], True
    return hint, False


class _Loader:
    """One pass over the environment; gathers violations instead of stopping at the first."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.violations: list[str] = []

    def section(self, cls: type[Any], prefix: str) -> object | None:
        """Build a section and run its `check()`; None when any value in it was refused."""
        values: dict[str, object] = {}
        before = len(self.violations)
        for member in _members(cls, prefix):
            if isinstance(member, _Leaf):
                values[member.field] = self._value(member)
            else:
                field, kind, name = member
                values[field] = self.section(kind, name)
        if len(self.violations) > before:
            return None
        built = cls(**values)
        check: Callable[[], Iterable[str]] | None = getattr(built, "check", None)
        if check is not None:
            self.violations.extend(f"{prefix}: {violation}" for violation in check())
        return built

    def _value(self, leaf: _Leaf) -> object | None:
        text = self._environ.get(leaf.name)
        if text is None:
            if leaf.default is dataclasses.MISSING:
                self.violations.append(f"{leaf.name}: required ({_TYPE_NAMES[leaf.type]})")
                return None
            return leaf.default
        if text == "" and leaf.optional:
            return None
        try:
            value = _parse(leaf.type, text)
        except ValueError as error:
            self.violations.append(f"{leaf.name}: {error}")
            return None
        if not leaf.knob.admits(value):
            self.violations.append(f"{leaf.name}: must be {leaf.knob.domain(leaf.type)}")
            return None
        return value


def _parse(kind: Any, text: str) -> object:
    """Turn the text of a variable into a value. Raises ValueError with a message that does not hold the text."""
    if kind is bool:
        if text not in ("true", "false"):
            raise ValueError("must be true or false")
        return text == "true"
    if kind is int:
        if not _WHOLE_NUMBER.fullmatch(text):
            raise ValueError("must be a whole number")
        return int(text)
    if kind is float:
        return _parse_float(text)
    if kind is Path:
        if not text:
            raise ValueError("must be a path")
        return Path(text)
    if kind == tuple[str, ...]:
        return tuple(item.strip() for item in text.split(",") if item.strip())
    if kind == Secret[str]:
        try:
            return Secret(_read_secret(text).decode().removesuffix("\n"))
        except UnicodeDecodeError:
            raise ValueError("the file must hold UTF-8 text") from None
    if kind == Secret[bytes]:
        return Secret(_read_secret(text))
    return text


def _parse_float(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("must be a number") from None
    if not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


def _read_secret(path: str) -> bytes:
    """Read a secret file whole. Raises ValueError when it is not a readable, non-empty file of at most 64 KiB."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(_SECRET_MAX_BYTES + 1)
    except OSError as error:
        raise ValueError(f"the file cannot be read ({error.strerror})") from None
    if not 0 < len(content) <= _SECRET_MAX_BYTES:
        raise ValueError("the file must hold 1 to 65536 bytes")
    return content


def _spell(default: Any) -> str:
    if default is dataclasses.MISSING:
        return "required"
    if default is None:
        return "empty"
    if isinstance(default, bool):
        return "true" if default else "false"
    return ",".join(default) if isinstance(default, tuple) else str(default)
