import datetime

from canopy.applications.v1 import draft_pb2 as _draft_pb2
from canopy.options.v1 import access_pb2 as _access_pb2
from canopy.options.v1 import field_pb2 as _field_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CredentialScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CREDENTIAL_SCOPE_UNSPECIFIED: _ClassVar[CredentialScope]
    CREDENTIAL_SCOPE_DRAFT: _ClassVar[CredentialScope]
    CREDENTIAL_SCOPE_APPLICATION: _ClassVar[CredentialScope]
CREDENTIAL_SCOPE_UNSPECIFIED: CredentialScope
CREDENTIAL_SCOPE_DRAFT: CredentialScope
CREDENTIAL_SCOPE_APPLICATION: CredentialScope

class CreateDraftRequest(_message.Message):
    __slots__ = ("request_id", "kdf")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    KDF_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    kdf: _draft_pb2.Kdf
    def __init__(self, request_id: _Optional[str] = ..., kdf: _Optional[_Union[_draft_pb2.Kdf, _Mapping]] = ...) -> None: ...

class CreateDraftResponse(_message.Message):
    __slots__ = ("application_id", "code", "passcode", "kdf", "server_share", "enc_version", "expires_at", "credential_epoch")
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    PASSCODE_FIELD_NUMBER: _ClassVar[int]
    KDF_FIELD_NUMBER: _ClassVar[int]
    SERVER_SHARE_FIELD_NUMBER: _ClassVar[int]
    ENC_VERSION_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    CREDENTIAL_EPOCH_FIELD_NUMBER: _ClassVar[int]
    application_id: str
    code: str
    passcode: str
    kdf: _draft_pb2.Kdf
    server_share: bytes
    enc_version: int
    expires_at: _timestamp_pb2.Timestamp
    credential_epoch: int
    def __init__(self, application_id: _Optional[str] = ..., code: _Optional[str] = ..., passcode: _Optional[str] = ..., kdf: _Optional[_Union[_draft_pb2.Kdf, _Mapping]] = ..., server_share: _Optional[bytes] = ..., enc_version: _Optional[int] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., credential_epoch: _Optional[int] = ...) -> None: ...

class SaveDraftRequest(_message.Message):
    __slots__ = ("application_id", "expected_revision", "save_id", "content", "wrapped_key")
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    SAVE_ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    WRAPPED_KEY_FIELD_NUMBER: _ClassVar[int]
    application_id: str
    expected_revision: int
    save_id: str
    content: _draft_pb2.DraftContent
    wrapped_key: _draft_pb2.WrappedKey
    def __init__(self, application_id: _Optional[str] = ..., expected_revision: _Optional[int] = ..., save_id: _Optional[str] = ..., content: _Optional[_Union[_draft_pb2.DraftContent, _Mapping]] = ..., wrapped_key: _Optional[_Union[_draft_pb2.WrappedKey, _Mapping]] = ...) -> None: ...

class SaveDraftResponse(_message.Message):
    __slots__ = ("revision", "saved_at", "expires_at")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    SAVED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    revision: int
    saved_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, revision: _Optional[int] = ..., saved_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GetDraftRequest(_message.Message):
    __slots__ = ("application_id",)
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    application_id: str
    def __init__(self, application_id: _Optional[str] = ...) -> None: ...

class GetDraftResponse(_message.Message):
    __slots__ = ("revision", "content", "wrapped_key", "kdf", "server_share", "enc_version", "saved_at", "expires_at", "finalize_in_progress")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    WRAPPED_KEY_FIELD_NUMBER: _ClassVar[int]
    KDF_FIELD_NUMBER: _ClassVar[int]
    SERVER_SHARE_FIELD_NUMBER: _ClassVar[int]
    ENC_VERSION_FIELD_NUMBER: _ClassVar[int]
    SAVED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    FINALIZE_IN_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    revision: int
    content: _draft_pb2.DraftContent
    wrapped_key: _draft_pb2.WrappedKey
    kdf: _draft_pb2.Kdf
    server_share: bytes
    enc_version: int
    saved_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    finalize_in_progress: bool
    def __init__(self, revision: _Optional[int] = ..., content: _Optional[_Union[_draft_pb2.DraftContent, _Mapping]] = ..., wrapped_key: _Optional[_Union[_draft_pb2.WrappedKey, _Mapping]] = ..., kdf: _Optional[_Union[_draft_pb2.Kdf, _Mapping]] = ..., server_share: _Optional[bytes] = ..., enc_version: _Optional[int] = ..., saved_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finalize_in_progress: _Optional[bool] = ...) -> None: ...

class VerifyCredentialsRequest(_message.Message):
    __slots__ = ("code", "passcode")
    CODE_FIELD_NUMBER: _ClassVar[int]
    PASSCODE_FIELD_NUMBER: _ClassVar[int]
    code: str
    passcode: str
    def __init__(self, code: _Optional[str] = ..., passcode: _Optional[str] = ...) -> None: ...

class VerifyCredentialsResponse(_message.Message):
    __slots__ = ("application_id", "code", "scope", "credential_epoch")
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    CREDENTIAL_EPOCH_FIELD_NUMBER: _ClassVar[int]
    application_id: str
    code: str
    scope: CredentialScope
    credential_epoch: int
    def __init__(self, application_id: _Optional[str] = ..., code: _Optional[str] = ..., scope: _Optional[_Union[CredentialScope, str]] = ..., credential_epoch: _Optional[int] = ...) -> None: ...
