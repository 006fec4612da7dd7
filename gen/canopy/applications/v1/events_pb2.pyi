from canopy.applications.v1 import application_pb2 as _application_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ApplicationSubmitted(_message.Message):
    __slots__ = ("application_id", "household_id", "kind", "filing_date", "programs_requested", "channel")
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    HOUSEHOLD_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    FILING_DATE_FIELD_NUMBER: _ClassVar[int]
    PROGRAMS_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    application_id: str
    household_id: str
    kind: _application_pb2.FilingKind
    filing_date: str
    programs_requested: _containers.RepeatedScalarFieldContainer[_application_pb2.Program]
    channel: _application_pb2.SubmissionChannel
    def __init__(self, application_id: _Optional[str] = ..., household_id: _Optional[str] = ..., kind: _Optional[_Union[_application_pb2.FilingKind, str]] = ..., filing_date: _Optional[str] = ..., programs_requested: _Optional[_Iterable[_Union[_application_pb2.Program, str]]] = ..., channel: _Optional[_Union[_application_pb2.SubmissionChannel, str]] = ...) -> None: ...
