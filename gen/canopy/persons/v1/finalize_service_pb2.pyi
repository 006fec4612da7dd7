import datetime

from canopy.options.v1 import access_pb2 as _access_pb2
from canopy.options.v1 import field_pb2 as _field_pb2
from canopy.persons.v1 import step_pb2 as _step_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GenerationState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GENERATION_STATE_UNSPECIFIED: _ClassVar[GenerationState]
    GENERATION_STATE_ACTIVE: _ClassVar[GenerationState]
    GENERATION_STATE_CANCELLED: _ClassVar[GenerationState]
    GENERATION_STATE_SEALED: _ClassVar[GenerationState]
    GENERATION_STATE_RELEASE_BLOCKED: _ClassVar[GenerationState]
GENERATION_STATE_UNSPECIFIED: GenerationState
GENERATION_STATE_ACTIVE: GenerationState
GENERATION_STATE_CANCELLED: GenerationState
GENERATION_STATE_SEALED: GenerationState
GENERATION_STATE_RELEASE_BLOCKED: GenerationState

class Generation(_message.Message):
    __slots__ = ("operation_id", "generation", "digest")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    generation: int
    digest: bytes
    def __init__(self, operation_id: _Optional[str] = ..., generation: _Optional[int] = ..., digest: _Optional[bytes] = ...) -> None: ...

class RegisterOperationRequest(_message.Message):
    __slots__ = ("generation", "basis_date")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    BASIS_DATE_FIELD_NUMBER: _ClassVar[int]
    generation: Generation
    basis_date: str
    def __init__(self, generation: _Optional[_Union[Generation, _Mapping]] = ..., basis_date: _Optional[str] = ...) -> None: ...

class RegisterOperationResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ApplyFinalizeStepRequest(_message.Message):
    __slots__ = ("generation", "step")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    generation: Generation
    step: _step_pb2.Step
    def __init__(self, generation: _Optional[_Union[Generation, _Mapping]] = ..., step: _Optional[_Union[_step_pb2.Step, _Mapping]] = ...) -> None: ...

class ApplyFinalizeStepResponse(_message.Message):
    __slots__ = ("receipt",)
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    receipt: _step_pb2.StepReceipt
    def __init__(self, receipt: _Optional[_Union[_step_pb2.StepReceipt, _Mapping]] = ...) -> None: ...

class ApplyFinalizeStepsRequest(_message.Message):
    __slots__ = ("generation", "steps")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    generation: Generation
    steps: _containers.RepeatedCompositeFieldContainer[_step_pb2.Step]
    def __init__(self, generation: _Optional[_Union[Generation, _Mapping]] = ..., steps: _Optional[_Iterable[_Union[_step_pb2.Step, _Mapping]]] = ...) -> None: ...

class ApplyFinalizeStepsResponse(_message.Message):
    __slots__ = ("receipts",)
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    receipts: _containers.RepeatedCompositeFieldContainer[_step_pb2.StepReceipt]
    def __init__(self, receipts: _Optional[_Iterable[_Union[_step_pb2.StepReceipt, _Mapping]]] = ...) -> None: ...

class ReleaseOperationRequest(_message.Message):
    __slots__ = ("generation", "manifest")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    generation: Generation
    manifest: _containers.RepeatedCompositeFieldContainer[_step_pb2.StepKey]
    def __init__(self, generation: _Optional[_Union[Generation, _Mapping]] = ..., manifest: _Optional[_Iterable[_Union[_step_pb2.StepKey, _Mapping]]] = ...) -> None: ...

class ReleaseOperationResponse(_message.Message):
    __slots__ = ("released_events",)
    RELEASED_EVENTS_FIELD_NUMBER: _ClassVar[int]
    released_events: int
    def __init__(self, released_events: _Optional[int] = ...) -> None: ...

class CancelOperationRequest(_message.Message):
    __slots__ = ("operation_id", "generation")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    generation: int
    def __init__(self, operation_id: _Optional[str] = ..., generation: _Optional[int] = ...) -> None: ...

class CancelOperationResponse(_message.Message):
    __slots__ = ("shredded", "quarantined")
    SHREDDED_FIELD_NUMBER: _ClassVar[int]
    QUARANTINED_FIELD_NUMBER: _ClassVar[int]
    shredded: int
    quarantined: int
    def __init__(self, shredded: _Optional[int] = ..., quarantined: _Optional[int] = ...) -> None: ...

class GetOperationRequest(_message.Message):
    __slots__ = ("operation_id",)
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    def __init__(self, operation_id: _Optional[str] = ...) -> None: ...

class GetOperationResponse(_message.Message):
    __slots__ = ("generations",)
    GENERATIONS_FIELD_NUMBER: _ClassVar[int]
    generations: _containers.RepeatedCompositeFieldContainer[GenerationStatus]
    def __init__(self, generations: _Optional[_Iterable[_Union[GenerationStatus, _Mapping]]] = ...) -> None: ...

class GenerationStatus(_message.Message):
    __slots__ = ("generation", "state", "basis_date", "receipts", "held_events", "quarantined", "changed_at")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    BASIS_DATE_FIELD_NUMBER: _ClassVar[int]
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    HELD_EVENTS_FIELD_NUMBER: _ClassVar[int]
    QUARANTINED_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_FIELD_NUMBER: _ClassVar[int]
    generation: int
    state: GenerationState
    basis_date: str
    receipts: int
    held_events: int
    quarantined: int
    changed_at: _timestamp_pb2.Timestamp
    def __init__(self, generation: _Optional[int] = ..., state: _Optional[_Union[GenerationState, str]] = ..., basis_date: _Optional[str] = ..., receipts: _Optional[int] = ..., held_events: _Optional[int] = ..., quarantined: _Optional[int] = ..., changed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
