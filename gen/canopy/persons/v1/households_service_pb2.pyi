import datetime

from canopy.options.v1 import access_pb2 as _access_pb2
from canopy.options.v1 import field_pb2 as _field_pb2
from canopy.persons.v1 import household_pb2 as _household_pb2
from canopy.persons.v1 import income_pb2 as _income_pb2
from canopy.persons.v1 import person_pb2 as _person_pb2
from canopy.persons.v1 import persons_service_pb2 as _persons_service_pb2
from canopy.persons.v1 import version_pb2 as _version_pb2
from google.api import annotations_pb2 as _annotations_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BatchGetHouseholdsRequest(_message.Message):
    __slots__ = ("household_ids", "as_of", "known_at")
    HOUSEHOLD_IDS_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    household_ids: _containers.RepeatedScalarFieldContainer[str]
    as_of: str
    known_at: _timestamp_pb2.Timestamp
    def __init__(self, household_ids: _Optional[_Iterable[str]] = ..., as_of: _Optional[str] = ..., known_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class BatchGetHouseholdsResponse(_message.Message):
    __slots__ = ("entries", "known_at")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[HouseholdEntry]
    known_at: _timestamp_pb2.Timestamp
    def __init__(self, entries: _Optional[_Iterable[_Union[HouseholdEntry, _Mapping]]] = ..., known_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class HouseholdEntry(_message.Message):
    __slots__ = ("household_id", "state", "tombstone", "absent")
    HOUSEHOLD_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TOMBSTONE_FIELD_NUMBER: _ClassVar[int]
    ABSENT_FIELD_NUMBER: _ClassVar[int]
    household_id: str
    state: HouseholdState
    tombstone: _version_pb2.Tombstone
    absent: _version_pb2.Absence
    def __init__(self, household_id: _Optional[str] = ..., state: _Optional[_Union[HouseholdState, _Mapping]] = ..., tombstone: _Optional[_Union[_version_pb2.Tombstone, _Mapping]] = ..., absent: _Optional[_Union[_version_pb2.Absence, str]] = ...) -> None: ...

class HouseholdState(_message.Message):
    __slots__ = ("version", "details", "members", "incomes")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    INCOMES_FIELD_NUMBER: _ClassVar[int]
    version: _version_pb2.Version
    details: _household_pb2.HouseholdDetails
    members: _containers.RepeatedCompositeFieldContainer[MemberState]
    incomes: _containers.RepeatedCompositeFieldContainer[_persons_service_pb2.IncomeState]
    def __init__(self, version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ..., details: _Optional[_Union[_household_pb2.HouseholdDetails, _Mapping]] = ..., members: _Optional[_Iterable[_Union[MemberState, _Mapping]]] = ..., incomes: _Optional[_Iterable[_Union[_persons_service_pb2.IncomeState, _Mapping]]] = ...) -> None: ...

class MemberState(_message.Message):
    __slots__ = ("fact_id", "person_id", "version", "details", "tombstone")
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    PERSON_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    TOMBSTONE_FIELD_NUMBER: _ClassVar[int]
    fact_id: str
    person_id: str
    version: _version_pb2.Version
    details: _household_pb2.MemberDetails
    tombstone: _version_pb2.Tombstone
    def __init__(self, fact_id: _Optional[str] = ..., person_id: _Optional[str] = ..., version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ..., details: _Optional[_Union[_household_pb2.MemberDetails, _Mapping]] = ..., tombstone: _Optional[_Union[_version_pb2.Tombstone, _Mapping]] = ...) -> None: ...

class ListHouseholdsRequest(_message.Message):
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

class ListHouseholdsResponse(_message.Message):
    __slots__ = ("entries", "next_page_token", "known_at")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[HouseholdEntry]
    next_page_token: str
    known_at: _timestamp_pb2.Timestamp
    def __init__(self, entries: _Optional[_Iterable[_Union[HouseholdEntry, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., known_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class RecordHouseholdsRequest(_message.Message):
    __slots__ = ("households",)
    HOUSEHOLDS_FIELD_NUMBER: _ClassVar[int]
    households: _containers.RepeatedCompositeFieldContainer[RecordedHousehold]
    def __init__(self, households: _Optional[_Iterable[_Union[RecordedHousehold, _Mapping]]] = ...) -> None: ...

class RecordedHousehold(_message.Message):
    __slots__ = ("request_id", "valid_from", "household", "people", "members", "incomes")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    HOUSEHOLD_FIELD_NUMBER: _ClassVar[int]
    PEOPLE_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    INCOMES_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    valid_from: str
    household: _household_pb2.HouseholdDetails
    people: _containers.RepeatedCompositeFieldContainer[_person_pb2.PersonDetails]
    members: _containers.RepeatedCompositeFieldContainer[_household_pb2.MemberDetails]
    incomes: _containers.RepeatedCompositeFieldContainer[RecordedIncome]
    def __init__(self, request_id: _Optional[str] = ..., valid_from: _Optional[str] = ..., household: _Optional[_Union[_household_pb2.HouseholdDetails, _Mapping]] = ..., people: _Optional[_Iterable[_Union[_person_pb2.PersonDetails, _Mapping]]] = ..., members: _Optional[_Iterable[_Union[_household_pb2.MemberDetails, _Mapping]]] = ..., incomes: _Optional[_Iterable[_Union[RecordedIncome, _Mapping]]] = ...) -> None: ...

class RecordedIncome(_message.Message):
    __slots__ = ("earner", "details")
    EARNER_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    earner: _household_pb2.PersonRef
    details: _income_pb2.IncomeDetails
    def __init__(self, earner: _Optional[_Union[_household_pb2.PersonRef, _Mapping]] = ..., details: _Optional[_Union[_income_pb2.IncomeDetails, _Mapping]] = ...) -> None: ...

class RecordHouseholdsResponse(_message.Message):
    __slots__ = ("households",)
    HOUSEHOLDS_FIELD_NUMBER: _ClassVar[int]
    households: _containers.RepeatedCompositeFieldContainer[RecordedHouseholdIds]
    def __init__(self, households: _Optional[_Iterable[_Union[RecordedHouseholdIds, _Mapping]]] = ...) -> None: ...

class RecordedHouseholdIds(_message.Message):
    __slots__ = ("household_id", "person_ids", "member_fact_ids", "income_fact_ids")
    HOUSEHOLD_ID_FIELD_NUMBER: _ClassVar[int]
    PERSON_IDS_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FACT_IDS_FIELD_NUMBER: _ClassVar[int]
    INCOME_FACT_IDS_FIELD_NUMBER: _ClassVar[int]
    household_id: str
    person_ids: _containers.RepeatedScalarFieldContainer[str]
    member_fact_ids: _containers.RepeatedScalarFieldContainer[str]
    income_fact_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, household_id: _Optional[str] = ..., person_ids: _Optional[_Iterable[str]] = ..., member_fact_ids: _Optional[_Iterable[str]] = ..., income_fact_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class CorrectHouseholdRequest(_message.Message):
    __slots__ = ("request_id", "household_id", "valid_from", "seen_version_id", "details")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    HOUSEHOLD_ID_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    SEEN_VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    household_id: str
    valid_from: str
    seen_version_id: str
    details: _household_pb2.HouseholdDetails
    def __init__(self, request_id: _Optional[str] = ..., household_id: _Optional[str] = ..., valid_from: _Optional[str] = ..., seen_version_id: _Optional[str] = ..., details: _Optional[_Union[_household_pb2.HouseholdDetails, _Mapping]] = ...) -> None: ...

class CorrectHouseholdResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: _version_pb2.Version
    def __init__(self, version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ...) -> None: ...

class CorrectMemberRequest(_message.Message):
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
    details: _household_pb2.MemberDetails
    def __init__(self, request_id: _Optional[str] = ..., fact_id: _Optional[str] = ..., valid_from: _Optional[str] = ..., seen_version_id: _Optional[str] = ..., details: _Optional[_Union[_household_pb2.MemberDetails, _Mapping]] = ...) -> None: ...

class CorrectMemberResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: _version_pb2.Version
    def __init__(self, version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ...) -> None: ...

class EndMemberRequest(_message.Message):
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

class EndMemberResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: _version_pb2.Version
    def __init__(self, version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ...) -> None: ...
