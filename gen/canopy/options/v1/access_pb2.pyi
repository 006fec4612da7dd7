from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor
ACCESS_FIELD_NUMBER: _ClassVar[int]
access: _descriptor.FieldDescriptor
REST_FIELD_NUMBER: _ClassVar[int]
rest: _descriptor.FieldDescriptor

class Access(_message.Message):
    __slots__ = ("services", "roles", "public")
    SERVICES_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_FIELD_NUMBER: _ClassVar[int]
    services: _containers.RepeatedScalarFieldContainer[str]
    roles: _containers.RepeatedScalarFieldContainer[str]
    public: bool
    def __init__(self, services: _Optional[_Iterable[str]] = ..., roles: _Optional[_Iterable[str]] = ..., public: _Optional[bool] = ...) -> None: ...

class Rest(_message.Message):
    __slots__ = ("success_status", "body_message", "max_body_bytes")
    SUCCESS_STATUS_FIELD_NUMBER: _ClassVar[int]
    BODY_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    MAX_BODY_BYTES_FIELD_NUMBER: _ClassVar[int]
    success_status: int
    body_message: str
    max_body_bytes: int
    def __init__(self, success_status: _Optional[int] = ..., body_message: _Optional[str] = ..., max_body_bytes: _Optional[int] = ...) -> None: ...
