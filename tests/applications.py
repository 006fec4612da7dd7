"""The applications service for tests: its configuration, a running one with a stub, drafts seeded without hashing."""

from __future__ import annotations

import base64
import json
import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from canopy.applications.v1 import drafts_service_pb2 as pb
from canopy.applications.v1.applications_service_pb2_grpc import ApplicationsServiceStub
from canopy.applications.v1.draft_pb2 import DraftContent, Kdf, WrappedKey
from canopy.applications.v1.drafts_service_pb2_grpc import DraftsServiceStub
from services.applications import main
from services.applications.config import ApplicationsConfig, DraftsConfig, KeysConfig, PasscodesConfig
from services.applications.domain import credentials as spelling
from services.applications.domain.drafts import Drafts
from services.applications.domain.hashing import PasscodeHasher
from services.applications.domain.login import Verifiers
from services.applications.domain.pepper import Pepper
from services.applications.store import credentials, drafts
from services.applications.store.credentials import Cost, Verifier
from services.applications.store.drafts import NewDraft
from services.applications.store.peppered import Sealed
from services.chassis.channel import ClientConfig
from services.chassis.envelope import KeyRing
from services.chassis.postgres import Database
from services.chassis.postgres_transaction import Transaction
from services.chassis.valkey import ValkeyConfig
from services.kernel.secret import Secret
from tests.mesh import Mesh
from tests.postgres import FreshDatabase

if TYPE_CHECKING:  # the stubs know these names, the generated code does not
    from canopy.applications.v1.applications_service_pb2_grpc import ApplicationsServiceAsyncStub
    from canopy.applications.v1.drafts_service_pb2_grpc import DraftsServiceAsyncStub

PORTAL: Final = "canopy-portal"
NOBODY: Final = "127.0.0.1:1"  # where nothing listens

# What no passcode has: for drafts that nobody logs in to.
FIXED_VERIFIER: Final = Verifier(
    salt=bytes(16), cost=Cost(memory_kib=65_536, passes=3), sealed=Sealed(kid="k1", ciphertext=bytes(60))
)


def key_ring(*kids: str, seed: int = 0) -> Secret[bytes]:
    """Write a key ring whose first key is active. The same id and seed give the same key."""
    keys = {kid: base64.b64encode(f"{kid} {seed}".encode().ljust(32, b".")).decode() for kid in kids}
    return Secret(json.dumps({"active": kids[0], "keys": keys}).encode())


def applications_config(mesh: Mesh, fresh: FreshDatabase, **sections: Any) -> ApplicationsConfig:
    """Configure the service on a database of the lines outbox and applications; `sections` replace the defaults."""
    defaults: dict[str, Any] = {
        "database": fresh.service,
        "keys": KeysConfig(records=key_ring("k1"), pepper=key_ring("k1"), digests=key_ring("k1")),
        "persons": ClientConfig(target=NOBODY),
        "credentials": mesh.issuer.credentials(main.NAME),
        "valkey": ValkeyConfig(url=f"redis://{NOBODY}"),
    }
    return ApplicationsConfig(**mesh.sections(), **{**defaults, **sections})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningApplications:
    """A running applications service, called as the portal calls it."""

    port: int
    drafts: DraftsServiceAsyncStub
    applications: ApplicationsServiceAsyncStub


@asynccontextmanager
async def running(
    mesh: Mesh, config: ApplicationsConfig, *, caller: str = PORTAL
) -> AsyncIterator[RunningApplications]:
    """Run the service in this process, and dial it as `caller`."""
    async with mesh.serve(main.build, config) as served, mesh.dial(served, main.NAME, caller=caller) as channel:
        yield RunningApplications(
            port=served.port,
            drafts=DraftsServiceStub(channel),
            applications=ApplicationsServiceStub(channel),
        )


@contextmanager
def drafts_on(db: Database, new_code: Callable[[], str] = spelling.mint_code) -> Iterator[Drafts]:
    """Build what stands behind the drafts service, to call it without a wire, and without a client that tries again."""
    pepper = Pepper(KeyRing.parse(key_ring("k1").reveal()))
    with PasscodeHasher.open(PasscodesConfig()) as hasher:
        yield Drafts(db, Verifiers(hasher, pepper), pepper, DraftsConfig(), new_code=new_code)


async def seed_draft(
    db: Database, *, application_id: uuid.UUID | None = None, verifier: Verifier = FIXED_VERIFIER
) -> uuid.UUID:
    """Open an empty draft through the store, without the 0.2 s that hashing a passcode takes."""
    application_id = application_id or uuid.uuid4()
    kdf = Kdf(kdf_id=1, memory_kib=65_536, passes=3, salt=os.urandom(16))
    draft = NewDraft(application_id=application_id, request_id=uuid.uuid4(), kdf=kdf, enc_version=1, share=None)

    async def work(tx: Transaction) -> None:
        await drafts.insert(tx, draft)
        await credentials.insert_code(tx, application_id, spelling.mint_code())
        await credentials.insert_verifier(tx, application_id, verifier)

    await db.transact("seed draft", work)
    return application_id


def content(padded_len: int = 4_096, *, enc_version: int = 1, size: int | None = None) -> DraftContent:
    """Make a content as a device would send it; random bytes stand for the ciphertext."""
    return DraftContent(
        enc_version=enc_version,
        schema_version=1,
        padded_len=padded_len,
        nonce=os.urandom(24),
        ciphertext=os.urandom(padded_len + 16 if size is None else size),
    )


def wrapped_key() -> WrappedKey:
    """Make a wrapped key; random bytes stand for the ciphertext."""
    return WrappedKey(nonce=os.urandom(24), ciphertext=os.urandom(48))


def save_request(application_id: uuid.UUID | str, expected_revision: int = 0, **changes: Any) -> pb.SaveDraftRequest:
    """Make a good save with a fresh save id and fresh content."""
    fields: dict[str, Any] = {
        "application_id": str(application_id),
        "expected_revision": expected_revision,
        "save_id": str(uuid.uuid4()),
        "content": content(),
        "wrapped_key": wrapped_key(),
    }
    return pb.SaveDraftRequest(**{**fields, **changes})
