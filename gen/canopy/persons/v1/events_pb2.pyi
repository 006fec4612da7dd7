from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class PersonRecorded(_message.Message):
    __slots__ = ("person_id", "version_id", "valid_from")
    PERSON_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    person_id: str
    version_id: str
    valid_from: str
    def __init__(self, person_id: _Optional[str] = ..., version_id: _Optional[str] = ..., valid_from: _Optional[str] = ...) -> None: ...

class HouseholdRecorded(_message.Message):
    __slots__ = ("household_id", "version_id", "valid_from")
    HOUSEHOLD_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    household_id: str
    version_id: str
    valid_from: str
    def __init__(self, household_id: _Optional[str] = ..., version_id: _Optional[str] = ..., valid_from: _Optional[str] = ...) -> None: ...

class MemberRecorded(_message.Message):
    __slots__ = ("fact_id", "household_id", "person_id", "version_id", "valid_from")
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    HOUSEHOLD_ID_FIELD_NUMBER: _ClassVar[int]
    PERSON_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    fact_id: str
    household_id: str
    person_id: str
    version_id: str
    valid_from: str
    def __init__(self, fact_id: _Optional[str] = ..., household_id: _Optional[str] = ..., person_id: _Optional[str] = ..., version_id: _Optional[str] = ..., valid_from: _Optional[str] = ...) -> None: ...

class IncomeRecorded(_message.Message):
    __slots__ = ("fact_id", "person_id", "version_id", "valid_from")
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    PERSON_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    fact_id: str
    person_id: str
    version_id: str
    valid_from: str
    def __init__(self, fact_id: _Optional[str] = ..., person_id: _Optional[str] = ..., version_id: _Optional[str] = ..., valid_from: _Optional[str] = ...) -> None: ...
