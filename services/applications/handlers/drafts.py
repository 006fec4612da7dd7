"""canopy.applications.v1.DraftsService."""

from __future__ import annotations

import uuid
from typing import Any

from canopy.applications.v1 import drafts_service_pb2 as pb
from canopy.applications.v1.drafts_service_pb2_grpc import DraftsServiceServicer
from services.applications.domain.credentials import spell_passcode
from services.applications.domain.drafts import Drafts
from services.applications.domain.login import Logins


class DraftsHandler(DraftsServiceServicer):
    """Answers for drafts and their credentials."""

    def __init__(self, drafts: Drafts, logins: Logins) -> None:
        self._drafts = drafts
        self._logins = logins

    async def CreateDraft(self, request: pb.CreateDraftRequest, context: Any) -> pb.CreateDraftResponse:
        """Open an empty draft; the only answer that ever holds its passcode."""
        wanted = request.kdf if request.HasField("kdf") else None
        draft = await self._drafts.open(uuid.UUID(request.request_id), wanted)
        return pb.CreateDraftResponse(
            application_id=str(draft.application_id),
            code=draft.code,
            passcode=spell_passcode(draft.passcode),
            kdf=draft.kdf,
            server_share=draft.share.reveal(),
            enc_version=draft.enc_version,
            expires_at=draft.expires_at,
            credential_epoch=draft.credential_epoch,
        )

    async def SaveDraft(self, request: pb.SaveDraftRequest, context: Any) -> pb.SaveDraftResponse:
        """Replace the content of a draft."""
        saved = await self._drafts.save(
            application_id=uuid.UUID(request.application_id),
            save_id=uuid.UUID(request.save_id),
            expected_revision=request.expected_revision,
            content=request.content,
            wrapped_key=request.wrapped_key if request.HasField("wrapped_key") else None,
        )
        return pb.SaveDraftResponse(revision=saved.revision, saved_at=saved.saved_at, expires_at=saved.expires_at)

    async def GetDraft(self, request: pb.GetDraftRequest, context: Any) -> pb.GetDraftResponse:
        """Return a draft as it was last saved."""
        draft, share = await self._drafts.get(uuid.UUID(request.application_id))
        return pb.GetDraftResponse(
            revision=draft.revision,
            content=draft.content,
            wrapped_key=draft.wrapped_key,
            kdf=draft.kdf,
            server_share=share.reveal(),
            enc_version=draft.enc_version,
            saved_at=draft.saved_at,
            expires_at=draft.expires_at,
            finalize_in_progress=draft.submitting,
        )

    async def VerifyCredentials(
        self, request: pb.VerifyCredentialsRequest, context: Any
    ) -> pb.VerifyCredentialsResponse:
        """Tell what a code and a passcode open."""
        opened = await self._logins.verify(request.code, request.passcode)
        scope = (
            pb.CredentialScope.CREDENTIAL_SCOPE_APPLICATION
            if opened.filed
            else pb.CredentialScope.CREDENTIAL_SCOPE_DRAFT
        )
        return pb.VerifyCredentialsResponse(
            application_id=str(opened.application_id),
            code=opened.code,
            scope=scope,
            credential_epoch=opened.credential_epoch,
        )
