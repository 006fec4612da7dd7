"""Files that are not Python: in the checkout where they are written, inside the package where it was installed."""

from __future__ import annotations

from pathlib import Path

import canopy


def shipped(path: str) -> Path:
    """Find a file or folder by its path in the checkout, for example "migrations" or "gen/canopy.binpb".

    A wheel carries it under its last name (pyproject.toml, force-include).
    """
    checkout = Path(__file__).parents[2]
    if (checkout / "pyproject.toml").is_file():
        return checkout / path
    return Path(next(iter(canopy.__path__))) / "_data" / Path(path).name
