import datetime

from canopy.options.v1 import access_pb2 as _access_pb2
from canopy.options.v1 import field_pb2 as _field_pb2
from canopy.persons.v1 import income_pb2 as _income_pb2
from canopy.persons.v1 import person_pb2 as _person_pb2
from canopy.persons.v1 import version_pb2 as _version_pb2
from google.api import annotations_pb2 as _annotations_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BatchGetPersonsRequest(_message.Message):
    __slots__ = ("person_ids", "as_of", "known_at")
    PERSON_IDS_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    person_ids: _containers.RepeatedScalarFieldContainer[str]
    as_of: str
    known_at: _timestamp_pb2.Timestamp
    def __init__(self, person_ids: _Optional[_Iterable[str]] = ..., as_of: _Optional[str] = ..., known_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class BatchGetPersonsResponse(_message.Message):
    __slots__ = ("entries", "known_at")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[PersonEntry]
    known_at: _timestamp_pb2.Timestamp
    def __init__(self, entries: _Optional[_Iterable[_Union[PersonEntry, _Mapping]]] = ..., known_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class PersonEntry(_message.Message):
    __slots__ = ("person_id", "state", "tombstone", "absent")
    PERSON_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TOMBSTONE_FIELD_NUMBER: _ClassVar[int]
    ABSENT_FIELD_NUMBER: _ClassVar[int]
    person_id: str
    state: PersonState
    tombstone: _version_pb2.Tombstone
    absent: _version_pb2.Absence
    def __init__(self, person_id: _Optional[str] = ..., state: _Optional[_Union[PersonState, _Mapping]] = ..., tombstone: _Optional[_Union[_version_pb2.Tombstone, _Mapping]] = ..., absent: _Optional[_Union[_version_pb2.Absence, str]] = ...) -> None: ...

class PersonState(_message.Message):
    __slots__ = ("version", "details")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    version: _version_pb2.Version
    details: _person_pb2.PersonDetails
    def __init__(self, version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ..., details: _Optional[_Union[_person_pb2.PersonDetails, _Mapping]] = ...) -> None: ...

class IncomeState(_message.Message):
    __slots__ = ("fact_id", "person_id", "version", "details", "tombstone")
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    PERSON_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    TOMBSTONE_FIELD_NUMBER: _ClassVar[int]
    fact_id: str
    person_id: str
    version: _version_pb2.Version
    details: _income_pb2.IncomeDetails
    tombstone: _version_pb2.Tombstone
    def __init__(self, fact_id: _Optional[str] = ..., person_id: _Optional[str] = ..., version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ..., details: _Optional[_Union[_income_pb2.IncomeDetails, _Mapping]] = ..., tombstone: _Optional[_Union[_version_pb2.Tombstone, _Mapping]] = ...) -> None: ...

class ListPersonsRequest(_message.Message):
    __slots__ = ("as_of", "known_at", "page_size", "page_token")
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    as_of: str
    known_at: _timestamp_pb2.Timestamp
    page_size: int
    page_token: str
    def __init__(self, as_of: _Optional[str] = ..., known_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListPersonsResponse(_message.Message):
    __slots__ = ("entries", "next_page_token", "known_at")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[PersonEntry]
    next_page_token: str
    known_at: _timestamp_pb2.Timestamp
    def __init__(self, entries: _Optional[_Iterable[_Union[PersonEntry, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., known_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class CheckBirthDateRequest(_message.Message):
    __slots__ = ("person_id", "birth_date", "as_of")
    PERSON_ID_FIELD_NUMBER: _ClassVar[int]
    BIRTH_DATE_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    person_id: str
    birth_date: str
    as_of: str
    def __init__(self, person_id: _Optional[str] = ..., birth_date: _Optional[str] = ..., as_of: _Optional[str] = ...) -> None: ...

class CheckBirthDateResponse(_message.Message):
    __slots__ = ("matches",)
    MATCHES_FIELD_NUMBER: _ClassVar[int]
    matches: bool
    def __init__(self, matches: _Optional[bool] = ...) -> None: ...

class CorrectPersonRequest(_message.Message):
    __slots__ = ("request_id", "person_id", "valid_from", "seen_version_id", "details")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    PERSON_ID_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    SEEN_VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    person_id: str
    valid_from: str
    seen_version_id: str
    details: _person_pb2.PersonDetails
    def __init__(self, request_id: _Optional[str] = ..., person_id: _Optional[str] = ..., valid_from: _Optional[str] = ..., seen_version_id: _Optional[str] = ..., details: _Optional[_Union[_person_pb2.PersonDetails, _Mapping]] = ...) -> None: ...

class CorrectPersonResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: _version_pb2.Version
    def __init__(self, version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ...) -> None: ...

class CorrectIncomeRequest(_message.Message):
    __slots__ = ("request_id", "fact_id", "valid_from", "seen_version_id", "details")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    SEEN_VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    fact_id: str
    valid_from: str
    seen_version_id: str
    details: _income_pb2.IncomeDetails
    def __init__(self, request_id: _Optional[str] = ..., fact_id: _Optional[str] = ..., valid_from: _Optional[str] = ..., seen_version_id: _Optional[str] = ..., details: _Optional[_Union[_income_pb2.IncomeDetails, _Mapping]] = ...) -> None: ...

class CorrectIncomeResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: _version_pb2.Version
    def __init__(self, version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ...) -> None: ...

class EndIncomeRequest(_message.Message):
    __slots__ = ("request_id", "fact_id", "valid_until", "seen_version_id")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    VALID_UNTIL_FIELD_NUMBER: _ClassVar[int]
    SEEN_VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    fact_id: str
    valid_until: str
    seen_version_id: str
    def __init__(self, request_id: _Optional[str] = ..., fact_id: _Optional[str] = ..., valid_until: _Optional[str] = ..., seen_version_id: _Optional[str] = ...) -> None: ...

class EndIncomeResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: _version_pb2.Version
    def __init__(self, version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ...) -> None: ...
