import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Absence(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ABSENCE_UNSPECIFIED: _ClassVar[Absence]
    ABSENCE_UNKNOWN: _ClassVar[Absence]
    ABSENCE_NOT_VALID_ON_DATE: _ClassVar[Absence]
ABSENCE_UNSPECIFIED: Absence
ABSENCE_UNKNOWN: Absence
ABSENCE_NOT_VALID_ON_DATE: Absence

class Version(_message.Message):
    __slots__ = ("version_id", "valid_from", "valid_until", "recorded_at")
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_UNTIL_FIELD_NUMBER: _ClassVar[int]
    RECORDED_AT_FIELD_NUMBER: _ClassVar[int]
    version_id: str
    valid_from: str
    valid_until: str
    recorded_at: _timestamp_pb2.Timestamp
    def __init__(self, version_id: _Optional[str] = ..., valid_from: _Optional[str] = ..., valid_until: _Optional[str] = ..., recorded_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Tombstone(_message.Message):
    __slots__ = ("shredded_at",)
    SHREDDED_AT_FIELD_NUMBER: _ClassVar[int]
    shredded_at: _timestamp_pb2.Timestamp
    def __init__(self, shredded_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
