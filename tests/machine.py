"""A whole stack in a home of its own, driven by the command `canopy` alone, and looks into what it left there."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import asyncpg

from services.cli.stack.databases import dsn
from services.cli.stack.home import read_json
from services.cli.stack.parts import is_ready

PATIENCE_SECONDS: Final = 120.0
POLL_SECONDS: Final = 0.05

# What a killed process held keeps others waiting until its lease runs out: in tests only for a moment.
KNOBS: Final = {
    "CANOPY_APPLICATIONS__FINALIZE__LEASE_SECONDS": "1.5",
    "CANOPY_APPLICATIONS__FINALIZE__HEARTBEAT_SECONDS": "0.5",
    "CANOPY_APPLICATIONS__OUTBOX__LEASE_SECONDS": "2",
    "CANOPY_PERSONS__OUTBOX__LEASE_SECONDS": "2",
    "CANOPY_APPLICATIONS__FINALIZE__SWEEP_SECONDS": "0.5",
    "CANOPY_APPLICATIONS__FINALIZE__SWEEP_PATIENCE_SECONDS": "2",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a command said."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Read the output as JSON."""
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Machine:
    """A home, and the command line that works on it."""

    home: Path
    unspeakable: set[str] = field(default_factory=set[str])
    """What tests sent or were given that must never stand in a log."""

    async def canopy(self, *arguments: str, **environ: str) -> Outcome:
        """Run `canopy --home HOME …` from another folder than the checkout."""
        program = (sys.executable, "-P", "-m", "services.cli.main", "--home", str(self.home))
        return await execute(*program, *arguments, environ={**KNOBS, **environ})

    async def status(self) -> Any:
        """Ask for the status as JSON."""
        return (await self.canopy("--json", "status")).json()

    async def until(self, holds: Callable[[Any], bool]) -> Any:
        """Wait until the status is as wished; return it."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not holds(now := await self.status()):
            assert time.monotonic() < end, now
        return now

    async def until_ready(self, holds: Callable[[Any], bool] = lambda _now: True) -> Any:
        """Wait until every part answers that it is ready, and `holds` of what the supervisor says; return that."""
        trust = self.trust()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                now = self.state()
                parts = now["parts"].values()
                if holds(now) and all(part["status"] == "healthy" for part in parts):
                    urls = [url for part in parts for url in part["ready_urls"]]
                    if all(await asyncio.gather(*(is_ready(url, trust) for url in urls))):
                        return now
                await asyncio.sleep(POLL_SECONDS)

    async def until_chosen(self, part: str, port: int) -> None:
        """Wait until a stack that starts has chosen `port` for a part."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while read_json(self.home / "state.json").get("parts", {}).get(part, {}).get("port") != port:  # noqa: ASYNC110
                await asyncio.sleep(POLL_SECONDS)

    def state(self) -> Any:
        """Read what the supervisor last said of the stack."""
        return json.loads((self.home / "state.json").read_text())

    def address(self, name: str) -> str:
        """Return one of the addresses that `up` prints."""
        return self.state()["addresses"][name]

    def pid(self, part: str) -> int:
        """Return the process id of a part that runs."""
        return self.state()["parts"][part]["pid"]

    def secret(self, name: str) -> str:
        """Return a password of the stack."""
        return (self.home / "secrets" / name).read_text().strip()

    def authority(self) -> bytes:
        """Return the certificate authority of the stack's edge, PEM."""
        return Path(self.address("certificate authority")).read_bytes()

    def trust(self) -> ssl.SSLContext:
        """Trust the stack's own certificate authority."""
        return ssl.create_default_context(cadata=self.authority().decode())

    async def token(self, client: str = "canopy-applications") -> str:
        """Fetch a bearer token by the command."""
        issued = await self.canopy("token", "--as", client)
        assert issued.code == 0, issued.err
        self.unspeakable.add(issued.out.strip())
        return issued.out.strip()

    @asynccontextmanager
    async def database(self, name: str) -> AsyncIterator[asyncpg.Connection]:
        """Open a database as its server's administrator; name: for example `canopy_persons`."""
        port = self.state()["parts"]["postgres"]["port"]
        connection = await asyncpg.connect(
            dsn(port, name, "postgres"), password=self.secret("postgres-superuser"), timeout=30
        )
        try:
            yield connection
        finally:
            await connection.close()

    def logged(self) -> str:
        """Return everything in every log file so far."""
        return "\n".join(path.read_text(errors="replace") for path in sorted((self.home / "logs").iterdir()))

    def spoken(self) -> list[str]:
        """List what is unspeakable and yet in a log."""
        text = self.logged()
        return [words for words in self.unspeakable if words in text]


async def execute(*argv: str, environ: Mapping[str, str] | None = None) -> Outcome:
    """Run a program to its end."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd="/",
        env={**os.environ, **(environ or {})},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return Outcome(code=process.returncode or 0, out=out.decode(), err=err.decode())


@contextmanager
def new_home() -> Iterator[Path]:
    """Name a home that the database's own user can reach, which pytest's folders are not when we are root."""
    with tempfile.TemporaryDirectory(prefix="canopy-test-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder) / "home"
