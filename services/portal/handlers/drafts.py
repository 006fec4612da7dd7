"""Handlers of canopy.portal.v1.DraftsService. Which draft it is, the session alone says."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from google.api import httpbody_pb2

from canopy.applications.v1 import drafts_service_pb2, finalize_service_pb2
from canopy.applications.v1.application_pb2 import SubmissionChannel
from canopy.applications.v1.drafts_service_pb2 import CredentialScope
from canopy.portal.v1 import drafts_service_pb2 as pb
from canopy.portal.v1.drafts_service_pb2_grpc import DraftsServiceServicer
from canopy.portal.v1.sessions_service_pb2 import FlowKind
from services.kernel import fields
from services.portal.clients.applications import Applications
from services.portal.domain import strict_json
from services.portal.domain.origin import require_own_page
from services.portal.domain.sessions import Session, Sessions, Subject
from services.portal.handlers import browser, convert


class DraftsHandler(DraftsServiceServicer):
    """Start, load, save and submit the session's draft."""

    def __init__(self, sessions: Sessions, applications: Applications, origins: Collection[str]) -> None:
        self._sessions = sessions
        self._applications = applications
        self._origins = origins

    async def StartDraft(self, request: pb.StartDraftRequest, context: Any) -> pb.StartDraftResponse:
        """Open a draft and a session for it. A session that the browser already has ends."""
        sent = browser.of(context)
        require_own_page(sent.sender, self._origins)
        create = drafts_service_pb2.CreateDraftRequest(request_id=request.request_id)
        if request.HasField("kdf"):
            create.kdf.CopyFrom(request.kdf)
        opened = await self._applications.create_draft(create)
        subject = Subject(
            application_id=opened.application_id,
            code=opened.code,
            scope=CredentialScope.CREDENTIAL_SCOPE_DRAFT,
            credential_epoch=opened.credential_epoch,
        )
        minted = await self._sessions.mint(subject, shared_device=request.shared_device, device=sent.device)
        await self._sessions.end(sent.session)
        await browser.set_cookies(context, minted)
        return pb.StartDraftResponse(
            application_id=opened.application_id,
            code=opened.code,
            passcode=opened.passcode,
            kdf=opened.kdf,
            server_share=opened.server_share,
            enc_version=opened.enc_version,
            expires_at=opened.expires_at,
            session=convert.session(minted.session),
        )

    async def GetDraft(self, request: pb.GetDraftRequest, context: Any) -> pb.GetDraftResponse:
        """Return the draft."""
        session = await self._sessions.require(browser.of(context).session)
        draft = await self._applications.get_draft(session.subject.application_id)
        return pb.GetDraftResponse(
            application_id=session.subject.application_id,
            revision=draft.revision,
            content=draft.content if draft.HasField("content") else None,
            wrapped_key=draft.wrapped_key if draft.HasField("wrapped_key") else None,
            kdf=draft.kdf,
            server_share=draft.server_share,
            enc_version=draft.enc_version,
            saved_at=draft.saved_at if draft.HasField("saved_at") else None,
            expires_at=draft.expires_at,
            finalize_in_progress=draft.finalize_in_progress,
        )

    async def SaveDraft(self, request: pb.SaveDraftRequest, context: Any) -> pb.SaveDraftResponse:
        """Save the draft."""
        session = await self._changing(context)
        saved = await self._applications.save_draft(
            drafts_service_pb2.SaveDraftRequest(
                application_id=session.subject.application_id,
                expected_revision=request.expected_revision,
                save_id=request.save_id,
                content=request.content,
                wrapped_key=request.wrapped_key if request.HasField("wrapped_key") else None,
            )
        )
        return pb.SaveDraftResponse(revision=saved.revision, saved_at=saved.saved_at, expires_at=saved.expires_at)

    async def SubmitDraft(self, request: httpbody_pb2.HttpBody, context: Any) -> pb.SubmitDraftResponse:
        """Submit the draft; from then on the session opens the application."""
        session = await self._changing(context)
        submit = strict_json.parse(request.data, pb.SubmitDraftRequest)
        fields.require_contract(submit)
        filed = await self._applications.finalize(
            finalize_service_pb2.FinalizeApplicationRequest(
                application_id=session.subject.application_id,
                expected_revision=submit.expected_revision,
                channel=_channel(session),
                request=submit.request,
            )
        )
        turned = await self._sessions.filed(session)
        return pb.SubmitDraftResponse(receipt=filed.receipt, session=convert.session(turned) if turned else None)

    async def WithdrawSubmit(self, request: pb.WithdrawSubmitRequest, context: Any) -> pb.WithdrawSubmitResponse:
        """Give up a submit that does not finish."""
        session = await self._changing(context)
        answer = await self._applications.withdraw(session.subject.application_id)
        return pb.WithdrawSubmitResponse(state=answer.state)

    async def _changing(self, context: Any) -> Session:
        """Return the session of a request that changes something, made by our own page."""
        sent = browser.of(context)
        require_own_page(sent.sender, self._origins)
        return await self._sessions.require(sent.session)


def _channel(session: Session) -> SubmissionChannel:
    if session.flow_kind == FlowKind.FLOW_KIND_KIOSK:
        return SubmissionChannel.SUBMISSION_CHANNEL_KIOSK
    return SubmissionChannel.SUBMISSION_CHANNEL_PORTAL
