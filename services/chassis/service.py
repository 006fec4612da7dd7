"""A process of the mesh: what it serves, and its life from configuration to drain."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, NoReturn, TypeVar

import grpc
import uvloop
from aiohttp import web
from prometheus_client import CollectorRegistry

from interceptors.server.stack import server_stack
from services.chassis import telemetry
from services.chassis.background import Worker
from services.chassis.config import ConfigError, load
from services.chassis.http_server import serve_http
from services.chassis.ops_http import Check, OpsConfig, serve_ops
from services.chassis.server import BootError, ServerConfig, Servicer, require_policies, serve_grpc
from services.chassis.telemetry import TelemetryConfig
from services.chassis.token_verifier import JwksVerifier
from services.chassis.tokens import IssuerConfig
from services.kernel import failpoint

__all__ = ["ProcessConfig", "Running", "Service", "ServiceConfig", "Servicer", "run", "serving"]

_log: Final = logging.getLogger(__name__)

EXIT_FAILED: Final = 1
EXIT_BOOT: Final = 70  # sysexits: EX_SOFTWARE
EXIT_CONFIG: Final = 78  # sysexits: EX_CONFIG


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessConfig:
    """What every process has."""

    server: ServerConfig
    ops: OpsConfig
    telemetry: TelemetryConfig = field(default_factory=TelemetryConfig)


C = TypeVar("C", bound=ProcessConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceConfig(ProcessConfig):
    """What every gRPC service has; each adds its own sections by inheriting."""

    issuer: IssuerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What a process serves. `name` is its service id, the audience of the tokens it accepts.

    A service speaks gRPC (`servicers`); only the token issuer speaks plain HTTP (`http`).
    checks: conditions of readiness by name, beside those of the chassis.
    """

    name: str
    servicers: Sequence[Servicer] = ()
    http: web.Application | None = None
    workers: Sequence[Worker] = ()
    checks: Mapping[str, Check] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A service that serves; ports as bound."""

    port: int
    ops_port: int


@asynccontextmanager
async def serving(
    service: Service, config: ProcessConfig, *, registry: CollectorRegistry | None = None
) -> AsyncIterator[Running]:
    """Serve until the block ends, then drain: NOT_SERVING, refuse new calls, finish old ones, stop the workers.

    Databases and channels belong to the caller, who opens them around this block: they close last.
    registry: the metrics to expose. Raises BootError when the service must not start.
    """
    require_policies(service.servicers)
    accepting = asyncio.Event()

    async def accepts() -> None:
        if not accepting.is_set():
            raise RuntimeError("starting or draining")

    checks: dict[str, Check] = {"serving": accepts, **service.checks}
    async with AsyncExitStack() as stack:
        if service.http is not None:
            listener = _serve_http(service.http, config.server)
        else:
            verifier = await stack.enter_async_context(JwksVerifier.open(_issuer(config), service.name))
            checks["issuer_keys"] = verifier.require_keys
            listener = serve_grpc(config.server, service.servicers, [_interceptors(service, config, verifier)])
        metrics = registry or CollectorRegistry()
        ops = serve_ops(config.ops, alive=lambda: _alive(service), checks=checks, registry=metrics)
        ops_port = await stack.enter_async_context(ops)
        await stack.enter_async_context(_working(service.workers))
        port = await stack.enter_async_context(listener)
        accepting.set()
        _log.info("serving", extra={"port": port, "ops_port": ops_port})
        try:
            yield Running(port=port, ops_port=ops_port)
        finally:
            accepting.clear()
            _log.info("draining")


def run(name: str, config_type: type[C], build: Callable[[C], AbstractAsyncContextManager[Service]]) -> NoReturn:
    """Run a service as a process, from its environment to SIGTERM; exits 0 after a drain.

    name: the service id; "canopy-persons" reads CANOPY_PERSONS__…. build: opens what the service needs, yields it,
    closes. Exit status 78 lists what is wrong with the configuration, 70 with the contract or the port, on stderr.
    """
    try:
        config = load(config_type, name.upper().replace("-", "_"), os.environ)
    except ConfigError as error:
        print(error, file=sys.stderr)
        sys.exit(EXIT_CONFIG)
    with telemetry.configured(name, config.telemetry) as registry:
        try:
            failpoint.from_environment(os.environ)  # its warning belongs in the log
        except ValueError as error:
            print(error, file=sys.stderr)
            sys.exit(EXIT_CONFIG)
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_until_told(config, build, registry))
        except BootError as error:
            print(error, file=sys.stderr)
            sys.exit(EXIT_BOOT)
        except Exception:  # noqa: BLE001 -- the last line of the process says what ended it, without a message
            _log.exception("the process ends")
            sys.exit(EXIT_FAILED)
    sys.exit(0)


async def _until_told(
    config: C, build: Callable[[C], AbstractAsyncContextManager[Service]], registry: CollectorRegistry
) -> None:
    """Serve until SIGTERM or SIGINT."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    async with build(config) as service, serving(service, config, registry=registry):
        await told.wait()


def _issuer(config: ProcessConfig) -> IssuerConfig:
    if not isinstance(config, ServiceConfig):
        raise TypeError("a gRPC service needs a ServiceConfig")
    return config.issuer


def _interceptors(service: Service, config: ProcessConfig, verifier: JwksVerifier) -> grpc.aio.ServerInterceptor:
    return server_stack(
        [servicer.descriptor for servicer in service.servicers],
        verifier,
        default_deadline_seconds=config.server.default_deadline_seconds,
        max_calls=config.server.max_concurrent_rpcs,
        max_message_bytes=config.server.max_message_bytes,
    )


def _serve_http(application: web.Application, config: ServerConfig) -> AbstractAsyncContextManager[int]:
    return serve_http(
        application,
        config.host,
        config.port,
        drain_seconds=config.drain_seconds,
        grace_seconds=config.grace_seconds,
    )


def _alive(service: Service) -> bool:
    """Tell whether every loop still runs; one that ended needs a restart of the process."""
    return all(worker.running for worker in service.workers)


@asynccontextmanager
async def _working(workers: Sequence[Worker]) -> AsyncIterator[None]:
    """Run the loops; at the end stop all of them at once."""
    try:
        for worker in workers:
            worker.start()
        yield
    finally:
        await asyncio.gather(*(worker.stop() for worker in workers))
