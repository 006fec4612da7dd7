import datetime

from canopy.applications.v1 import application_pb2 as _application_pb2
from canopy.options.v1 import access_pb2 as _access_pb2
from canopy.options.v1 import field_pb2 as _field_pb2
from google.api import annotations_pb2 as _annotations_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Progress(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROGRESS_UNSPECIFIED: _ClassVar[Progress]
    PROGRESS_DRAFT: _ClassVar[Progress]
    PROGRESS_SUBMITTING: _ClassVar[Progress]
    PROGRESS_SUBMITTED: _ClassVar[Progress]
PROGRESS_UNSPECIFIED: Progress
PROGRESS_DRAFT: Progress
PROGRESS_SUBMITTING: Progress
PROGRESS_SUBMITTED: Progress

class GetStatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetStatusResponse(_message.Message):
    __slots__ = ("progress", "status", "code", "received_at", "filing_date", "programs_requested")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_AT_FIELD_NUMBER: _ClassVar[int]
    FILING_DATE_FIELD_NUMBER: _ClassVar[int]
    PROGRAMS_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    progress: Progress
    status: _application_pb2.ApplicationStatus
    code: str
    received_at: _timestamp_pb2.Timestamp
    filing_date: str
    programs_requested: _containers.RepeatedScalarFieldContainer[_application_pb2.Program]
    def __init__(self, progress: _Optional[_Union[Progress, str]] = ..., status: _Optional[_Union[_application_pb2.ApplicationStatus, str]] = ..., code: _Optional[str] = ..., received_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., filing_date: _Optional[str] = ..., programs_requested: _Optional[_Iterable[_Union[_application_pb2.Program, str]]] = ...) -> None: ...
