"""Checking a code and a passcode. Every failure is one failure, at the same cost: an answer tells nothing to guess by.

Whatever was typed, a login does: one indexed read, one Argon2id run, one decryption under the pepper, one comparison
in constant time. An unknown code is checked against a verifier that no passcode has.
"""

from __future__ import annotations

import hmac
import secrets
import uuid
from dataclasses import dataclass

from canopy.errors.v1.reason_pb2 import Reason
from services.applications.domain.credentials import PASSCODE_DIGITS, read_code, read_passcode
from services.applications.domain.hashing import HASH_BYTES, SALT_BYTES, PasscodeHasher
from services.applications.domain.pepper import Pepper
from services.applications.store import credentials
from services.applications.store.credentials import Verifier
from services.chassis.postgres import Database
from services.kernel.errors import Refusal
from services.kernel.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What credentials open: an application if `filed`, else a draft."""

    application_id: uuid.UUID
    code: str
    filed: bool
    credential_epoch: int


class Verifiers:
    """Makes and checks the stored form of passcodes."""

    def __init__(self, hasher: PasscodeHasher, pepper: Pepper) -> None:
        self._hasher = hasher
        self._pepper = pepper

    async def make(self, application_id: uuid.UUID, passcode: Secret[str]) -> Verifier:
        """Hash a new passcode under a salt of its own, and encrypt the hash. Raises Refusal(REASON_OVERLOADED)."""
        salt = secrets.token_bytes(SALT_BYTES)
        hashed = await self._hasher.hash(passcode, salt, self._hasher.cost)
        return self._stored(application_id, salt, hashed)

    async def check(self, application_id: uuid.UUID, verifier: Verifier, passcode: Secret[str]) -> bool:
        """Tell whether the passcode is the verifier's. Raises Refusal(REASON_OVERLOADED)."""
        hashed = await self._hasher.hash(passcode, verifier.salt, verifier.cost)
        return hmac.compare_digest(hashed, self._pepper.open_verifier(application_id, verifier.sealed).reveal())

    def of_nobody(self, application_id: uuid.UUID) -> Verifier:
        """Make a verifier at today's cost that no passcode has."""
        return self._stored(application_id, secrets.token_bytes(SALT_BYTES), secrets.token_bytes(HASH_BYTES))

    def _stored(self, application_id: uuid.UUID, salt: bytes, hashed: bytes) -> Verifier:
        sealed = self._pepper.seal_verifier(application_id, Secret(hashed))
        return Verifier(salt=salt, cost=self._hasher.cost, sealed=sealed)


class Logins:
    """The way in, for drafts and applications alike."""

    def __init__(self, db: Database, verifiers: Verifiers) -> None:
        self._db = db
        self._verifiers = verifiers
        self._nobody = uuid.uuid4()
        self._verifier_of_nobody = verifiers.of_nobody(self._nobody)

    async def verify(self, typed_code: str, typed_passcode: str) -> Opened:
        """Return what the credentials open.

        Raises Refusal: REASON_CREDENTIALS_NOT_ACCEPTED for an unknown code, a wrong passcode, an expired draft and
        anything malformed; REASON_OVERLOADED.
        """
        code = read_code(typed_code) or ""
        passcode = read_passcode(typed_passcode)
        login = await credentials.find_login(self._db, code)
        application_id = login.application_id if login else self._nobody
        verifier = login.verifier if login else self._verifier_of_nobody
        matches = await self._verifiers.check(application_id, verifier, passcode or Secret("?" * PASSCODE_DIGITS))
        if login is None or passcode is None or not matches or not (login.filed or login.drafted):
            raise Refusal(Reason.REASON_CREDENTIALS_NOT_ACCEPTED)
        return Opened(
            application_id=application_id, code=code, filed=login.filed, credential_epoch=login.credential_epoch
        )
