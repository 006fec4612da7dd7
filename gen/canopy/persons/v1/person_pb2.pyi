from canopy.options.v1 import field_pb2 as _field_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DatePrecision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DATE_PRECISION_UNSPECIFIED: _ClassVar[DatePrecision]
    DATE_PRECISION_EXACT: _ClassVar[DatePrecision]
    DATE_PRECISION_MONTH: _ClassVar[DatePrecision]
    DATE_PRECISION_YEAR: _ClassVar[DatePrecision]
    DATE_PRECISION_ABOUT: _ClassVar[DatePrecision]

class Sex(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEX_UNSPECIFIED: _ClassVar[Sex]
    SEX_FEMALE: _ClassVar[Sex]
    SEX_MALE: _ClassVar[Sex]
    SEX_UNKNOWN: _ClassVar[Sex]

class TaxpayerNumberStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TAXPAYER_NUMBER_STATUS_UNSPECIFIED: _ClassVar[TaxpayerNumberStatus]
    TAXPAYER_NUMBER_STATUS_HELD: _ClassVar[TaxpayerNumberStatus]
    TAXPAYER_NUMBER_STATUS_APPLIED_FOR: _ClassVar[TaxpayerNumberStatus]
    TAXPAYER_NUMBER_STATUS_NONE: _ClassVar[TaxpayerNumberStatus]
    TAXPAYER_NUMBER_STATUS_PREFERS_NOT_TO_SAY: _ClassVar[TaxpayerNumberStatus]
    TAXPAYER_NUMBER_STATUS_NOT_ASKED: _ClassVar[TaxpayerNumberStatus]

class TaxpayerNumberKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TAXPAYER_NUMBER_KIND_UNSPECIFIED: _ClassVar[TaxpayerNumberKind]
    TAXPAYER_NUMBER_KIND_SSN: _ClassVar[TaxpayerNumberKind]
    TAXPAYER_NUMBER_KIND_ITIN: _ClassVar[TaxpayerNumberKind]

class RaceEthnicity(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RACE_ETHNICITY_UNSPECIFIED: _ClassVar[RaceEthnicity]
    RACE_ETHNICITY_AMERICAN_INDIAN_OR_ALASKA_NATIVE: _ClassVar[RaceEthnicity]
    RACE_ETHNICITY_ASIAN: _ClassVar[RaceEthnicity]
    RACE_ETHNICITY_BLACK: _ClassVar[RaceEthnicity]
    RACE_ETHNICITY_HISPANIC: _ClassVar[RaceEthnicity]
    RACE_ETHNICITY_MIDDLE_EASTERN_OR_NORTH_AFRICAN: _ClassVar[RaceEthnicity]
    RACE_ETHNICITY_PACIFIC_ISLANDER: _ClassVar[RaceEthnicity]
    RACE_ETHNICITY_WHITE: _ClassVar[RaceEthnicity]
    RACE_ETHNICITY_NOT_ANSWERED: _ClassVar[RaceEthnicity]

class CitizenshipStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CITIZENSHIP_STATUS_UNSPECIFIED: _ClassVar[CitizenshipStatus]
    CITIZENSHIP_STATUS_CITIZEN: _ClassVar[CitizenshipStatus]
    CITIZENSHIP_STATUS_NATIONAL: _ClassVar[CitizenshipStatus]
    CITIZENSHIP_STATUS_ELIGIBLE_NON_CITIZEN: _ClassVar[CitizenshipStatus]
    CITIZENSHIP_STATUS_OTHER_NON_CITIZEN: _ClassVar[CitizenshipStatus]
    CITIZENSHIP_STATUS_UNKNOWN: _ClassVar[CitizenshipStatus]

class ImmigrationStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    IMMIGRATION_STATUS_UNSPECIFIED: _ClassVar[ImmigrationStatus]
    IMMIGRATION_STATUS_PERMANENT_RESIDENT: _ClassVar[ImmigrationStatus]
    IMMIGRATION_STATUS_REFUGEE: _ClassVar[ImmigrationStatus]
    IMMIGRATION_STATUS_ASYLEE: _ClassVar[ImmigrationStatus]
    IMMIGRATION_STATUS_CUBAN_OR_HAITIAN_ENTRANT: _ClassVar[ImmigrationStatus]
    IMMIGRATION_STATUS_COMPACT_OF_FREE_ASSOCIATION: _ClassVar[ImmigrationStatus]
    IMMIGRATION_STATUS_TRAFFICKING_VICTIM: _ClassVar[ImmigrationStatus]
    IMMIGRATION_STATUS_BATTERED: _ClassVar[ImmigrationStatus]
    IMMIGRATION_STATUS_OTHER_QUALIFIED: _ClassVar[ImmigrationStatus]

class MaritalStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MARITAL_STATUS_UNSPECIFIED: _ClassVar[MaritalStatus]
    MARITAL_STATUS_SINGLE: _ClassVar[MaritalStatus]
    MARITAL_STATUS_MARRIED_TOGETHER: _ClassVar[MaritalStatus]
    MARITAL_STATUS_MARRIED_APART: _ClassVar[MaritalStatus]
    MARITAL_STATUS_WIDOWED: _ClassVar[MaritalStatus]
    MARITAL_STATUS_DIVORCED: _ClassVar[MaritalStatus]
    MARITAL_STATUS_UNKNOWN: _ClassVar[MaritalStatus]

class Education(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EDUCATION_UNSPECIFIED: _ClassVar[Education]
    EDUCATION_NONE: _ClassVar[Education]
    EDUCATION_GRADES: _ClassVar[Education]
    EDUCATION_HIGH_SCHOOL: _ClassVar[Education]
    EDUCATION_ASSOCIATE: _ClassVar[Education]
    EDUCATION_BACHELOR: _ClassVar[Education]
    EDUCATION_GRADUATE: _ClassVar[Education]
    EDUCATION_OTHER_CREDENTIAL: _ClassVar[Education]
    EDUCATION_UNKNOWN: _ClassVar[Education]

class CircumstanceKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CIRCUMSTANCE_KIND_UNSPECIFIED: _ClassVar[CircumstanceKind]
    CIRCUMSTANCE_KIND_SSI: _ClassVar[CircumstanceKind]
    CIRCUMSTANCE_KIND_SSDI: _ClassVar[CircumstanceKind]
    CIRCUMSTANCE_KIND_AABD: _ClassVar[CircumstanceKind]
    CIRCUMSTANCE_KIND_TITLE_XIV_APDT: _ClassVar[CircumstanceKind]
    CIRCUMSTANCE_KIND_OTHER_DISABILITY_BENEFIT: _ClassVar[CircumstanceKind]
    CIRCUMSTANCE_KIND_PREGNANCY: _ClassVar[CircumstanceKind]
    CIRCUMSTANCE_KIND_STUDENT: _ClassVar[CircumstanceKind]
    CIRCUMSTANCE_KIND_VETERAN: _ClassVar[CircumstanceKind]
    CIRCUMSTANCE_KIND_FOSTER_CARE: _ClassVar[CircumstanceKind]
DATE_PRECISION_UNSPECIFIED: DatePrecision
DATE_PRECISION_EXACT: DatePrecision
DATE_PRECISION_MONTH: DatePrecision
DATE_PRECISION_YEAR: DatePrecision
DATE_PRECISION_ABOUT: DatePrecision
SEX_UNSPECIFIED: Sex
SEX_FEMALE: Sex
SEX_MALE: Sex
SEX_UNKNOWN: Sex
TAXPAYER_NUMBER_STATUS_UNSPECIFIED: TaxpayerNumberStatus
TAXPAYER_NUMBER_STATUS_HELD: TaxpayerNumberStatus
TAXPAYER_NUMBER_STATUS_APPLIED_FOR: TaxpayerNumberStatus
TAXPAYER_NUMBER_STATUS_NONE: TaxpayerNumberStatus
TAXPAYER_NUMBER_STATUS_PREFERS_NOT_TO_SAY: TaxpayerNumberStatus
TAXPAYER_NUMBER_STATUS_NOT_ASKED: TaxpayerNumberStatus
TAXPAYER_NUMBER_KIND_UNSPECIFIED: TaxpayerNumberKind
TAXPAYER_NUMBER_KIND_SSN: TaxpayerNumberKind
TAXPAYER_NUMBER_KIND_ITIN: TaxpayerNumberKind
RACE_ETHNICITY_UNSPECIFIED: RaceEthnicity
RACE_ETHNICITY_AMERICAN_INDIAN_OR_ALASKA_NATIVE: RaceEthnicity
RACE_ETHNICITY_ASIAN: RaceEthnicity
RACE_ETHNICITY_BLACK: RaceEthnicity
RACE_ETHNICITY_HISPANIC: RaceEthnicity
RACE_ETHNICITY_MIDDLE_EASTERN_OR_NORTH_AFRICAN: RaceEthnicity
RACE_ETHNICITY_PACIFIC_ISLANDER: RaceEthnicity
RACE_ETHNICITY_WHITE: RaceEthnicity
RACE_ETHNICITY_NOT_ANSWERED: RaceEthnicity
CITIZENSHIP_STATUS_UNSPECIFIED: CitizenshipStatus
CITIZENSHIP_STATUS_CITIZEN: CitizenshipStatus
CITIZENSHIP_STATUS_NATIONAL: CitizenshipStatus
CITIZENSHIP_STATUS_ELIGIBLE_NON_CITIZEN: CitizenshipStatus
CITIZENSHIP_STATUS_OTHER_NON_CITIZEN: CitizenshipStatus
CITIZENSHIP_STATUS_UNKNOWN: CitizenshipStatus
IMMIGRATION_STATUS_UNSPECIFIED: ImmigrationStatus
IMMIGRATION_STATUS_PERMANENT_RESIDENT: ImmigrationStatus
IMMIGRATION_STATUS_REFUGEE: ImmigrationStatus
IMMIGRATION_STATUS_ASYLEE: ImmigrationStatus
IMMIGRATION_STATUS_CUBAN_OR_HAITIAN_ENTRANT: ImmigrationStatus
IMMIGRATION_STATUS_COMPACT_OF_FREE_ASSOCIATION: ImmigrationStatus
IMMIGRATION_STATUS_TRAFFICKING_VICTIM: ImmigrationStatus
IMMIGRATION_STATUS_BATTERED: ImmigrationStatus
IMMIGRATION_STATUS_OTHER_QUALIFIED: ImmigrationStatus
MARITAL_STATUS_UNSPECIFIED: MaritalStatus
MARITAL_STATUS_SINGLE: MaritalStatus
MARITAL_STATUS_MARRIED_TOGETHER: MaritalStatus
MARITAL_STATUS_MARRIED_APART: MaritalStatus
MARITAL_STATUS_WIDOWED: MaritalStatus
MARITAL_STATUS_DIVORCED: MaritalStatus
MARITAL_STATUS_UNKNOWN: MaritalStatus
EDUCATION_UNSPECIFIED: Education
EDUCATION_NONE: Education
EDUCATION_GRADES: Education
EDUCATION_HIGH_SCHOOL: Education
EDUCATION_ASSOCIATE: Education
EDUCATION_BACHELOR: Education
EDUCATION_GRADUATE: Education
EDUCATION_OTHER_CREDENTIAL: Education
EDUCATION_UNKNOWN: Education
CIRCUMSTANCE_KIND_UNSPECIFIED: CircumstanceKind
CIRCUMSTANCE_KIND_SSI: CircumstanceKind
CIRCUMSTANCE_KIND_SSDI: CircumstanceKind
CIRCUMSTANCE_KIND_AABD: CircumstanceKind
CIRCUMSTANCE_KIND_TITLE_XIV_APDT: CircumstanceKind
CIRCUMSTANCE_KIND_OTHER_DISABILITY_BENEFIT: CircumstanceKind
CIRCUMSTANCE_KIND_PREGNANCY: CircumstanceKind
CIRCUMSTANCE_KIND_STUDENT: CircumstanceKind
CIRCUMSTANCE_KIND_VETERAN: CircumstanceKind
CIRCUMSTANCE_KIND_FOSTER_CARE: CircumstanceKind

class PartialDate(_message.Message):
    __slots__ = ("precision", "value")
    PRECISION_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    precision: DatePrecision
    value: str
    def __init__(self, precision: _Optional[_Union[DatePrecision, str]] = ..., value: _Optional[str] = ...) -> None: ...

class PersonName(_message.Message):
    __slots__ = ("given", "middle", "family", "suffix", "preferred", "single_name")
    GIVEN_FIELD_NUMBER: _ClassVar[int]
    MIDDLE_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    SUFFIX_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_FIELD_NUMBER: _ClassVar[int]
    SINGLE_NAME_FIELD_NUMBER: _ClassVar[int]
    given: str
    middle: str
    family: str
    suffix: str
    preferred: str
    single_name: bool
    def __init__(self, given: _Optional[str] = ..., middle: _Optional[str] = ..., family: _Optional[str] = ..., suffix: _Optional[str] = ..., preferred: _Optional[str] = ..., single_name: _Optional[bool] = ...) -> None: ...

class TaxpayerNumber(_message.Message):
    __slots__ = ("status", "kind", "number", "verified")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    VERIFIED_FIELD_NUMBER: _ClassVar[int]
    status: TaxpayerNumberStatus
    kind: TaxpayerNumberKind
    number: str
    verified: bool
    def __init__(self, status: _Optional[_Union[TaxpayerNumberStatus, str]] = ..., kind: _Optional[_Union[TaxpayerNumberKind, str]] = ..., number: _Optional[str] = ..., verified: _Optional[bool] = ...) -> None: ...

class Citizenship(_message.Message):
    __slots__ = ("status", "immigration_status", "five_year_bar_end")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    IMMIGRATION_STATUS_FIELD_NUMBER: _ClassVar[int]
    FIVE_YEAR_BAR_END_FIELD_NUMBER: _ClassVar[int]
    status: CitizenshipStatus
    immigration_status: ImmigrationStatus
    five_year_bar_end: str
    def __init__(self, status: _Optional[_Union[CitizenshipStatus, str]] = ..., immigration_status: _Optional[_Union[ImmigrationStatus, str]] = ..., five_year_bar_end: _Optional[str] = ...) -> None: ...

class Circumstance(_message.Message):
    __slots__ = ("kind", "until", "due_date", "expected_children")
    KIND_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    DUE_DATE_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_CHILDREN_FIELD_NUMBER: _ClassVar[int]
    kind: CircumstanceKind
    until: str
    due_date: str
    expected_children: int
    def __init__(self, kind: _Optional[_Union[CircumstanceKind, str]] = ..., until: _Optional[str] = ..., due_date: _Optional[str] = ..., expected_children: _Optional[int] = ..., **kwargs) -> None: ...

class PersonDetails(_message.Message):
    __slots__ = ("name", "birth_date", "death_date", "sex", "taxpayer_number", "race_ethnicity", "race_ethnicity_detail", "citizenship", "marital_status", "education", "highest_grade", "language", "needs_interpreter", "circumstances")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BIRTH_DATE_FIELD_NUMBER: _ClassVar[int]
    DEATH_DATE_FIELD_NUMBER: _ClassVar[int]
    SEX_FIELD_NUMBER: _ClassVar[int]
    TAXPAYER_NUMBER_FIELD_NUMBER: _ClassVar[int]
    RACE_ETHNICITY_FIELD_NUMBER: _ClassVar[int]
    RACE_ETHNICITY_DETAIL_FIELD_NUMBER: _ClassVar[int]
    CITIZENSHIP_FIELD_NUMBER: _ClassVar[int]
    MARITAL_STATUS_FIELD_NUMBER: _ClassVar[int]
    EDUCATION_FIELD_NUMBER: _ClassVar[int]
    HIGHEST_GRADE_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    NEEDS_INTERPRETER_FIELD_NUMBER: _ClassVar[int]
    CIRCUMSTANCES_FIELD_NUMBER: _ClassVar[int]
    name: PersonName
    birth_date: PartialDate
    death_date: str
    sex: Sex
    taxpayer_number: TaxpayerNumber
    race_ethnicity: _containers.RepeatedScalarFieldContainer[RaceEthnicity]
    race_ethnicity_detail: str
    citizenship: Citizenship
    marital_status: MaritalStatus
    education: Education
    highest_grade: int
    language: str
    needs_interpreter: bool
    circumstances: _containers.RepeatedCompositeFieldContainer[Circumstance]
    def __init__(self, name: _Optional[_Union[PersonName, _Mapping]] = ..., birth_date: _Optional[_Union[PartialDate, _Mapping]] = ..., death_date: _Optional[str] = ..., sex: _Optional[_Union[Sex, str]] = ..., taxpayer_number: _Optional[_Union[TaxpayerNumber, _Mapping]] = ..., race_ethnicity: _Optional[_Iterable[_Union[RaceEthnicity, str]]] = ..., race_ethnicity_detail: _Optional[str] = ..., citizenship: _Optional[_Union[Citizenship, _Mapping]] = ..., marital_status: _Optional[_Union[MaritalStatus, str]] = ..., education: _Optional[_Union[Education, str]] = ..., highest_grade: _Optional[int] = ..., language: _Optional[str] = ..., needs_interpreter: _Optional[bool] = ..., circumstances: _Optional[_Iterable[_Union[Circumstance, _Mapping]]] = ...) -> None: ...
