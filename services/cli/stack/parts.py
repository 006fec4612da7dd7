"""How each part of the stack is started, asked whether it is ready, and stopped."""

from __future__ import annotations

import json
import os
import signal
import ssl
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import aiohttp

from services.cli.stack.certificate import Certificates
from services.cli.stack.edge_routes import contract_path, read_rules
from services.cli.stack.envoy import Address, EdgeSettings, edge_config
from services.cli.stack.envoy_program import envoy_program
from services.cli.stack.home import write_atomically
from services.cli.stack.plan import LISTENERS, SERVICES, Plan
from services.cli.stack.postgres import PostgresConfig, PostgresServer
from services.cli.stack.process import LOOPBACK, Command, ServerProcess
from services.cli.stack.valkey import Role, ValkeyConfig, ValkeyServer

READY_SECONDS: Final = 60.0
STOP_SECONDS: Final = 25.0
_PROBE_SECONDS: Final = 5.0


class Started(Protocol):
    """A part that runs."""

    process: ServerProcess

    async def stop(self) -> None:
        """End it in its own orderly way."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One process of the stack. `start` returns once the part is ready, or raises StackError."""

    name: str
    port: int
    ready_urls: tuple[str, ...]
    """Where readiness is asked; none for the stores, which are asked in their own protocol."""
    start: Callable[[], Awaitable[Started]]


class Launched:
    """A process that ends on SIGTERM."""

    def __init__(self, process: ServerProcess) -> None:
        self.process = process

    async def stop(self) -> None:
        """Let it drain, then make it end."""
        await self.process.stop(signal.SIGTERM, grace=STOP_SECONDS)


def stores(plan: Plan) -> list[Part]:
    """List the parts that hold data: they start first and stop last."""
    home = plan.home.root

    async def postgres() -> Started:
        return await PostgresServer.start(PostgresConfig(home=home, port=plan.ports["postgres"], die_with_parent=True))

    def valkey(role: Role) -> Part:
        name = f"valkey-{role}"

        async def start() -> Started:
            return await ValkeyServer.start(
                ValkeyConfig(home=home, role=role, port=plan.ports[name], die_with_parent=True)
            )

        return Part(name=name, port=plan.ports[name], ready_urls=(), start=start)

    database = Part(name="postgres", port=plan.ports["postgres"], ready_urls=(), start=postgres)
    return [database, valkey("sessions"), valkey("bus")]


def service(plan: Plan, name: str) -> Part:
    """Build a service of ours: a Python process with an operators' port that answers when it is ready."""
    ready_urls = (f"http://{LOOPBACK}:{plan.ports[f'{name}-ops']}/readyz",)

    async def start() -> Started:
        command = Command(
            name=name,
            argv=[sys.executable, "-P", "-m", f"services.{name}.main"],
            log=plan.home.logs / f"{name}.log",
            working_directory=plan.home.root,
            environment={**_base_environment(), **plan.environments[name]},
            die_with_parent=signal.SIGTERM,
        )
        return await _ready(command, ready_urls, None)

    return Part(name=name, port=plan.ports[name], ready_urls=ready_urls, start=start)


def edge(plan: Plan, certificates: Certificates) -> Part:
    """Build the edge; it is ready when both listeners find their services ready."""
    trust = ssl.create_default_context(cafile=str(certificates.authority))
    public, staff = (Address(host=LOOPBACK, port=plan.ports[listener]) for listener in LISTENERS)
    ready_urls = tuple(f"https://{LOOPBACK}:{listener.port}/readyz" for listener in (public, staff))

    async def start() -> Started:
        contract = contract_path()
        settings = EdgeSettings(
            public=public,
            staff=staff,
            certificate=certificates.certificate,
            private_key=certificates.private_key,
            contract=contract,
            upstreams={name: Address(host=LOOPBACK, port=plan.ports[name]) for name in SERVICES},
            # Relative, since a socket's whole path must fit into 107 bytes.
            admin=Path("edge-admin.sock"),
            access_log=plan.home.logs / "edge-access.jsonl",
        )
        config = plan.home.root / "edge.json"
        write_atomically(config, json.dumps(edge_config(settings, read_rules(contract.read_bytes())), indent=1))
        command = Command(
            name="edge",
            argv=[str(envoy_program()), "-c", str(config), "--disable-hot-restart", "--log-level", "warning"],
            log=plan.home.logs / "edge.log",
            working_directory=plan.home.root,
            environment=_base_environment(),
            die_with_parent=signal.SIGTERM,
        )
        return await _ready(command, ready_urls, trust)

    return Part(name="edge", port=public.port, ready_urls=ready_urls, start=start)


async def is_ready(url: str, trust: ssl.SSLContext | None) -> bool:
    """Ask a part whether it is ready; no answer is a no. trust: whom to trust, for https."""
    timeout = aiohttp.ClientTimeout(total=_PROBE_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, ssl=trust if trust is not None else True) as response,
        ):
            return response.status == 200
    except (aiohttp.ClientError, TimeoutError, OSError):
        return False


async def _ready(command: Command, urls: tuple[str, ...], trust: ssl.SSLContext | None) -> Launched:
    async def probe() -> bool:
        return all([await is_ready(url, trust) for url in urls])

    process = ServerProcess.start(command)
    try:
        await process.until_ready(probe, within=READY_SECONDS)
    except BaseException:
        await process.kill()
        raise
    return Launched(process)


def _base_environment() -> dict[str, str]:
    """Pass on what a Python process needs from ours, and nothing else: no variable changes a part unseen."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH", "VIRTUAL_ENV") if name in os.environ}
    return {**kept, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
