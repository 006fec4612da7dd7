"""Write docs/configuration.md: every knob of every service, from the fields that declare it.

Run as `python docs/render.py` (part of `make gen`); with `--check` it only says whether the page is up to date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from services.applications.config import ApplicationsConfig
from services.chassis.config import Row, rows
from services.identity.config import IdentityConfig
from services.persons.config import PersonsConfig
from services.portal.config import PortalConfig

PAGE: Final = Path(__file__).with_name("configuration.md")
HEADER: Final = """\
<!-- Made from the config.py of each service by `make gen`. Do not edit. -->

# Configuration

Environment variables. One that ends in `_FILE` names a file that holds the secret. A value outside its domain, and a
variable that nobody knows, stop the start with exit code 78 and one line each.
"""
SERVICES: Final[Mapping[str, type[Any]]] = {
    "identity": IdentityConfig,
    "persons": PersonsConfig,
    "applications": ApplicationsConfig,
    "portal": PortalConfig,
}


def page() -> str:
    """Return the whole page."""
    return "\n".join([HEADER, *(line for name, config in SERVICES.items() for line in _section(name, config))])


def _section(name: str, config: type[Any]) -> Iterator[str]:
    prefix = f"CANOPY_{name.upper()}"
    yield f"## {name}\n\nEach name below begins with `{prefix}__`.\n"
    yield "| variable | what | type | default | domain |\n|---|---|---|---|---|"
    for row in rows(config, prefix):
        yield _line(row, row.name.removeprefix(f"{prefix}__"))
    yield ""


def _line(row: Row, name: str) -> str:
    default = row.default if row.default in ("required", "empty") else f"`{row.default}`"
    kind = f"{row.type}, {row.unit}" if row.unit else row.type
    domain = row.domain.replace("|", "\\|")
    return f"| `{name}` | {row.doc} | {kind} | {default} | {domain} |"


def main(arguments: list[str]) -> int:
    """Bring the page up to date, or say that it is not."""
    text = page()
    if "--check" not in arguments:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.stderr.write(f"{PAGE} differs from the services' config.py: run `make gen`\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
