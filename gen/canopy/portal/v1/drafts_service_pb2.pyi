import datetime

from canopy.applications.v1 import draft_pb2 as _draft_pb2
from canopy.applications.v1 import finalize_pb2 as _finalize_pb2
from canopy.applications.v1 import finalize_service_pb2 as _finalize_service_pb2
from canopy.options.v1 import access_pb2 as _access_pb2
from canopy.options.v1 import field_pb2 as _field_pb2
from canopy.portal.v1 import sessions_service_pb2 as _sessions_service_pb2
from google.api import annotations_pb2 as _annotations_pb2
from google.api import httpbody_pb2 as _httpbody_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StartDraftRequest(_message.Message):
    __slots__ = ("request_id", "kdf", "shared_device")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    KDF_FIELD_NUMBER: _ClassVar[int]
    SHARED_DEVICE_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    kdf: _draft_pb2.Kdf
    shared_device: bool
    def __init__(self, request_id: _Optional[str] = ..., kdf: _Optional[_Union[_draft_pb2.Kdf, _Mapping]] = ..., shared_device: _Optional[bool] = ...) -> None: ...

class StartDraftResponse(_message.Message):
    __slots__ = ("application_id", "code", "passcode", "kdf", "server_share", "enc_version", "expires_at", "session")
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    PASSCODE_FIELD_NUMBER: _ClassVar[int]
    KDF_FIELD_NUMBER: _ClassVar[int]
    SERVER_SHARE_FIELD_NUMBER: _ClassVar[int]
    ENC_VERSION_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    application_id: str
    code: str
    passcode: str
    kdf: _draft_pb2.Kdf
    server_share: bytes
    enc_version: int
    expires_at: _timestamp_pb2.Timestamp
    session: _sessions_service_pb2.Session
    def __init__(self, application_id: _Optional[str] = ..., code: _Optional[str] = ..., passcode: _Optional[str] = ..., kdf: _Optional[_Union[_draft_pb2.Kdf, _Mapping]] = ..., server_share: _Optional[bytes] = ..., enc_version: _Optional[int] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., session: _Optional[_Union[_sessions_service_pb2.Session, _Mapping]] = ...) -> None: ...

class GetDraftRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetDraftResponse(_message.Message):
    __slots__ = ("application_id", "revision", "content", "wrapped_key", "kdf", "server_share", "enc_version", "saved_at", "expires_at", "finalize_in_progress")
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    WRAPPED_KEY_FIELD_NUMBER: _ClassVar[int]
    KDF_FIELD_NUMBER: _ClassVar[int]
    SERVER_SHARE_FIELD_NUMBER: _ClassVar[int]
    ENC_VERSION_FIELD_NUMBER: _ClassVar[int]
    SAVED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    FINALIZE_IN_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    application_id: str
    revision: int
    content: _draft_pb2.DraftContent
    wrapped_key: _draft_pb2.WrappedKey
    kdf: _draft_pb2.Kdf
    server_share: bytes
    enc_version: int
    saved_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    finalize_in_progress: bool
    def __init__(self, application_id: _Optional[str] = ..., revision: _Optional[int] = ..., content: _Optional[_Union[_draft_pb2.DraftContent, _Mapping]] = ..., wrapped_key: _Optional[_Union[_draft_pb2.WrappedKey, _Mapping]] = ..., kdf: _Optional[_Union[_draft_pb2.Kdf, _Mapping]] = ..., server_share: _Optional[bytes] = ..., enc_version: _Optional[int] = ..., saved_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finalize_in_progress: _Optional[bool] = ...) -> None: ...

class SaveDraftRequest(_message.Message):
    __slots__ = ("expected_revision", "save_id", "content", "wrapped_key")
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    SAVE_ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    WRAPPED_KEY_FIELD_NUMBER: _ClassVar[int]
    expected_revision: int
    save_id: str
    content: _draft_pb2.DraftContent
    wrapped_key: _draft_pb2.WrappedKey
    def __init__(self, expected_revision: _Optional[int] = ..., save_id: _Optional[str] = ..., content: _Optional[_Union[_draft_pb2.DraftContent, _Mapping]] = ..., wrapped_key: _Optional[_Union[_draft_pb2.WrappedKey, _Mapping]] = ...) -> None: ...

class SaveDraftResponse(_message.Message):
    __slots__ = ("revision", "saved_at", "expires_at")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    SAVED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    revision: int
    saved_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, revision: _Optional[int] = ..., saved_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SubmitDraftRequest(_message.Message):
    __slots__ = ("expected_revision", "request")
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    expected_revision: int
    request: _finalize_pb2.FinalizeRequest
    def __init__(self, expected_revision: _Optional[int] = ..., request: _Optional[_Union[_finalize_pb2.FinalizeRequest, _Mapping]] = ...) -> None: ...

class SubmitDraftResponse(_message.Message):
    __slots__ = ("receipt", "session")
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    receipt: _finalize_service_pb2.FilingReceipt
    session: _sessions_service_pb2.Session
    def __init__(self, receipt: _Optional[_Union[_finalize_service_pb2.FilingReceipt, _Mapping]] = ..., session: _Optional[_Union[_sessions_service_pb2.Session, _Mapping]] = ...) -> None: ...

class WithdrawSubmitRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WithdrawSubmitResponse(_message.Message):
    __slots__ = ("state",)
    STATE_FIELD_NUMBER: _ClassVar[int]
    state: _finalize_service_pb2.OperationState
    def __init__(self, state: _Optional[_Union[_finalize_service_pb2.OperationState, str]] = ...) -> None: ...
