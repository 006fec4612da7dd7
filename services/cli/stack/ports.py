"""The ports of a stack: chosen once, kept in the home, and used again as long as they are free."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from services.cli.stack.home import Home, read_json, write_atomically
from services.cli.stack.process import PortTakenError, free_port, require_free_port


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPort:
    """A port that the operator asked for, with the option that says so."""

    number: int
    option: str


def choose_ports(
    home: Home, names: Iterable[str], fixed: Mapping[str, FixedPort], preferred: Mapping[str, int]
) -> dict[str, int]:
    """Choose a free loopback port for each name and keep the choice in the home.

    fixed: what the operator asked for; preferred: what to try at the first start.

    Raises PortTakenError when a fixed one is taken, or two names ask for the same.
    """
    kept = read_json(home.ports)
    chosen: dict[str, int] = {}
    for name, port in fixed.items():
        if port.number in chosen.values():
            raise PortTakenError(f"{port.option} {port.number}: another part has this port already")
        if not _is_free(port.number):
            raise PortTakenError(f"{port.option} {port.number}: another program listens on this port")
        chosen[name] = port.number
    for name in names:
        if name not in chosen:
            before = kept.get(name, preferred.get(name))
            usable = isinstance(before, int) and before not in chosen.values() and _is_free(before)
            chosen[name] = before if usable else _another(chosen)
    write_atomically(home.ports, json.dumps(chosen, indent=2, sort_keys=True) + "\n")
    return chosen


def _is_free(port: int) -> bool:
    try:
        require_free_port("", port)
    except PortTakenError:
        return False
    return True


def _another(chosen: Mapping[str, int]) -> int:
    while (port := free_port()) in chosen.values():
        pass
    return port
