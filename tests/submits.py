"""Submits for tests: real coordinators over one database, a real persons service, and looks at what they left."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import uuid
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from zoneinfo import ZoneInfo

import asyncpg
import grpc

from canopy.applications.v1 import finalize_service_pb2 as pb
from canopy.applications.v1.application_pb2 import SubmissionChannel
from canopy.applications.v1.finalize_pb2 import FinalizeRequest
from canopy.applications.v1.finalize_service_pb2_grpc import FinalizeServiceStub
from canopy.persons.v1.finalize_service_pb2 import GenerationStatus, GetOperationRequest
from services.applications import main as applications_main
from services.applications.clients.persons import PersonsFinalize
from services.applications.config import AgencyConfig, ApplicationsConfig, FinalizeConfig
from services.applications.domain.claim import Claims
from services.applications.domain.digest import DigestKeys
from services.applications.domain.release import Releases
from services.applications.domain.undo import Undoing
from services.applications.workers.release_sweeper import ReleaseSweeper
from services.chassis import valkey
from services.chassis.channel import ClientConfig
from services.chassis.postgres import Database
from services.chassis.service import Running
from services.cli.stack.valkey import ValkeyServer
from services.kernel import failpoint
from services.kernel.failpoint import Action, Failpoint
from services.kernel.secret import Secret
from services.persons.config import PersonsConfig
from tests.applications import PORTAL, applications_config, seed_draft
from tests.filings import filing
from tests.mesh import Mesh, free_port
from tests.persons import RunningPersons, persons_config
from tests.persons import running as running_persons
from tests.postgres import FreshDatabase
from tests.processes import running_process

if TYPE_CHECKING:  # the stubs know these names, the generated code does not
    from canopy.applications.v1.finalize_service_pb2_grpc import FinalizeServiceAsyncStub

T = TypeVar("T")

PATIENCE: Final = 30  # seconds; only a test that fails waits as long

# Civil days of these two zones are never the same: what one begins, the other resumes on a later day.
EARLIER_ZONE: Final = "Pacific/Pago_Pago"
LATER_ZONE: Final = "Pacific/Kiritimati"

# A lease that lasts longer than any test, unless the test ends it; no sweep but the one at the start.
PATIENT: Final = FinalizeConfig(
    lease_seconds=600, heartbeat_seconds=200, sweep_seconds=3_600, sweep_patience_seconds=0, drain_seconds=0
)
# The shortest lease, for tests that let one run out.
HASTY: Final = replace(PATIENT, lease_seconds=1, heartbeat_seconds=0.1)


END_LEASE: Final = """
UPDATE finalize_operations
   SET lease_expires_at = clock_timestamp()
 WHERE operation_id = $1
   AND holder IS NOT NULL
"""

RECORDED: Final = """
SELECT generation, step_key, person_id AS entity, lower(valid) AS starts FROM person_versions WHERE operation_id = $1
UNION ALL
SELECT generation, step_key, household_id, lower(valid) FROM household_versions WHERE operation_id = $1
UNION ALL
SELECT generation, step_key, fact_id, lower(valid) FROM member_versions WHERE operation_id = $1
UNION ALL
SELECT generation, step_key, fact_id, lower(valid) FROM income_versions WHERE operation_id = $1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator:
    """One applications process, called as the portal calls it but without retries: a test sees every answer."""

    running: Running
    stub: FinalizeServiceAsyncStub
    token: str

    async def submit(
        self, application_id: uuid.UUID, request: FinalizeRequest | None = None, *, within: float = 60, **changes: Any
    ) -> pb.FilingReceipt:
        """Submit a draft; `changes` replace fields of the call. within: seconds, the client's deadline."""
        call = finalize_call(application_id, request, **changes)
        return (await self.stub.FinalizeApplication(call, metadata=self.metadata, timeout=within)).receipt

    async def operation(self, application_id: uuid.UUID) -> pb.GetFinalizeOperationResponse:
        """Ask where the submit of a draft stands."""
        request = pb.GetFinalizeOperationRequest(application_id=str(application_id))
        return await self.stub.GetFinalizeOperation(request, metadata=self.metadata)

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What shows the portal's service token."""
        return (("authorization", f"Bearer {self.token}"),)


