from canopy.applications.v1 import application_pb2 as _application_pb2
from canopy.options.v1 import field_pb2 as _field_pb2
from canopy.persons.v1 import household_pb2 as _household_pb2
from canopy.persons.v1 import income_pb2 as _income_pb2
from canopy.persons.v1 import person_pb2 as _person_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ContactKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONTACT_KIND_UNSPECIFIED: _ClassVar[ContactKind]
    CONTACT_KIND_TEXT: _ClassVar[ContactKind]
    CONTACT_KIND_VOICE: _ClassVar[ContactKind]
    CONTACT_KIND_EMAIL: _ClassVar[ContactKind]

class MessageWording(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MESSAGE_WORDING_UNSPECIFIED: _ClassVar[MessageWording]
    MESSAGE_WORDING_NEUTRAL: _ClassVar[MessageWording]
    MESSAGE_WORDING_PLAIN: _ClassVar[MessageWording]

class VoterRegistration(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VOTER_REGISTRATION_UNSPECIFIED: _ClassVar[VoterRegistration]
    VOTER_REGISTRATION_YES: _ClassVar[VoterRegistration]
    VOTER_REGISTRATION_NO: _ClassVar[VoterRegistration]
    VOTER_REGISTRATION_ALREADY: _ClassVar[VoterRegistration]
    VOTER_REGISTRATION_NOT_ANSWERED: _ClassVar[VoterRegistration]
CONTACT_KIND_UNSPECIFIED: ContactKind
CONTACT_KIND_TEXT: ContactKind
CONTACT_KIND_VOICE: ContactKind
CONTACT_KIND_EMAIL: ContactKind
MESSAGE_WORDING_UNSPECIFIED: MessageWording
MESSAGE_WORDING_NEUTRAL: MessageWording
MESSAGE_WORDING_PLAIN: MessageWording
VOTER_REGISTRATION_UNSPECIFIED: VoterRegistration
VOTER_REGISTRATION_YES: VoterRegistration
VOTER_REGISTRATION_NO: VoterRegistration
VOTER_REGISTRATION_ALREADY: VoterRegistration
VOTER_REGISTRATION_NOT_ANSWERED: VoterRegistration

class FinalizeRequest(_message.Message):
    __slots__ = ("kind", "filed_application_id", "people", "household", "incomes", "submitted_by", "confidentiality", "contacts", "language", "signature", "consents", "representative", "voter_registration", "expedited")
    KIND_FIELD_NUMBER: _ClassVar[int]
    FILED_APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    PEOPLE_FIELD_NUMBER: _ClassVar[int]
    HOUSEHOLD_FIELD_NUMBER: _ClassVar[int]
    INCOMES_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_BY_FIELD_NUMBER: _ClassVar[int]
    CONFIDENTIALITY_FIELD_NUMBER: _ClassVar[int]
    CONTACTS_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    CONSENTS_FIELD_NUMBER: _ClassVar[int]
    REPRESENTATIVE_FIELD_NUMBER: _ClassVar[int]
    VOTER_REGISTRATION_FIELD_NUMBER: _ClassVar[int]
    EXPEDITED_FIELD_NUMBER: _ClassVar[int]
    kind: _application_pb2.FilingKind
    filed_application_id: str
    people: _containers.RepeatedCompositeFieldContainer[FiledPerson]
    household: FiledHousehold
    incomes: _containers.RepeatedCompositeFieldContainer[FiledIncome]
    submitted_by: int
    confidentiality: _application_pb2.Confidentiality
    contacts: _containers.RepeatedCompositeFieldContainer[Contact]
    language: str
    signature: Signature
    consents: _containers.RepeatedCompositeFieldContainer[Consent]
    representative: AuthorizedRepresentative
    voter_registration: VoterRegistration
    expedited: ExpeditedAnswers
    def __init__(self, kind: _Optional[_Union[_application_pb2.FilingKind, str]] = ..., filed_application_id: _Optional[str] = ..., people: _Optional[_Iterable[_Union[FiledPerson, _Mapping]]] = ..., household: _Optional[_Union[FiledHousehold, _Mapping]] = ..., incomes: _Optional[_Iterable[_Union[FiledIncome, _Mapping]]] = ..., submitted_by: _Optional[int] = ..., confidentiality: _Optional[_Union[_application_pb2.Confidentiality, str]] = ..., contacts: _Optional[_Iterable[_Union[Contact, _Mapping]]] = ..., language: _Optional[str] = ..., signature: _Optional[_Union[Signature, _Mapping]] = ..., consents: _Optional[_Iterable[_Union[Consent, _Mapping]]] = ..., representative: _Optional[_Union[AuthorizedRepresentative, _Mapping]] = ..., voter_registration: _Optional[_Union[VoterRegistration, str]] = ..., expedited: _Optional[_Union[ExpeditedAnswers, _Mapping]] = ...) -> None: ...

class FiledPerson(_message.Message):
    __slots__ = ("person_id", "details", "programs", "member", "member_fact_id")
    PERSON_ID_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    PROGRAMS_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FACT_ID_FIELD_NUMBER: _ClassVar[int]
    person_id: str
    details: _person_pb2.PersonDetails
    programs: _containers.RepeatedScalarFieldContainer[_application_pb2.Program]
    member: _household_pb2.MemberDetails
    member_fact_id: str
    def __init__(self, person_id: _Optional[str] = ..., details: _Optional[_Union[_person_pb2.PersonDetails, _Mapping]] = ..., programs: _Optional[_Iterable[_Union[_application_pb2.Program, str]]] = ..., member: _Optional[_Union[_household_pb2.MemberDetails, _Mapping]] = ..., member_fact_id: _Optional[str] = ...) -> None: ...

class FiledHousehold(_message.Message):
    __slots__ = ("household_id", "details")
    HOUSEHOLD_ID_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    household_id: str
    details: _household_pb2.HouseholdDetails
    def __init__(self, household_id: _Optional[str] = ..., details: _Optional[_Union[_household_pb2.HouseholdDetails, _Mapping]] = ...) -> None: ...

class FiledIncome(_message.Message):
    __slots__ = ("fact_id", "earner", "details")
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    EARNER_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    fact_id: str
    earner: int
    details: _income_pb2.IncomeDetails
    def __init__(self, fact_id: _Optional[str] = ..., earner: _Optional[int] = ..., details: _Optional[_Union[_income_pb2.IncomeDetails, _Mapping]] = ...) -> None: ...

class Contact(_message.Message):
    __slots__ = ("kind", "phone", "email", "safe", "wording")
    KIND_FIELD_NUMBER: _ClassVar[int]
    PHONE_FIELD_NUMBER: _ClassVar[int]
    EMAIL_FIELD_NUMBER: _ClassVar[int]
    SAFE_FIELD_NUMBER: _ClassVar[int]
    WORDING_FIELD_NUMBER: _ClassVar[int]
    kind: ContactKind
    phone: str
    email: str
    safe: bool
    wording: MessageWording
    def __init__(self, kind: _Optional[_Union[ContactKind, str]] = ..., phone: _Optional[str] = ..., email: _Optional[str] = ..., safe: _Optional[bool] = ..., wording: _Optional[_Union[MessageWording, str]] = ...) -> None: ...

class Signature(_message.Message):
    __slots__ = ("name", "statement_version")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATEMENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    name: str
    statement_version: str
    def __init__(self, name: _Optional[str] = ..., statement_version: _Optional[str] = ...) -> None: ...

class Consent(_message.Message):
    __slots__ = ("text", "version")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    text: str
    version: str
    def __init__(self, text: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...

class AuthorizedRepresentative(_message.Message):
    __slots__ = ("name", "phone", "programs", "until")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PHONE_FIELD_NUMBER: _ClassVar[int]
    PROGRAMS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    name: str
    phone: str
    programs: _containers.RepeatedScalarFieldContainer[_application_pb2.Program]
    until: str
    def __init__(self, name: _Optional[str] = ..., phone: _Optional[str] = ..., programs: _Optional[_Iterable[_Union[_application_pb2.Program, str]]] = ..., until: _Optional[str] = ...) -> None: ...

class ExpeditedAnswers(_message.Message):
    __slots__ = ("gross_income_cents", "liquid_resources_cents", "shelter_cents", "utilities_cents", "destitute_farm_worker")
    GROSS_INCOME_CENTS_FIELD_NUMBER: _ClassVar[int]
    LIQUID_RESOURCES_CENTS_FIELD_NUMBER: _ClassVar[int]
    SHELTER_CENTS_FIELD_NUMBER: _ClassVar[int]
    UTILITIES_CENTS_FIELD_NUMBER: _ClassVar[int]
    DESTITUTE_FARM_WORKER_FIELD_NUMBER: _ClassVar[int]
    gross_income_cents: int
    liquid_resources_cents: int
    shelter_cents: int
    utilities_cents: int
    destitute_farm_worker: bool
    def __init__(self, gross_income_cents: _Optional[int] = ..., liquid_resources_cents: _Optional[int] = ..., shelter_cents: _Optional[int] = ..., utilities_cents: _Optional[int] = ..., destitute_farm_worker: _Optional[bool] = ...) -> None: ...
