"""Reading a filed application, over the wire."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime
from typing import Final

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from canopy.applications.v1 import applications_service_pb2 as pb
from canopy.applications.v1.application_pb2 import (
    Application,
    ApplicationStatus,
    Confidentiality,
    Determination,
    DeterminationState,
    FilingKind,
    Program,
    SubmissionChannel,
)
from canopy.applications.v1.applications_service_pb2_grpc import ApplicationsServiceStub
from canopy.errors.v1.reason_pb2 import Reason
from services.applications import main
from services.applications.store import filings
from services.applications.store.filings import Filing
from services.chassis.postgres import Database
from services.chassis.postgres_transaction import Transaction
from services.kernel.tally import tally
from tests.applications import RunningApplications, applications_config, running, seed_draft
from tests.mesh import Mesh, refused
from tests.postgres import FreshDatabase

ANA, BEN = sorted(uuid.UUID(int=number) for number in (1, 2))
RECEIVED: Final = datetime(2026, 12, 1, 14, 30, tzinfo=UTC)
DECIDE: Final = """
UPDATE application_determinations
   SET state = 'approved', decided_on = $2, reason = 'eligible', effective_from = $2, notice_date = $2
 WHERE application_id = $1
   AND person_id = $3
   AND program = 'child_care'
"""


async def file(db: Database, application_id: uuid.UUID) -> Filing:
    filing = Filing(
        application_id=application_id,
        kind="initial",
        household_id=uuid.uuid4(),
        submitted_by=ANA,
        programs_requested=["snap", "child_care"],
        channel="in_person",
        confidentiality="address_confidential",
        received_at=RECEIVED,
        filing_date=date(2026, 12, 1),
        basis_date=date(2026, 12, 1),
        dek_id=uuid.uuid4(),
        wrapped_dek=b"wrapped",
        kek_kid="k1",
        details=b"details",
    )

    async def work(tx: Transaction) -> None:
        await filings.insert_application(tx, filing)
        await filings.insert_determinations(tx, application_id, [(ANA, "snap"), (BEN, "snap"), (BEN, "child_care")])

    await db.transact("file", work)
    return filing


async def get(service: RunningApplications, application_id: uuid.UUID) -> Application:
    request = pb.GetApplicationRequest(application_id=str(application_id))
    return (await service.applications.GetApplication(request)).application


async def test_an_application_is_served_with_its_determinations(
    service: RunningApplications, db: Database, fresh: FreshDatabase
) -> None:
    """APP-02: one determination per person and program; what was asked for is their union."""
    application_id = await seed_draft(db)
    filing = await file(db, application_id)
    async with fresh.as_owner() as owner:
        await owner.execute(DECIDE, application_id, date(2026, 12, 9), BEN)
        code = await owner.fetchval("SELECT code FROM application_id_codes")

    with tally() as counted:
        application = await get(service, application_id)

    received_at = Timestamp()
    received_at.FromDatetime(RECEIVED)
    pending, day = DeterminationState.DETERMINATION_STATE_PENDING, "2026-12-09"
    assert counted.statements == 1
    assert application == Application(
        application_id=str(application_id),
        code=code,
        kind=FilingKind.FILING_KIND_INITIAL,
        status=ApplicationStatus.APPLICATION_STATUS_SUBMITTED,
        household_id=str(filing.household_id),
        submitted_by=str(ANA),
        programs_requested=[Program.PROGRAM_SNAP, Program.PROGRAM_CHILD_CARE],
        determinations=[
            Determination(person_id=str(ANA), program=Program.PROGRAM_SNAP, state=pending),
            Determination(
                person_id=str(BEN),
                program=Program.PROGRAM_CHILD_CARE,
                state=DeterminationState.DETERMINATION_STATE_APPROVED,
                decided_on=day,
                reason="eligible",
                effective_from=day,
                notice_date=day,
            ),
            Determination(person_id=str(BEN), program=Program.PROGRAM_SNAP, state=pending),
        ],
        channel=SubmissionChannel.SUBMISSION_CHANNEL_IN_PERSON,
        confidentiality=Confidentiality.CONFIDENTIALITY_ADDRESS_CONFIDENTIAL,
        received_at=received_at,
        filing_date="2026-12-01",
        basis_date="2026-12-01",
    )


async def test_a_draft_is_no_application(service: RunningApplications, db: Database) -> None:
    """DRF-06: the id of a draft and an id of nothing get the same answer."""
    for application_id in (await seed_draft(db), uuid.uuid4()):
        with refused(Reason.REASON_APPLICATION_NOT_FOUND):
            await get(service, application_id)


async def test_the_list_of_workers_is_not_served_yet(mesh: Mesh, service: RunningApplications) -> None:
    """MSH-03: the contract admits caseworkers alone; one of them learns that this release has no list."""
    token = mesh.issuer.mint(mesh.issuer.claims(main.NAME, service=None, azp=None, roles=["caseworker"]))
    with refused(Reason.REASON_CALLER_NOT_ALLOWED):
        await service.applications.ListApplications(pb.ListApplicationsRequest())

    async with grpc.aio.insecure_channel(f"127.0.0.1:{service.port}") as channel:
        with refused(Reason.REASON_NOT_IMPLEMENTED):
            await ApplicationsServiceStub(channel).ListApplications(
                pb.ListApplicationsRequest(), metadata=(("authorization", f"Bearer {token}"),)
            )


@pytest.mark.parametrize(("caller", "admitted"), [("canopy-reporting", True), ("canopy-persons", False)])
async def test_the_contract_says_who_reads_applications(
    mesh: Mesh, fresh: FreshDatabase, db: Database, caller: str, admitted: bool
) -> None:
    """MSH-03: the portal and reporting, no other service."""
    application_id = await seed_draft(db)
    await file(db, application_id)
    async with running(mesh, applications_config(mesh, fresh), caller=caller) as service:
        if admitted:
            assert (await get(service, application_id)).application_id == str(application_id)
        else:
            with refused(Reason.REASON_CALLER_NOT_ALLOWED):
                await get(service, application_id)
