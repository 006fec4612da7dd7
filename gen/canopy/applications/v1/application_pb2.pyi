import datetime

from canopy.options.v1 import field_pb2 as _field_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Program(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROGRAM_UNSPECIFIED: _ClassVar[Program]
    PROGRAM_SNAP: _ClassVar[Program]
    PROGRAM_TANF: _ClassVar[Program]
    PROGRAM_MEDICAID: _ClassVar[Program]
    PROGRAM_CHIP: _ClassVar[Program]
    PROGRAM_CHILD_CARE: _ClassVar[Program]

class FilingKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FILING_KIND_UNSPECIFIED: _ClassVar[FilingKind]
    FILING_KIND_INITIAL: _ClassVar[FilingKind]
    FILING_KIND_SUPPLEMENT: _ClassVar[FilingKind]
    FILING_KIND_RENEWAL: _ClassVar[FilingKind]
    FILING_KIND_CHANGE: _ClassVar[FilingKind]

class SubmissionChannel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUBMISSION_CHANNEL_UNSPECIFIED: _ClassVar[SubmissionChannel]
    SUBMISSION_CHANNEL_PORTAL: _ClassVar[SubmissionChannel]
    SUBMISSION_CHANNEL_KIOSK: _ClassVar[SubmissionChannel]
    SUBMISSION_CHANNEL_PHONE: _ClassVar[SubmissionChannel]
    SUBMISSION_CHANNEL_PAPER: _ClassVar[SubmissionChannel]
    SUBMISSION_CHANNEL_IN_PERSON: _ClassVar[SubmissionChannel]

class Confidentiality(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONFIDENTIALITY_UNSPECIFIED: _ClassVar[Confidentiality]
    CONFIDENTIALITY_STANDARD: _ClassVar[Confidentiality]
    CONFIDENTIALITY_CONFIDENTIAL: _ClassVar[Confidentiality]
    CONFIDENTIALITY_ADDRESS_CONFIDENTIAL: _ClassVar[Confidentiality]
    CONFIDENTIALITY_BOTH: _ClassVar[Confidentiality]

class ApplicationStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    APPLICATION_STATUS_UNSPECIFIED: _ClassVar[ApplicationStatus]
    APPLICATION_STATUS_SUBMITTED: _ClassVar[ApplicationStatus]
    APPLICATION_STATUS_UNDER_REVIEW: _ClassVar[ApplicationStatus]
    APPLICATION_STATUS_DECIDED: _ClassVar[ApplicationStatus]
    APPLICATION_STATUS_WITHDRAWN: _ClassVar[ApplicationStatus]

class DeterminationState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DETERMINATION_STATE_UNSPECIFIED: _ClassVar[DeterminationState]
    DETERMINATION_STATE_PENDING: _ClassVar[DeterminationState]
    DETERMINATION_STATE_APPROVED: _ClassVar[DeterminationState]
    DETERMINATION_STATE_DENIED: _ClassVar[DeterminationState]
    DETERMINATION_STATE_WITHDRAWN: _ClassVar[DeterminationState]
PROGRAM_UNSPECIFIED: Program
PROGRAM_SNAP: Program
PROGRAM_TANF: Program
PROGRAM_MEDICAID: Program
PROGRAM_CHIP: Program
PROGRAM_CHILD_CARE: Program
FILING_KIND_UNSPECIFIED: FilingKind
FILING_KIND_INITIAL: FilingKind
FILING_KIND_SUPPLEMENT: FilingKind
FILING_KIND_RENEWAL: FilingKind
FILING_KIND_CHANGE: FilingKind
SUBMISSION_CHANNEL_UNSPECIFIED: SubmissionChannel
SUBMISSION_CHANNEL_PORTAL: SubmissionChannel
SUBMISSION_CHANNEL_KIOSK: SubmissionChannel
SUBMISSION_CHANNEL_PHONE: SubmissionChannel
SUBMISSION_CHANNEL_PAPER: SubmissionChannel
SUBMISSION_CHANNEL_IN_PERSON: SubmissionChannel
CONFIDENTIALITY_UNSPECIFIED: Confidentiality
CONFIDENTIALITY_STANDARD: Confidentiality
CONFIDENTIALITY_CONFIDENTIAL: Confidentiality
CONFIDENTIALITY_ADDRESS_CONFIDENTIAL: Confidentiality
CONFIDENTIALITY_BOTH: Confidentiality
APPLICATION_STATUS_UNSPECIFIED: ApplicationStatus
APPLICATION_STATUS_SUBMITTED: ApplicationStatus
APPLICATION_STATUS_UNDER_REVIEW: ApplicationStatus
APPLICATION_STATUS_DECIDED: ApplicationStatus
APPLICATION_STATUS_WITHDRAWN: ApplicationStatus
DETERMINATION_STATE_UNSPECIFIED: DeterminationState
DETERMINATION_STATE_PENDING: DeterminationState
DETERMINATION_STATE_APPROVED: DeterminationState
DETERMINATION_STATE_DENIED: DeterminationState
DETERMINATION_STATE_WITHDRAWN: DeterminationState

class Determination(_message.Message):
    __slots__ = ("person_id", "program", "state", "decided_on", "reason", "effective_from", "notice_date")
    PERSON_ID_FIELD_NUMBER: _ClassVar[int]
    PROGRAM_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    DECIDED_ON_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_FROM_FIELD_NUMBER: _ClassVar[int]
    NOTICE_DATE_FIELD_NUMBER: _ClassVar[int]
    person_id: str
    program: Program
    state: DeterminationState
    decided_on: str
    reason: str
    effective_from: str
    notice_date: str
    def __init__(self, person_id: _Optional[str] = ..., program: _Optional[_Union[Program, str]] = ..., state: _Optional[_Union[DeterminationState, str]] = ..., decided_on: _Optional[str] = ..., reason: _Optional[str] = ..., effective_from: _Optional[str] = ..., notice_date: _Optional[str] = ...) -> None: ...

class Application(_message.Message):
    __slots__ = ("application_id", "code", "kind", "status", "household_id", "submitted_by", "programs_requested", "determinations", "channel", "confidentiality", "received_at", "filing_date", "basis_date", "recovery_locked")
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    HOUSEHOLD_ID_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_BY_FIELD_NUMBER: _ClassVar[int]
    PROGRAMS_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    DETERMINATIONS_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    CONFIDENTIALITY_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_AT_FIELD_NUMBER: _ClassVar[int]
    FILING_DATE_FIELD_NUMBER: _ClassVar[int]
    BASIS_DATE_FIELD_NUMBER: _ClassVar[int]
    RECOVERY_LOCKED_FIELD_NUMBER: _ClassVar[int]
    application_id: str
    code: str
    kind: FilingKind
    status: ApplicationStatus
    household_id: str
    submitted_by: str
    programs_requested: _containers.RepeatedScalarFieldContainer[Program]
    determinations: _containers.RepeatedCompositeFieldContainer[Determination]
    channel: SubmissionChannel
    confidentiality: Confidentiality
    received_at: _timestamp_pb2.Timestamp
    filing_date: str
    basis_date: str
    recovery_locked: bool
    def __init__(self, application_id: _Optional[str] = ..., code: _Optional[str] = ..., kind: _Optional[_Union[FilingKind, str]] = ..., status: _Optional[_Union[ApplicationStatus, str]] = ..., household_id: _Optional[str] = ..., submitted_by: _Optional[str] = ..., programs_requested: _Optional[_Iterable[_Union[Program, str]]] = ..., determinations: _Optional[_Iterable[_Union[Determination, _Mapping]]] = ..., channel: _Optional[_Union[SubmissionChannel, str]] = ..., confidentiality: _Optional[_Union[Confidentiality, str]] = ..., received_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., filing_date: _Optional[str] = ..., basis_date: _Optional[str] = ..., recovery_locked: _Optional[bool] = ...) -> None: ...
