"""A whole application as an applicant makes it: draft on the device, encrypt, save, resume elsewhere, submit.

Nothing readable leaves the device before the submit. Each step is reported as it happens.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

from google.protobuf import json_format

from canopy.applications.v1.draft_pb2 import DraftContent, Kdf, WrappedKey
from canopy.applications.v1.finalize_pb2 import FinalizeRequest
from canopy.applications.v1.finalize_service_pb2 import FilingReceipt
from canopy.portal.v1 import applications_service_pb2, drafts_service_pb2, sessions_service_pb2
from services.cli import draft_crypto
from services.cli.draft_crypto import Context, Derivation, Sealed
from services.cli.edge_client import EdgeClient

SCHEMA_VERSION: Final = 1
MAX_FILE_BYTES: Final = 200 * 1024


class FilingError(Exception):
    """The file cannot be filed; the text says why without repeating it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What the applicant must keep."""

    code: str
    passcode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDraft:
    """A draft on this device, with its key in memory."""

    context: Context  # of the revision last saved or loaded
    draft_key: bytes
    wrapped_key: Sealed


def read(path: Path) -> FinalizeRequest:
    """Read a filing: the JSON of canopy.applications.v1.FinalizeRequest. Raises FilingError."""
    try:
        text = path.read_bytes()
        if len(text) > MAX_FILE_BYTES:
            raise FilingError(f"{path} is larger than {MAX_FILE_BYTES // 1024} KiB")
        return json_format.Parse(text, FinalizeRequest())
    except OSError as error:
        raise FilingError(f"{path}: {error.strerror}") from error
    except (json_format.ParseError, UnicodeDecodeError) as error:
        raise FilingError(f"{path} is not the JSON of a FinalizeRequest") from error


async def start(portal: EdgeClient) -> tuple[Credentials, OpenDraft]:
    """Start a draft; its key is made here and leaves only wrapped."""
    request = drafts_service_pb2.StartDraftRequest(request_id=str(uuid.uuid4()))
    started = await portal.call("POST", "/v1/portal/drafts", request, drafts_service_pb2.StartDraftResponse)
    context = Context(
        application_id=UUID(started.application_id),
        revision=0,
        enc_version=started.enc_version,
        schema_version=SCHEMA_VERSION,
    )
    wrapping = _wrapping_key(started.passcode, started.kdf, context, started.server_share)
    key = draft_crypto.new_draft_key()
    draft = OpenDraft(context=context, draft_key=key, wrapped_key=draft_crypto.wrap_key(key, wrapping, context))
    return Credentials(code=started.code, passcode=started.passcode), draft


async def save(portal: EdgeClient, draft: OpenDraft, filing: FinalizeRequest) -> OpenDraft:
    """Encrypt the form as it stands and save it as the next revision."""
    context = _next(draft.context)
    plaintext = json.dumps(json_format.MessageToDict(filing), ensure_ascii=False).encode()
    sealed = draft_crypto.seal_content(plaintext, draft.draft_key, context)
    request = drafts_service_pb2.SaveDraftRequest(
        expected_revision=draft.context.revision,
        save_id=str(uuid.uuid4()),
        content=DraftContent(
            enc_version=context.enc_version,
            schema_version=context.schema_version,
            padded_len=len(sealed.ciphertext) - draft_crypto.TAG_BYTES,
            nonce=sealed.nonce,
            ciphertext=sealed.ciphertext,
        ),
        wrapped_key=WrappedKey(nonce=draft.wrapped_key.nonce, ciphertext=draft.wrapped_key.ciphertext),
    )
    await portal.call("PUT", "/v1/portal/draft", request, drafts_service_pb2.SaveDraftResponse)
    return OpenDraft(context=context, draft_key=draft.draft_key, wrapped_key=draft.wrapped_key)


async def resume(portal: EdgeClient, credentials: Credentials) -> None:
    """Open a session on this device by code and passcode."""
    request = sessions_service_pb2.ResumeSessionRequest(code=credentials.code, passcode=credentials.passcode)
    answer = sessions_service_pb2.ResumeSessionResponse
    await portal.call("POST", "/v1/portal/sessions:resume", request, answer)


async def load(portal: EdgeClient, credentials: Credentials) -> tuple[OpenDraft, FinalizeRequest]:
    """Load the session's draft and decrypt it. Raises DraftCryptoError when it does not open."""
    stored = await portal.call("GET", "/v1/portal/draft", None, drafts_service_pb2.GetDraftResponse)
    context = Context(
        application_id=UUID(stored.application_id),
        revision=stored.revision,
        enc_version=stored.content.enc_version,
        schema_version=stored.content.schema_version,
    )
    wrapped = Sealed(nonce=stored.wrapped_key.nonce, ciphertext=stored.wrapped_key.ciphertext)
    wrapping = _wrapping_key(credentials.passcode, stored.kdf, context, stored.server_share)
    key = draft_crypto.unwrap_key(wrapped, wrapping, context)
    sealed = Sealed(nonce=stored.content.nonce, ciphertext=stored.content.ciphertext)
    plaintext = draft_crypto.open_content(sealed, key, context)
    draft = OpenDraft(context=context, draft_key=key, wrapped_key=wrapped)
    return draft, json_format.Parse(plaintext, FinalizeRequest())


async def submit(portal: EdgeClient, draft: OpenDraft, filing: FinalizeRequest) -> FilingReceipt:
    """Send the form in clear, once; a repeated submit of the same form gives the same receipt."""
    request = drafts_service_pb2.SubmitDraftRequest(expected_revision=draft.context.revision, request=filing)
    answer = await portal.call("POST", "/v1/portal/draft:submit", request, drafts_service_pb2.SubmitDraftResponse)
    return answer.receipt


async def status(portal: EdgeClient) -> applications_service_pb2.GetStatusResponse:
    """Ask where the session's draft or application stands."""
    return await portal.call("GET", "/v1/portal/status", None, applications_service_pb2.GetStatusResponse)


async def log_out(portal: EdgeClient) -> None:
    """End the session."""
    request = sessions_service_pb2.EndSessionRequest()
    await portal.call("POST", "/v1/portal/session:end", request, sessions_service_pb2.EndSessionResponse)


def _next(context: Context) -> Context:
    return Context(
        application_id=context.application_id,
        revision=context.revision + 1,
        enc_version=context.enc_version,
        schema_version=SCHEMA_VERSION,
    )


def _wrapping_key(passcode: str, kdf: Kdf, context: Context, share: bytes) -> bytes:
    derivation = Derivation(salt=kdf.salt, memory_kib=kdf.memory_kib, passes=kdf.passes)
    return draft_crypto.wrapping_key(draft_crypto.master_key(passcode, derivation), context, share)
