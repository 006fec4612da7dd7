"""Services as real processes, watched through their log lines."""

from __future__ import annotations

import json
import os
import sys
from asyncio import create_subprocess_exec
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from services.chassis.service import Running

ROOT = Path(__file__).parents[1]


def environ_of(service: str, **knobs: object) -> dict[str, str]:
    """Name knobs given as `section__knob`; `service` is, for example, CANOPY_PROBE. Free ports, no drain time."""
    given = {"server__port": 0, "server__drain_seconds": 0, "ops__port": 0, **knobs}
    return {f"{service}__{name.upper()}": str(value) for name, value in given.items()}


async def start(module: str, environ: dict[str, str]) -> Process:
    """Start `python -m module`."""
    return await create_subprocess_exec(
        sys.executable, "-m", module, cwd=ROOT, env={**os.environ, **environ}, stdout=PIPE, stderr=PIPE
    )


async def until(process: Process, event: str) -> dict[str, Any]:
    """Read log lines until one says `event`; returns it."""
    assert process.stderr is not None
    while text := await process.stderr.readline():
        line = json.loads(text)
        if line["event"] == event:
            return line
    raise AssertionError(f"the process ended without saying {event!r}")


@asynccontextmanager
async def running_process(module: str, environ: dict[str, str]) -> AsyncIterator[tuple[Process, Running]]:
    """Run a service; yields it once it serves, and kills it at the end if it still runs."""
    process = await start(module, environ)
    try:
        line = await until(process, "serving")
        yield process, Running(port=line["port"], ops_port=line["ops_port"])
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def failed_start(module: str, environ: dict[str, str]) -> tuple[int, str]:
    """Run a service that must not start; returns its exit status and what it wrote to stderr."""
    process = await start(module, environ)
    _, said = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()
