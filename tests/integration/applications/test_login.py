"""Verifying a code and a passcode, over the wire."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Final

import grpc
import pytest
from prometheus_client import CollectorRegistry

from canopy.applications.v1 import drafts_service_pb2 as pb
from canopy.applications.v1.drafts_service_pb2_grpc import DraftsServiceStub
from canopy.errors.v1.reason_pb2 import Reason
from services.applications import main
from services.applications.config import DraftsConfig, KeysConfig, PasscodesConfig
from services.applications.domain.pepper import Pepper
from services.applications.workers.pepper_rotation import PepperRotation
from services.chassis.envelope import KeyRing
from services.chassis.postgres import Database
from services.kernel.errors import ClientError
from services.kernel.secret import Secret
from services.kernel.tally import tally
from tests.applications import (
    FIXED_VERIFIER,
    PORTAL,
    RunningApplications,
    applications_config,
    key_ring,
    running,
    save_request,
    seed_draft,
)
from tests.mesh import Mesh, reason_of, refused
from tests.postgres import FreshDatabase

EXPIRE: Final = "UPDATE application_drafts SET expires_at = clock_timestamp() WHERE application_id = $1"
FILE: Final = """
INSERT INTO applications (application_id, kind, status, household_id, submitted_by, programs_requested,
                          submission_channel, confidentiality, received_at, filing_date, basis_date, dek_id,
                          wrapped_dek, kek_kid, details)
VALUES ($1, 'initial', 'submitted', gen_random_uuid(), gen_random_uuid(), '{snap}', 'portal', 'standard',
        clock_timestamp(), $2, $2, gen_random_uuid(), '', 'k1', '')
