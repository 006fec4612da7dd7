"""What every command shares: the home it works on, how it prints, and how it fails."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import click
from rich.console import Console

from services.cli.stack.home import Home


class Exit(IntEnum):
    """Exit codes of the command line; they do not change."""

    OK = 0
    FAILED = 1
    """It could not be done; one line on stderr says why."""
    USAGE = 2
    """The command was not understood."""
    NOT_RUNNING = 3
    """The stack does not run."""
    UNHEALTHY = 4
    """The stack runs, but a part of it is not ready."""


class Failure(click.ClickException):
    """A command could not do what it was asked. The text is one line for a person."""

    def __init__(self, message: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(" ".join(message.split()))
        self._code = code

    @property
    def exit_code(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] -- click declares a class variable
        """What the process exits with."""
        return self._code

    def show(self, file: Any = None) -> None:
        """Print the one line on stderr."""
        click.echo(f"canopy: {self.message}", file=file or sys.stderr)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """The context of one command."""

    home: Home
    as_json: bool = False
    out: Console = field(default_factory=lambda: Console(highlight=False, soft_wrap=True))
    """Standard output; rich itself honours NO_COLOR and a pipe."""

    def result(self, value: object, text: Callable[[Console], None]) -> None:
        """Print a result: as one JSON document where that was asked for, else as text."""
        if self.as_json:
            click.echo(json.dumps(value, indent=2))
        else:
            text(self.out)
