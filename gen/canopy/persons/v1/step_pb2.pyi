from canopy.options.v1 import field_pb2 as _field_pb2
from canopy.persons.v1 import household_pb2 as _household_pb2
from canopy.persons.v1 import income_pb2 as _income_pb2
from canopy.persons.v1 import person_pb2 as _person_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StepKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STEP_KIND_UNSPECIFIED: _ClassVar[StepKind]
    STEP_KIND_PERSON: _ClassVar[StepKind]
    STEP_KIND_HOUSEHOLD: _ClassVar[StepKind]
    STEP_KIND_MEMBER: _ClassVar[StepKind]
    STEP_KIND_INCOME: _ClassVar[StepKind]
STEP_KIND_UNSPECIFIED: StepKind
STEP_KIND_PERSON: StepKind
STEP_KIND_HOUSEHOLD: StepKind
STEP_KIND_MEMBER: StepKind
STEP_KIND_INCOME: StepKind

class StepKey(_message.Message):
    __slots__ = ("kind", "index")
    KIND_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    kind: StepKind
    index: int
    def __init__(self, kind: _Optional[_Union[StepKind, str]] = ..., index: _Optional[int] = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ("key", "person", "household", "member", "income")
    KEY_FIELD_NUMBER: _ClassVar[int]
    PERSON_FIELD_NUMBER: _ClassVar[int]
    HOUSEHOLD_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    INCOME_FIELD_NUMBER: _ClassVar[int]
    key: StepKey
    person: PersonStep
    household: HouseholdStep
    member: MemberStep
    income: IncomeStep
    def __init__(self, key: _Optional[_Union[StepKey, _Mapping]] = ..., person: _Optional[_Union[PersonStep, _Mapping]] = ..., household: _Optional[_Union[HouseholdStep, _Mapping]] = ..., member: _Optional[_Union[MemberStep, _Mapping]] = ..., income: _Optional[_Union[IncomeStep, _Mapping]] = ...) -> None: ...

class PersonStep(_message.Message):
    __slots__ = ("person_id", "details")
    PERSON_ID_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    person_id: str
    details: _person_pb2.PersonDetails
    def __init__(self, person_id: _Optional[str] = ..., details: _Optional[_Union[_person_pb2.PersonDetails, _Mapping]] = ...) -> None: ...

class HouseholdStep(_message.Message):
    __slots__ = ("household_id", "details")
    HOUSEHOLD_ID_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    household_id: str
    details: _household_pb2.HouseholdDetails
    def __init__(self, household_id: _Optional[str] = ..., details: _Optional[_Union[_household_pb2.HouseholdDetails, _Mapping]] = ...) -> None: ...

class MemberStep(_message.Message):
    __slots__ = ("fact_id", "person", "details")
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    PERSON_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    fact_id: str
    person: _household_pb2.PersonRef
    details: _household_pb2.MemberDetails
    def __init__(self, fact_id: _Optional[str] = ..., person: _Optional[_Union[_household_pb2.PersonRef, _Mapping]] = ..., details: _Optional[_Union[_household_pb2.MemberDetails, _Mapping]] = ...) -> None: ...

class IncomeStep(_message.Message):
    __slots__ = ("fact_id", "earner", "details")
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    EARNER_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    fact_id: str
    earner: _household_pb2.PersonRef
    details: _income_pb2.IncomeDetails
    def __init__(self, fact_id: _Optional[str] = ..., earner: _Optional[_Union[_household_pb2.PersonRef, _Mapping]] = ..., details: _Optional[_Union[_income_pb2.IncomeDetails, _Mapping]] = ...) -> None: ...

class StepReceipt(_message.Message):
    __slots__ = ("key", "stable_id")
    KEY_FIELD_NUMBER: _ClassVar[int]
    STABLE_ID_FIELD_NUMBER: _ClassVar[int]
    key: StepKey
    stable_id: str
    def __init__(self, key: _Optional[_Union[StepKey, _Mapping]] = ..., stable_id: _Optional[str] = ...) -> None: ...
