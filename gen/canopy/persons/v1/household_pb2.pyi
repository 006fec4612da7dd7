from canopy.options.v1 import field_pb2 as _field_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RelationToHead(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RELATION_TO_HEAD_UNSPECIFIED: _ClassVar[RelationToHead]
    RELATION_TO_HEAD_HEAD: _ClassVar[RelationToHead]
    RELATION_TO_HEAD_SPOUSE: _ClassVar[RelationToHead]
    RELATION_TO_HEAD_PARTNER: _ClassVar[RelationToHead]
    RELATION_TO_HEAD_CHILD: _ClassVar[RelationToHead]
    RELATION_TO_HEAD_STEPCHILD: _ClassVar[RelationToHead]
    RELATION_TO_HEAD_FOSTER_CHILD: _ClassVar[RelationToHead]
    RELATION_TO_HEAD_GRANDCHILD: _ClassVar[RelationToHead]
    RELATION_TO_HEAD_PARENT: _ClassVar[RelationToHead]
    RELATION_TO_HEAD_GRANDPARENT: _ClassVar[RelationToHead]
    RELATION_TO_HEAD_SIBLING: _ClassVar[RelationToHead]
    RELATION_TO_HEAD_OTHER_RELATIVE: _ClassVar[RelationToHead]
    RELATION_TO_HEAD_UNRELATED: _ClassVar[RelationToHead]
    RELATION_TO_HEAD_BOARDER: _ClassVar[RelationToHead]

class TieKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TIE_KIND_UNSPECIFIED: _ClassVar[TieKind]
    TIE_KIND_SPOUSE: _ClassVar[TieKind]
    TIE_KIND_PARENT: _ClassVar[TieKind]
    TIE_KIND_SIBLING: _ClassVar[TieKind]
    TIE_KIND_TAX_FILER: _ClassVar[TieKind]
    TIE_KIND_NON_CUSTODIAL_PARENT: _ClassVar[TieKind]
    TIE_KIND_GUARDIAN: _ClassVar[TieKind]
RELATION_TO_HEAD_UNSPECIFIED: RelationToHead
RELATION_TO_HEAD_HEAD: RelationToHead
RELATION_TO_HEAD_SPOUSE: RelationToHead
RELATION_TO_HEAD_PARTNER: RelationToHead
RELATION_TO_HEAD_CHILD: RelationToHead
RELATION_TO_HEAD_STEPCHILD: RelationToHead
RELATION_TO_HEAD_FOSTER_CHILD: RelationToHead
RELATION_TO_HEAD_GRANDCHILD: RelationToHead
RELATION_TO_HEAD_PARENT: RelationToHead
RELATION_TO_HEAD_GRANDPARENT: RelationToHead
RELATION_TO_HEAD_SIBLING: RelationToHead
RELATION_TO_HEAD_OTHER_RELATIVE: RelationToHead
RELATION_TO_HEAD_UNRELATED: RelationToHead
RELATION_TO_HEAD_BOARDER: RelationToHead
TIE_KIND_UNSPECIFIED: TieKind
TIE_KIND_SPOUSE: TieKind
TIE_KIND_PARENT: TieKind
TIE_KIND_SIBLING: TieKind
TIE_KIND_TAX_FILER: TieKind
TIE_KIND_NON_CUSTODIAL_PARENT: TieKind
TIE_KIND_GUARDIAN: TieKind

class Address(_message.Message):
    __slots__ = ("lines", "city", "state", "zip", "county_fips")
    LINES_FIELD_NUMBER: _ClassVar[int]
    CITY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ZIP_FIELD_NUMBER: _ClassVar[int]
    COUNTY_FIPS_FIELD_NUMBER: _ClassVar[int]
    lines: _containers.RepeatedScalarFieldContainer[str]
    city: str
    state: str
    zip: str
    county_fips: str
    def __init__(self, lines: _Optional[_Iterable[str]] = ..., city: _Optional[str] = ..., state: _Optional[str] = ..., zip: _Optional[str] = ..., county_fips: _Optional[str] = ...) -> None: ...

class NoFixedAddress(_message.Message):
    __slots__ = ("city", "county_fips", "state", "note")
    CITY_FIELD_NUMBER: _ClassVar[int]
    COUNTY_FIPS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    city: str
    county_fips: str
    state: str
    note: str
    def __init__(self, city: _Optional[str] = ..., county_fips: _Optional[str] = ..., state: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class HouseholdDetails(_message.Message):
    __slots__ = ("home", "no_fixed_address", "mailing", "address_confidential", "substitute")
    HOME_FIELD_NUMBER: _ClassVar[int]
    NO_FIXED_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    MAILING_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_CONFIDENTIAL_FIELD_NUMBER: _ClassVar[int]
    SUBSTITUTE_FIELD_NUMBER: _ClassVar[int]
    home: Address
    no_fixed_address: NoFixedAddress
    mailing: Address
    address_confidential: bool
    substitute: Address
    def __init__(self, home: _Optional[_Union[Address, _Mapping]] = ..., no_fixed_address: _Optional[_Union[NoFixedAddress, _Mapping]] = ..., mailing: _Optional[_Union[Address, _Mapping]] = ..., address_confidential: _Optional[bool] = ..., substitute: _Optional[_Union[Address, _Mapping]] = ...) -> None: ...

class PersonRef(_message.Message):
    __slots__ = ("index", "person_id")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    PERSON_ID_FIELD_NUMBER: _ClassVar[int]
    index: int
    person_id: str
    def __init__(self, index: _Optional[int] = ..., person_id: _Optional[str] = ...) -> None: ...

class Tie(_message.Message):
    __slots__ = ("to", "kind", "until")
    TO_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    to: PersonRef
    kind: TieKind
    until: str
    def __init__(self, to: _Optional[_Union[PersonRef, _Mapping]] = ..., kind: _Optional[_Union[TieKind, str]] = ..., until: _Optional[str] = ..., **kwargs) -> None: ...

class MemberDetails(_message.Message):
    __slots__ = ("relation", "shares_meals", "ties", "other_household_reason")
    RELATION_FIELD_NUMBER: _ClassVar[int]
    SHARES_MEALS_FIELD_NUMBER: _ClassVar[int]
    TIES_FIELD_NUMBER: _ClassVar[int]
    OTHER_HOUSEHOLD_REASON_FIELD_NUMBER: _ClassVar[int]
    relation: RelationToHead
    shares_meals: bool
    ties: _containers.RepeatedCompositeFieldContainer[Tie]
    other_household_reason: str
    def __init__(self, relation: _Optional[_Union[RelationToHead, str]] = ..., shares_meals: _Optional[bool] = ..., ties: _Optional[_Iterable[_Union[Tie, _Mapping]]] = ..., other_household_reason: _Optional[str] = ...) -> None: ...