def finalize_call(
    application_id: uuid.UUID, request: FinalizeRequest | None = None, **changes: Any
) -> pb.FinalizeApplicationRequest:
    """Build the call that submits a draft which was never saved, as staff do: they may name who is on record."""
    fields: dict[str, Any] = {
        "application_id": str(application_id),
        "expected_revision": 0,
        "channel": SubmissionChannel.SUBMISSION_CHANNEL_IN_PERSON,
        "request": filing() if request is None else request,
    }
    return pb.FinalizeApplicationRequest(**{**fields, **changes})


@dataclass(slots=True, kw_only=True)
class World:
    """Both services on fresh databases. `first` and `second` are coordinators over one database, on different days."""

    mesh: Mesh
    bus: ValkeyServer
    fresh: FreshDatabase
    persons_fresh: FreshDatabase
    db: Database
    persons_db: Database
    persons_settings: PersonsConfig
    persons: RunningPersons = field(init=False)
    first: Coordinator = field(init=False)
    second: Coordinator = field(init=False)
    _persons_life: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def start_persons(self) -> None:
        """Start the persons service, or start it again where it listened before."""
        self.persons = await self._persons_life.enter_async_context(running_persons(self.mesh, self.persons_settings))
        # Channels of one process to one address share their connection, and its pause after a failed attempt.
        await self.persons.channel.channel_ready()

    async def stop_persons(self) -> None:
        """Stop the persons service: calls to it fail from now on."""
        await self._persons_life.aclose()

    def config(self, **sections: Any) -> ApplicationsConfig:
        """Configure a coordinator of this world; `sections` replace the defaults."""
        defaults: dict[str, Any] = {
            "persons": ClientConfig(target=f"127.0.0.1:{self.persons_settings.server.port}"),
            "valkey": valkey.ValkeyConfig(url=self.bus.url(), password=self.bus.password),
            "agency": AgencyConfig(time_zone=EARLIER_ZONE),
            "finalize": PATIENT,
        }
        return applications_config(self.mesh, self.fresh, **{**defaults, **sections})

    @asynccontextmanager
    async def coordinator(self, **sections: Any) -> AsyncIterator[Coordinator]:
        """Run a coordinator in this process."""
        async with (
            self.mesh.serve(applications_main.build, self.config(**sections)) as running,
            self.dial(running) as coordinator,
        ):
            yield coordinator

    @asynccontextmanager
    async def dial(self, running: Running) -> AsyncIterator[Coordinator]:
        """Open a plain channel to a coordinator, with the portal's token."""
        issuer = self.mesh.issuer
        claims = issuer.claims(applications_main.NAME, sub=PORTAL, azp=PORTAL, service=PORTAL)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel:
            yield Coordinator(running=running, stub=FinalizeServiceStub(channel), token=issuer.mint(claims))

    @asynccontextmanager
    async def process(
        self, folder: Path, *failpoints: str, **sections: Any
    ) -> AsyncIterator[tuple[Process, Coordinator]]:
        """Run a coordinator as a process of its own, with failpoints such as "applications.after_claim=kill" armed.

        folder: an empty one, for its secrets.
        """
        environ = environ_from(self.config(**sections), "CANOPY_APPLICATIONS", folder)
        armed = {failpoint.VARIABLE: ";".join(failpoints)}
        async with (
            running_process("services.applications.main", {**environ, **armed}) as (process, running),
            self.dial(running) as coordinator,
        ):
            yield process, coordinator

    async def draft(self) -> uuid.UUID:
        """Open a draft."""
        return await seed_draft(self.db)

    async def stop_at(self, point: Failpoint, how: Action, work: Coroutine[Any, Any, object]) -> None:
        """Let `work` come to `point` and stop there for good, as `how` says."""
        with failpoint.arm(point, how) as arming:
            task = asyncio.create_task(work)
            await reached(arming)
            if how is Action.HANG:
                task.cancel()
            with contextlib.suppress(grpc.aio.AioRpcError, asyncio.CancelledError):
                await task

    async def end_lease(self, application_id: uuid.UUID) -> None:
        """Let the lease of an attempt, where it has one, have run out a moment ago."""
        async with self.fresh.as_owner() as connection:
            await connection.execute(END_LEASE, application_id)

    async def row(self, application_id: uuid.UUID) -> asyncpg.Record:
        """Read the operation's row."""
        row = await self.db.fetchrow("SELECT * FROM finalize_operations WHERE operation_id = $1", application_id)
        assert row is not None
        return row

    async def attempts(self, application_id: uuid.UUID) -> Sequence[asyncpg.Record]:
        """Read the operation's attempts, oldest first."""
        sql = "SELECT * FROM finalize_attempts WHERE operation_id = $1 ORDER BY generation"
        return await self.db.fetch(sql, application_id)

    async def sweep(self) -> None:
        """Run one pass of the sweeper."""
        config, persons = self.config(), PersonsFinalize(self.persons.channel)
        claims = Claims(
            db=self.db,
            keys=DigestKeys.parse(config.keys.digests.reveal()),
            lease_seconds=config.finalize.lease_seconds,
            zone=ZoneInfo(config.agency.time_zone),
        )
        sweeper = ReleaseSweeper(
            claims=claims,
            releases=Releases(db=self.db, persons=persons),
            undoing=Undoing(db=self.db, persons=persons),
            patience_seconds=0,
        )
        await sweeper.sweep()

    async def recorded(self, application_id: uuid.UUID) -> Sequence[asyncpg.Record]:
        """Read every version that a submit left in persons: generation, step_key, entity, starts."""
        return await self.persons_db.fetch(RECORDED, application_id)

    async def generations(self, application_id: uuid.UUID) -> Sequence[GenerationStatus]:
        """Ask persons where the generations of a submit stand."""
        request = GetOperationRequest(operation_id=str(application_id))
        return (await self.persons.finalize.GetOperation(request)).generations

    async def count(self, table: str) -> int:
        """Count the rows of a table of the applications service."""
        return await self.db.fetchval(f"SELECT count(*) FROM {table}")

    async def count_persons(self, table: str) -> int:
        """Count the rows of a table of the persons service."""
        return await self.persons_db.fetchval(f"SELECT count(*) FROM {table}")


