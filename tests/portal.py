"""The portal for tests, and a browser that speaks to it as the edge does: headers in metadata, cookies kept."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.cookies import SimpleCookie
from typing import Any, Final

import grpc
from google.api.httpbody_pb2 import HttpBody

from canopy.portal.v1 import applications_service_pb2, drafts_service_pb2, sessions_service_pb2
from canopy.portal.v1.applications_service_pb2_grpc import ApplicationsServiceStub
from canopy.portal.v1.drafts_service_pb2_grpc import DraftsServiceStub
from canopy.portal.v1.sessions_service_pb2_grpc import SessionsServiceStub
from services.chassis.channel import ClientConfig
from services.chassis.service import Running
from services.chassis.valkey import ValkeyConfig
from services.portal import main
from services.portal.config import PortalConfig, SessionConfig
from tests.mesh import Mesh

ORIGIN: Final = "https://apply.example.gov"


def portal_config(mesh: Mesh, valkey: ValkeyConfig, applications_port: int, **session: Any) -> PortalConfig:
    """Configure the portal; `session` changes the defaults of its sessions."""
    return PortalConfig(
        **mesh.sections(),
        credentials=mesh.issuer.credentials(main.NAME),
        applications=ClientConfig(target=f"127.0.0.1:{applications_port}"),
        valkey=valkey,
        session=SessionConfig(origins=(ORIGIN,), **session),
    )


class Browser:
    """One device: it keeps the cookies it is given, and says which page asks."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._sessions = SessionsServiceStub(channel)
        self._drafts = DraftsServiceStub(channel)
        self._applications = ApplicationsServiceStub(channel)
        self.cookies: dict[str, str] = {}
        self.headers: dict[str, str] = {"origin": ORIGIN, "sec-fetch-site": "same-origin"}
        self.set_cookies: list[str] = []  # headers of the last answer

    async def start(self, *, shared_device: bool = False) -> drafts_service_pb2.StartDraftResponse:
        """Start a draft."""
        request = drafts_service_pb2.StartDraftRequest(request_id=str(uuid.uuid4()), shared_device=shared_device)
        return await self.call(self._drafts.StartDraft, request)

    async def resume(
        self, code: str, passcode: str, *, shared_device: bool = False
    ) -> sessions_service_pb2.ResumeSessionResponse:
        """Log in."""
        request = sessions_service_pb2.ResumeSessionRequest(code=code, passcode=passcode, shared_device=shared_device)
        return await self.call(self._sessions.ResumeSession, request)

    async def session(self) -> sessions_service_pb2.Session:
        """Look at the session."""
        return (await self.call(self._sessions.GetSession, sessions_service_pb2.GetSessionRequest())).session

    async def end(self) -> None:
        """Log out."""
        await self.call(self._sessions.EndSession, sessions_service_pb2.EndSessionRequest())

    async def load(self) -> drafts_service_pb2.GetDraftResponse:
        """Load the draft."""
        return await self.call(self._drafts.GetDraft, drafts_service_pb2.GetDraftRequest())

    async def save(self, request: drafts_service_pb2.SaveDraftRequest) -> drafts_service_pb2.SaveDraftResponse:
        """Save the draft."""
        return await self.call(self._drafts.SaveDraft, request)

    async def submit(self, body: bytes) -> drafts_service_pb2.SubmitDraftResponse:
        """Submit a body as it is."""
        return await self.call(self._drafts.SubmitDraft, HttpBody(content_type="application/json", data=body))

    async def withdraw(self) -> drafts_service_pb2.WithdrawSubmitResponse:
        """Give up a submit."""
        return await self.call(self._drafts.WithdrawSubmit, drafts_service_pb2.WithdrawSubmitRequest())

    async def status(self) -> applications_service_pb2.GetStatusResponse:
        """Ask where it stands."""
        return await self.call(self._applications.GetStatus, applications_service_pb2.GetStatusRequest())

    async def call(self, method: Any, request: Any) -> Any:
        """Send a request with the headers and cookies of this device."""
        metadata = list(self.headers.items())
        if self.cookies:
            metadata.append(("cookie", "; ".join(f"{name}={value}" for name, value in self.cookies.items())))
        call = method(request, metadata=metadata, timeout=30)
        answer = await call
        self.set_cookies = [str(value) for key, value in await call.initial_metadata() if key == "set-cookie"]
        for header in self.set_cookies:
            for name, morsel in SimpleCookie(header).items():
                self.cookies[name] = morsel.value
                if morsel["max-age"] == "0":
                    del self.cookies[name]
        return answer


@asynccontextmanager
async def browser(portal: Running) -> AsyncIterator[Browser]:
    """Open a device with no cookies. It has no token: the portal's methods are public."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{portal.port}") as channel:
        yield Browser(channel)
