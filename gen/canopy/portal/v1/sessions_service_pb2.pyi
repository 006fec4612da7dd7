from canopy.applications.v1 import drafts_service_pb2 as _drafts_service_pb2
from canopy.options.v1 import access_pb2 as _access_pb2
from canopy.options.v1 import field_pb2 as _field_pb2
from google.api import annotations_pb2 as _annotations_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FlowKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FLOW_KIND_UNSPECIFIED: _ClassVar[FlowKind]
    FLOW_KIND_APPLY: _ClassVar[FlowKind]
    FLOW_KIND_RECOVERY: _ClassVar[FlowKind]
    FLOW_KIND_RENEWAL: _ClassVar[FlowKind]
    FLOW_KIND_STEADY_STATE: _ClassVar[FlowKind]
    FLOW_KIND_KIOSK: _ClassVar[FlowKind]
FLOW_KIND_UNSPECIFIED: FlowKind
FLOW_KIND_APPLY: FlowKind
FLOW_KIND_RECOVERY: FlowKind
FLOW_KIND_RENEWAL: FlowKind
FLOW_KIND_STEADY_STATE: FlowKind
FLOW_KIND_KIOSK: FlowKind

class Session(_message.Message):
    __slots__ = ("flow_kind", "scope", "seconds_remaining")
    FLOW_KIND_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    SECONDS_REMAINING_FIELD_NUMBER: _ClassVar[int]
    flow_kind: FlowKind
    scope: _drafts_service_pb2.CredentialScope
    seconds_remaining: int
    def __init__(self, flow_kind: _Optional[_Union[FlowKind, str]] = ..., scope: _Optional[_Union[_drafts_service_pb2.CredentialScope, str]] = ..., seconds_remaining: _Optional[int] = ...) -> None: ...

class ResumeSessionRequest(_message.Message):
    __slots__ = ("code", "passcode", "shared_device")
    CODE_FIELD_NUMBER: _ClassVar[int]
    PASSCODE_FIELD_NUMBER: _ClassVar[int]
    SHARED_DEVICE_FIELD_NUMBER: _ClassVar[int]
    code: str
    passcode: str
    shared_device: bool
    def __init__(self, code: _Optional[str] = ..., passcode: _Optional[str] = ..., shared_device: _Optional[bool] = ...) -> None: ...

class ResumeSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class GetSessionRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class EndSessionRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class EndSessionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
