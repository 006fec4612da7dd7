"""The process that owns a running stack: starts the parts in order, restarts what dies, stops in reverse.

`canopy up` starts it detached: `python -m services.cli.stack.supervisor HOME OPTIONS-AS-JSON`. It tells the world
through state.json alone, holds the home's lock for its whole life, and ends on SIGTERM or SIGINT. Where the kernel
can (Linux), its children die with it, however it ends.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import json
import logging
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from services.cli.stack import databases, parts, state
from services.cli.stack.certificate import ensure_certificates
from services.cli.stack.home import Home, HomeLock
from services.cli.stack.parts import Part, Started
from services.cli.stack.plan import LISTENERS, Options, Plan, prepare
from services.cli.stack.process import LOOPBACK, PORT_ATTEMPTS, PortTakenError, StackError
from services.cli.stack.state import PartState, PartStatus, StackState, StackStatus

# Between the end of a part and its next start: doubled each time, and reset once it ran for a while.
FIRST_BACKOFF_SECONDS: Final = 0.5
MAX_BACKOFF_SECONDS: Final = 30.0
STEADY_SECONDS: Final = 60.0
HOME_SECONDS: Final = 1.0

EXIT_FAILED: Final = 1
EXIT_HELD: Final = 3

_log: Final = logging.getLogger("canopy.supervisor")


class Supervisor:
    """One run of one stack."""

    def __init__(self, home: Home, options: Options) -> None:
        self._home: Final = home
        self._options: Final = options
        self._started: Final[dict[str, Started]] = {}
        self._stages: Sequence[Sequence[Part]] = ()
        self._state = StackState(
            status=StackStatus.STARTING,
            supervisor=0,
            started_at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            parts={},
        )

    async def run(self, supervisor: int) -> int:
        """Bring the stack up, keep it up until told to stop, take it down; return the exit code.

        supervisor: our process id. The caller holds the home's lock.
        """
        self._publish(supervisor=supervisor)
        told = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, told.set)
        work = asyncio.create_task(self._bring_up_and_watch())
        ends = [work, asyncio.create_task(told.wait()), asyncio.create_task(self._home_removed())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        failure = work.exception() if work.done() else None
        for task in ends:
            task.cancel()
        await asyncio.gather(*ends, return_exceptions=True)
        if failure is None:
            self._publish(status=StackStatus.STOPPING)
        await self._take_down()
        if failure is None:
            self._home.state.unlink(missing_ok=True)
            return 0
        _log.error("%s", _one_line(failure), exc_info=None if _is_expected(failure) else failure)
        self._publish(status=StackStatus.FAILED, error=_one_line(failure))
        return EXIT_FAILED

    async def _home_removed(self) -> None:
        """Return once somebody has removed the home: nothing could find this stack any more, or stop it."""
        while self._home.lock.exists():  # noqa: ASYNC110 -- nothing tells when a file goes
            await asyncio.sleep(HOME_SECONDS)
        _log.warning("the home is gone: stopping")

    async def _bring_up_and_watch(self) -> None:
        every = await self._bring_up()
        self._publish(status=StackStatus.RUNNING)
        async with asyncio.TaskGroup() as group:
            for part in every:
                group.create_task(self._keep(part))

    async def _bring_up(self) -> Sequence[Part]:
        """Start every part; begin again on other ports where another program was faster to take one of ours."""
        attempts = 0
        while True:
            plan = await asyncio.to_thread(prepare, self._home, self._options)
            attempts += 1
            try:
                return await self._bring_up_once(plan)
            except (PortTakenError, BaseExceptionGroup) as error:
                if attempts == PORT_ATTEMPTS or not isinstance(_first(error), PortTakenError):
                    raise
                _log.warning("%s; trying other ports", _one_line(error))
            await self._take_down()
            self._started.clear()

    async def _bring_up_once(self, plan: Plan) -> Sequence[Part]:
        certificates = await asyncio.to_thread(ensure_certificates, self._home.tls, dt.datetime.now(dt.UTC))
        issuer = [parts.service(plan, "identity")]
        services = [parts.service(plan, name) for name in ("persons", "applications", "portal")]
        self._stages = (parts.stores(plan), issuer, services, [parts.edge(plan, certificates)])
        every = [part for stage in self._stages for part in stage]
        self._publish(
            parts={part.name: PartState(port=part.port, ready_urls=part.ready_urls) for part in every},
            addresses=_addresses(plan, certificates.authority),
            notices=self._state.notices or plan.notices,
        )
        for number, stage in enumerate(self._stages):
            async with asyncio.TaskGroup() as group:
                for part in stage:
                    group.create_task(self._start(part))
            if number == 0:
                await databases.migrate(self._home, plan.ports["postgres"])
        return every

    async def _start(self, part: Part) -> None:
        self._part(part, status=PartStatus.STARTING)
        try:
            started = await part.start()
        except StackError as error:
            self._part(part, status=PartStatus.FAILED, detail=_one_line(error), pid=None)
            raise
        self._started[part.name] = started
        self._part(part, status=PartStatus.HEALTHY, detail="", pid=started.process.pid)

    async def _keep(self, part: Part) -> None:
        """Start the part again each time it ends, for as long as we live."""
        backoff = FIRST_BACKOFF_SECONDS
        while True:
            began = time.monotonic()
            code = await self._started[part.name].process.wait()
            if time.monotonic() - began > STEADY_SECONDS:
                backoff = FIRST_BACKOFF_SECONDS
            restarts = self._state.parts[part.name].restarts + 1
            detail = f"ended with code {code}; next start in {backoff:g} s"
            _log.warning("%s %s", part.name, detail)
            self._part(part, status=PartStatus.RESTARTING, detail=detail, pid=None, restarts=restarts)
            while True:
                await asyncio.sleep(backoff)
                backoff = min(backoff * 2, MAX_BACKOFF_SECONDS)
                try:
                    await self._start(part)
                except StackError as error:
                    _log.warning("%s", error)
                    self._part(part, status=PartStatus.RESTARTING, detail=_one_line(error))
                else:
                    break

    async def _take_down(self) -> None:
        for stage in reversed(self._stages):
            await asyncio.gather(*(self._stop(part) for part in stage))

    async def _stop(self, part: Part) -> None:
        started = self._started.get(part.name)
        if started is not None:
            await started.stop()
            self._part(part, status=PartStatus.STOPPED, pid=None)

    def _part(self, part: Part, **changes: Any) -> None:
        changed = dataclasses.replace(self._state.parts[part.name], **changes)
        self._publish(parts={**self._state.parts, part.name: changed})

    def _publish(self, **changes: Any) -> None:
        self._state = dataclasses.replace(self._state, **changes)
        if self._home.root.is_dir():
            state.save(self._home, self._state)


def supervise(home: Home, options: Options) -> int:
    """Run a stack in this process until it is told to stop; return the exit code, EXIT_HELD when it runs already."""
    home.make()
    lock = HomeLock.take(home)
    if lock is None:
        return EXIT_HELD
    try:
        return asyncio.run(Supervisor(home, options).run(lock.holder))
    finally:
        lock.release()


def _addresses(plan: Plan, authority: Path) -> dict[str, str]:
    urls = {listener: f"https://localhost:{plan.ports[listener]}" for listener in LISTENERS}
    grpc = {name: f"http://{LOOPBACK}:{plan.ports[name]}" for name in ("persons", "applications", "portal")}
    bus = f"redis://{LOOPBACK}:{plan.ports['valkey-bus']}/0"
    return {**urls, "certificate authority": str(authority), "issuer": plan.issuer, **grpc, "bus": bus}


def _first(error: BaseException) -> BaseException:
    """Of several failures, the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _is_expected(error: BaseException) -> bool:
    return isinstance(_first(error), StackError)


def _one_line(error: BaseException) -> str:
    """Say in one line what went wrong."""
    first = _first(error)
    return str(first) if isinstance(first, StackError) else f"{type(first).__name__}: {first}".splitlines()[0]


def main() -> None:
    """Run detached: arguments are the home and the options as JSON."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    home, options = sys.argv[1:]
    sys.exit(supervise(Home.at(Path(home)), Options(**json.loads(options))))


if __name__ == "__main__":
    main()