"""


async def opened(service: RunningApplications) -> pb.CreateDraftResponse:
    return await service.drafts.CreateDraft(pb.CreateDraftRequest(request_id=str(uuid.uuid4())))


async def verify(service: RunningApplications, code: str, passcode: str) -> pb.VerifyCredentialsResponse:
    return await service.drafts.VerifyCredentials(pb.VerifyCredentialsRequest(code=code, passcode=passcode))


def another(passcode: str) -> str:
    """Change the last digit."""
    return passcode[:-1] + str((int(passcode[-1]) + 1) % 10)


def hashes(registry: CollectorRegistry) -> float:
    return registry.get_sample_value("canopy_passcode_hashes_total") or 0.0


async def test_credentials_open_their_draft(service: RunningApplications) -> None:
    """DRF-01: the code and the passcode, as they were given or as people type them."""
    draft = await opened(service)
    typed = draft.passcode.replace("-", " ")

    for code, passcode in ((draft.code, draft.passcode), (draft.code.upper().replace("-", " "), typed)):
        verified = await verify(service, code, passcode)

        assert verified == pb.VerifyCredentialsResponse(
            application_id=draft.application_id,
            code=draft.code,
            scope=pb.CredentialScope.CREDENTIAL_SCOPE_DRAFT,
            credential_epoch=1,
        )


async def test_credentials_of_a_filed_draft_open_its_application(
    service: RunningApplications, fresh: FreshDatabase
) -> None:
    """FIN-08: draft gone, application there: the same credentials are its login, and cannot be deleted any more."""
    draft = await opened(service)
    async with fresh.as_owner() as owner:
        await owner.execute(FILE, draft.application_id, date(2026, 12, 1))
        await owner.execute("DELETE FROM application_drafts WHERE application_id = $1", draft.application_id)

        verified = await verify(service, draft.code, draft.passcode)

        assert verified.scope == pb.CredentialScope.CREDENTIAL_SCOPE_APPLICATION
        for table in ("application_id_codes", "passcode_hashes"):
            with pytest.raises(Exception, match="credentials of an application are not removed"):
                await owner.execute(f"DELETE FROM {table}")


async def test_every_failure_is_one_failure_at_one_cost(
    service: RunningApplications, fresh: FreshDatabase, registry: CollectorRegistry
) -> None:
    """DRF-09: one refusal, one statement and one Argon2id run for every cause, as many as for success."""
    live, expired, orphan = await opened(service), await opened(service), await opened(service)
    async with fresh.as_owner() as owner:
        await owner.execute(EXPIRE, expired.application_id)
        await owner.execute("DELETE FROM application_drafts WHERE application_id = $1", orphan.application_id)
    causes: Mapping[str, tuple[str, str]] = {
        "unknown code": ("HH-00000000", live.passcode),
        "wrong passcode": (live.code, another(live.passcode)),
        "passcode of another": (live.code, expired.passcode),
        "expired draft": (expired.code, expired.passcode),
        "expired draft, wrong passcode": (expired.code, live.passcode),
        "draft gone": (orphan.code, orphan.passcode),
        "malformed code": ("HH-12", live.passcode),
        "malformed passcode": (live.code, live.passcode[:-1]),
        "everything malformed": ("?", "?"),
        "nothing": ("", ""),
    }
    answers: set[tuple[object, ...]] = set()
    for credentials in causes.values():
        before = hashes(registry)

        with tally() as counted, pytest.raises(ClientError) as raised:
            await verify(service, *credentials)

        error = raised.value
        public = {key: value for key, value in error.metadata.items() if key != "trace_id"}
        answers.add((error.kind, error.code, error.reason, str(public), error.retry_after))
        assert hashes(registry) - before == 1
        assert counted.statements == 1
    assert len(answers) == 1
    assert next(iter(answers))[2] == Reason.REASON_CREDENTIALS_NOT_ACCEPTED

    before = hashes(registry)
    with tally() as counted:
        await verify(service, live.code, live.passcode)
    assert (hashes(registry) - before, counted.statements) == (1, 1)


async def test_without_the_pepper_nothing_verifies(mesh: Mesh, fresh: FreshDatabase) -> None:
    """DRF-09: whoever has the database alone cannot even test a guess: the right passcode is a fault, not a match."""
    async with running(mesh, applications_config(mesh, fresh)) as service:
        draft = await opened(service)
    for pepper in (key_ring("k1", seed=1), key_ring("k2")):  # another key of the same id; a ring without the id
        keys = KeysConfig(records=key_ring("k1"), pepper=pepper, digests=key_ring("k1"))

        async with running(mesh, applications_config(mesh, fresh, keys=keys)) as service:
            with refused(Reason.REASON_INTERNAL):
                await verify(service, draft.code, draft.passcode)


async def test_the_pepper_rotates_without_a_login(mesh: Mesh, fresh: FreshDatabase, db: Database) -> None:
    """DRF-09: everything under the old key is sealed again under the new one, after which the old one can go."""
    config = applications_config(mesh, fresh, drafts=DraftsConfig(enc_version=2))
    async with running(mesh, config) as service:
        drafts = [await opened(service) for _ in range(3)]
    rotation = PepperRotation(db, Pepper(KeyRing.parse(key_ring("k2", "k1").reveal())), batch=2)

    sealed, again = await rotation.run_once(), await rotation.run_once()

    assert (sealed, again) == (6, 0)  # a verifier and a key share each
    keys = KeysConfig(records=key_ring("k1"), pepper=key_ring("k2"), digests=key_ring("k1"))
    async with running(mesh, applications_config(mesh, fresh, keys=keys)) as service:
        for draft in drafts:
            assert (await verify(service, draft.code, draft.passcode)).application_id == draft.application_id
            stored = await service.drafts.GetDraft(pb.GetDraftRequest(application_id=draft.application_id))
            assert stored.server_share == draft.server_share


async def test_two_processes_rotate_at_once(db: Database, fresh: FreshDatabase) -> None:
    """DRF-09: replicas share the work: neither waits for the other, nothing is left and nothing sealed in vain."""
    pepper = Pepper(KeyRing.parse(key_ring("k1").reveal()))
    for _ in range(20):
        application_id = uuid.uuid4()
        sealed = pepper.seal_verifier(application_id, Secret(bytes(32)))
        await seed_draft(db, application_id=application_id, verifier=replace(FIXED_VERIFIER, sealed=sealed))
    ring = Pepper(KeyRing.parse(key_ring("k2", "k1").reveal()))

    done = await asyncio.gather(*(PepperRotation(db, ring, batch=3).run_once() for _ in range(2)))

    assert sum(done) == 20
    async with fresh.as_owner() as owner:
        assert await owner.fetchval("SELECT array_agg(DISTINCT pepper_kid) FROM passcode_hashes") == ["k2"]


async def test_another_call_is_answered_while_a_passcode_is_hashed(
    mesh: Mesh, fresh: FreshDatabase, db: Database, registry: CollectorRegistry
) -> None:
    """DRF-09: hashing leaves the event loop alone."""
    draft = await seed_draft(db)
    costly = PasscodesConfig(memory_kib=262_144, passes=6)
    async with running(mesh, applications_config(mesh, fresh, passcodes=costly)) as service:
        before = hashes(registry)
        answered = 0
        verifying = asyncio.ensure_future(verify(service, "HH-00000000", "0000-0000-0000"))
        while not verifying.done():
            await service.drafts.GetDraft(pb.GetDraftRequest(application_id=str(draft)))
            answered += hashes(registry) > before and not verifying.done()

    assert isinstance(verifying.exception(), ClientError)
    assert answered > 2  # one may slip in between the end of the hash and its answer


async def test_more_logins_than_the_queue_holds_are_refused(
    mesh: Mesh, fresh: FreshDatabase, registry: CollectorRegistry
) -> None:
    """DRF-09: beyond the queue a login is refused as overload, at the price of no hash; openings queue too."""
    narrow = PasscodesConfig(memory_kib=262_144, passes=6, concurrent=1, queue=0)
    token = mesh.issuer.mint(mesh.issuer.claims(main.NAME, service=PORTAL, azp=PORTAL))
    metadata = (("authorization", f"Bearer {token}"),)  # without our client, which would come back
    before = hashes(registry)
    async with (
        running(mesh, applications_config(mesh, fresh, passcodes=narrow)) as service,
        grpc.aio.insecure_channel(f"127.0.0.1:{service.port}") as channel,
    ):
        stub = DraftsServiceStub(channel)
        logins = [stub.VerifyCredentials(pb.VerifyCredentialsRequest(code=str(n)), metadata=metadata) for n in range(6)]
        openings = [
            stub.CreateDraft(pb.CreateDraftRequest(request_id=str(uuid.uuid4())), metadata=metadata) for _ in range(6)
        ]

        answers = await asyncio.gather(*logins, *openings, return_exceptions=True)

    reasons = [reason_of(answer) for answer in answers if isinstance(answer, BaseException)]
    assert reasons.count("REASON_OVERLOADED") == 12 - (hashes(registry) - before)
    assert reasons.count("REASON_OVERLOADED") > 0
    assert set(reasons) <= {"REASON_OVERLOADED", "REASON_CREDENTIALS_NOT_ACCEPTED"}


async def test_a_full_queue_of_logins_keeps_nobody_from_starting_a_draft(
    mesh: Mesh, fresh: FreshDatabase, db: Database, registry: CollectorRegistry
) -> None:
    """DRF-09: logins and openings hash apart: whoever guesses passcodes does not close the agency."""
    draft = pb.GetDraftRequest(application_id=str(await seed_draft(db)))
    narrow = PasscodesConfig(memory_kib=262_144, passes=6, concurrent=1, queue=0)
    token = mesh.issuer.mint(mesh.issuer.claims(main.NAME, service=PORTAL, azp=PORTAL))
    metadata = (("authorization", f"Bearer {token}"),)  # without our client, which would come back
    before = hashes(registry)
    async with (
        running(mesh, applications_config(mesh, fresh, passcodes=narrow)) as service,
        grpc.aio.insecure_channel(f"127.0.0.1:{service.port}") as channel,
    ):
        stub = DraftsServiceStub(channel)
        guess = asyncio.ensure_future(verify(service, "HH-00000000", "0000-0000-0000"))
        while hashes(registry) == before:
            await service.drafts.GetDraft(draft)
        with refused(Reason.REASON_OVERLOADED):
            await stub.VerifyCredentials(pb.VerifyCredentialsRequest(code="HH-00000001"), metadata=metadata)

        started = await stub.CreateDraft(pb.CreateDraftRequest(request_id=str(uuid.uuid4())), metadata=metadata)

        assert started.code
        await asyncio.wait([guess])


async def test_a_save_does_not_change_what_credentials_open(service: RunningApplications) -> None:
    """DRF-04: code, passcode and epoch are the draft's from its opening to its end."""
    draft = await opened(service)
    before = await verify(service, draft.code, draft.passcode)

    await service.drafts.SaveDraft(save_request(draft.application_id))

    assert await verify(service, draft.code, draft.passcode) == before