async def reached(arming: failpoint.Arming) -> None:
    """Wait until a task has come to the point; a test whose point is never reached fails instead of hanging."""
    async with asyncio.timeout(PATIENCE):
        await arming.reached()


@asynccontextmanager
async def paused(point: Failpoint, work: Coroutine[Any, Any, T]) -> AsyncIterator[Paused[T]]:
    """Let `work` run until it comes to `point`, and stand there until it is resumed or the block ends."""
    with failpoint.arm(point, Action.PAUSE) as arming:
        task = asyncio.create_task(work)
        await reached(arming)
        yield Paused(task=task, arming=arming)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused(Generic[T]):
    """Work that stands at a failpoint."""

    task: asyncio.Task[T]
    arming: failpoint.Arming

    async def resume(self) -> T:
        """Let it go on, to its end."""
        self.arming.resume()
        return await self.task


def environ_from(section: Any, prefix: str, folder: Path) -> dict[str, str]:
    """Spell a configuration as the environment that loads it; secrets become files in `folder`."""
    environ: dict[str, str] = {}
    for each in dataclasses.fields(section):
        name, value = f"{prefix}__{each.name.upper()}", getattr(section, each.name)
        if dataclasses.is_dataclass(value):
            environ |= environ_from(value, name, folder)
        elif isinstance(value, Secret):
            content = value.reveal()
            path = folder / name.lower()
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            environ[f"{name}_FILE"] = str(path)
        elif isinstance(value, tuple):
            environ[name] = ",".join(value)
        elif value is not None:
            environ[name] = str(value)
    return environ


@asynccontextmanager
async def world(
    mesh: Mesh, bus: ValkeyServer, fresh: FreshDatabase, persons_fresh: FreshDatabase
) -> AsyncIterator[World]:
    """Start persons and two coordinators."""
    settings = persons_config(mesh, persons_fresh, bus)
    async with AsyncExitStack() as stack:
        made = World(
            mesh=mesh,
            bus=bus,
            fresh=fresh,
            persons_fresh=persons_fresh,
            db=await stack.enter_async_context(Database.open(fresh.service)),
            persons_db=await stack.enter_async_context(Database.open(persons_fresh.service)),
            persons_settings=replace(settings, server=replace(settings.server, port=free_port())),
        )
        stack.push_async_callback(made.stop_persons)
        await made.start_persons()
        made.first = await stack.enter_async_context(made.coordinator())
        made.second = await stack.enter_async_context(made.coordinator(agency=AgencyConfig(time_zone=LATER_ZONE)))
        yield made
