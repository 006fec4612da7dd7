import datetime

from canopy.applications.v1 import application_pb2 as _application_pb2
from canopy.applications.v1 import finalize_pb2 as _finalize_pb2
from canopy.options.v1 import access_pb2 as _access_pb2
from canopy.options.v1 import field_pb2 as _field_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OperationState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OPERATION_STATE_UNSPECIFIED: _ClassVar[OperationState]
    OPERATION_STATE_IN_PROGRESS: _ClassVar[OperationState]
    OPERATION_STATE_COMPENSATING: _ClassVar[OperationState]
    OPERATION_STATE_COMPLETED: _ClassVar[OperationState]
    OPERATION_STATE_ABORTED: _ClassVar[OperationState]
OPERATION_STATE_UNSPECIFIED: OperationState
OPERATION_STATE_IN_PROGRESS: OperationState
OPERATION_STATE_COMPENSATING: OperationState
OPERATION_STATE_COMPLETED: OperationState
OPERATION_STATE_ABORTED: OperationState

class FinalizeApplicationRequest(_message.Message):
    __slots__ = ("application_id", "expected_revision", "channel", "request")
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    application_id: str
    expected_revision: int
    channel: _application_pb2.SubmissionChannel
    request: _finalize_pb2.FinalizeRequest
    def __init__(self, application_id: _Optional[str] = ..., expected_revision: _Optional[int] = ..., channel: _Optional[_Union[_application_pb2.SubmissionChannel, str]] = ..., request: _Optional[_Union[_finalize_pb2.FinalizeRequest, _Mapping]] = ...) -> None: ...

class FinalizeApplicationResponse(_message.Message):
    __slots__ = ("receipt",)
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    receipt: FilingReceipt
    def __init__(self, receipt: _Optional[_Union[FilingReceipt, _Mapping]] = ...) -> None: ...

class FilingReceipt(_message.Message):
    __slots__ = ("application_id", "household_id", "received_at", "filing_date", "basis_date", "programs_requested")
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    HOUSEHOLD_ID_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_AT_FIELD_NUMBER: _ClassVar[int]
    FILING_DATE_FIELD_NUMBER: _ClassVar[int]
    BASIS_DATE_FIELD_NUMBER: _ClassVar[int]
    PROGRAMS_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    application_id: str
    household_id: str
    received_at: _timestamp_pb2.Timestamp
    filing_date: str
    basis_date: str
    programs_requested: _containers.RepeatedScalarFieldContainer[_application_pb2.Program]
    def __init__(self, application_id: _Optional[str] = ..., household_id: _Optional[str] = ..., received_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., filing_date: _Optional[str] = ..., basis_date: _Optional[str] = ..., programs_requested: _Optional[_Iterable[_Union[_application_pb2.Program, str]]] = ...) -> None: ...

class WithdrawAttemptRequest(_message.Message):
    __slots__ = ("application_id",)
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    application_id: str
    def __init__(self, application_id: _Optional[str] = ...) -> None: ...

class WithdrawAttemptResponse(_message.Message):
    __slots__ = ("state",)
    STATE_FIELD_NUMBER: _ClassVar[int]
    state: OperationState
    def __init__(self, state: _Optional[_Union[OperationState, str]] = ...) -> None: ...

class GetFinalizeOperationRequest(_message.Message):
    __slots__ = ("application_id",)
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    application_id: str
    def __init__(self, application_id: _Optional[str] = ...) -> None: ...

class GetFinalizeOperationResponse(_message.Message):
    __slots__ = ("state", "attempts")
    STATE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    state: OperationState
    attempts: _containers.RepeatedCompositeFieldContainer[FinalizeAttempt]
    def __init__(self, state: _Optional[_Union[OperationState, str]] = ..., attempts: _Optional[_Iterable[_Union[FinalizeAttempt, _Mapping]]] = ...) -> None: ...

class FinalizeAttempt(_message.Message):
    __slots__ = ("generation", "received_at", "basis_date", "state", "ended_at", "released", "release_blocked")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_AT_FIELD_NUMBER: _ClassVar[int]
    BASIS_DATE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    RELEASED_FIELD_NUMBER: _ClassVar[int]
    RELEASE_BLOCKED_FIELD_NUMBER: _ClassVar[int]
    generation: int
    received_at: _timestamp_pb2.Timestamp
    basis_date: str
    state: OperationState
    ended_at: _timestamp_pb2.Timestamp
    released: bool
    release_blocked: bool
    def __init__(self, generation: _Optional[int] = ..., received_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., basis_date: _Optional[str] = ..., state: _Optional[_Union[OperationState, str]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., released: _Optional[bool] = ..., release_blocked: _Optional[bool] = ...) -> None: ...
