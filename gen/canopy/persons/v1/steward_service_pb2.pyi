import datetime

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

class EntityKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENTITY_KIND_UNSPECIFIED: _ClassVar[EntityKind]
    ENTITY_KIND_PERSON: _ClassVar[EntityKind]
    ENTITY_KIND_HOUSEHOLD: _ClassVar[EntityKind]
    ENTITY_KIND_MEMBER: _ClassVar[EntityKind]
    ENTITY_KIND_INCOME: _ClassVar[EntityKind]

class QuarantineCause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    QUARANTINE_CAUSE_UNSPECIFIED: _ClassVar[QuarantineCause]
    QUARANTINE_CAUSE_LATER_VERSION: _ClassVar[QuarantineCause]
    QUARANTINE_CAUSE_OTHER_HOUSEHOLD: _ClassVar[QuarantineCause]
    QUARANTINE_CAUSE_REPEATED_FAILURE: _ClassVar[QuarantineCause]

class QuarantineDecision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    QUARANTINE_DECISION_UNSPECIFIED: _ClassVar[QuarantineDecision]
    QUARANTINE_DECISION_KEEP: _ClassVar[QuarantineDecision]
    QUARANTINE_DECISION_SHRED: _ClassVar[QuarantineDecision]

class BlockedReleaseDecision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BLOCKED_RELEASE_DECISION_UNSPECIFIED: _ClassVar[BlockedReleaseDecision]
    BLOCKED_RELEASE_DECISION_DROP_EXTRA: _ClassVar[BlockedReleaseDecision]
    BLOCKED_RELEASE_DECISION_REPLAY_MISSING: _ClassVar[BlockedReleaseDecision]
ENTITY_KIND_UNSPECIFIED: EntityKind
ENTITY_KIND_PERSON: EntityKind
ENTITY_KIND_HOUSEHOLD: EntityKind
ENTITY_KIND_MEMBER: EntityKind
ENTITY_KIND_INCOME: EntityKind
QUARANTINE_CAUSE_UNSPECIFIED: QuarantineCause
QUARANTINE_CAUSE_LATER_VERSION: QuarantineCause
QUARANTINE_CAUSE_OTHER_HOUSEHOLD: QuarantineCause
QUARANTINE_CAUSE_REPEATED_FAILURE: QuarantineCause
QUARANTINE_DECISION_UNSPECIFIED: QuarantineDecision
QUARANTINE_DECISION_KEEP: QuarantineDecision
QUARANTINE_DECISION_SHRED: QuarantineDecision
BLOCKED_RELEASE_DECISION_UNSPECIFIED: BlockedReleaseDecision
BLOCKED_RELEASE_DECISION_DROP_EXTRA: BlockedReleaseDecision
BLOCKED_RELEASE_DECISION_REPLAY_MISSING: BlockedReleaseDecision

class QuarantinedEntity(_message.Message):
    __slots__ = ("quarantine_id", "kind", "stable_id", "operation_id", "generation", "cause", "quarantined_at", "decision")
    QUARANTINE_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STABLE_ID_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    QUARANTINED_AT_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    quarantine_id: str
    kind: EntityKind
    stable_id: str
    operation_id: str
    generation: int
    cause: QuarantineCause
    quarantined_at: _timestamp_pb2.Timestamp
    decision: QuarantineDecision
    def __init__(self, quarantine_id: _Optional[str] = ..., kind: _Optional[_Union[EntityKind, str]] = ..., stable_id: _Optional[str] = ..., operation_id: _Optional[str] = ..., generation: _Optional[int] = ..., cause: _Optional[_Union[QuarantineCause, str]] = ..., quarantined_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., decision: _Optional[_Union[QuarantineDecision, str]] = ...) -> None: ...

class ListQuarantineRequest(_message.Message):
    __slots__ = ("undecided_only", "page_size", "page_token")
    UNDECIDED_ONLY_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    undecided_only: bool
    page_size: int
    page_token: str
    def __init__(self, undecided_only: _Optional[bool] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListQuarantineResponse(_message.Message):
    __slots__ = ("entities", "next_page_token")
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    entities: _containers.RepeatedCompositeFieldContainer[QuarantinedEntity]
    next_page_token: str
    def __init__(self, entities: _Optional[_Iterable[_Union[QuarantinedEntity, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ResolveQuarantineRequest(_message.Message):
    __slots__ = ("quarantine_id", "decision", "reason", "apply")
    QUARANTINE_ID_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    APPLY_FIELD_NUMBER: _ClassVar[int]
    quarantine_id: str
    decision: QuarantineDecision
    reason: str
    apply: bool
    def __init__(self, quarantine_id: _Optional[str] = ..., decision: _Optional[_Union[QuarantineDecision, str]] = ..., reason: _Optional[str] = ..., apply: _Optional[bool] = ...) -> None: ...

class ResolveQuarantineResponse(_message.Message):
    __slots__ = ("entity", "applied")
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    APPLIED_FIELD_NUMBER: _ClassVar[int]
    entity: QuarantinedEntity
    applied: bool
    def __init__(self, entity: _Optional[_Union[QuarantinedEntity, _Mapping]] = ..., applied: _Optional[bool] = ...) -> None: ...

class RemediateOrphansRequest(_message.Message):
    __slots__ = ("recorded_before", "reason", "apply")
    RECORDED_BEFORE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    APPLY_FIELD_NUMBER: _ClassVar[int]
    recorded_before: _timestamp_pb2.Timestamp
    reason: str
    apply: bool
    def __init__(self, recorded_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., apply: _Optional[bool] = ...) -> None: ...

class RemediateOrphansResponse(_message.Message):
    __slots__ = ("shredded", "quarantined", "applied")
    SHREDDED_FIELD_NUMBER: _ClassVar[int]
    QUARANTINED_FIELD_NUMBER: _ClassVar[int]
    APPLIED_FIELD_NUMBER: _ClassVar[int]
    shredded: int
    quarantined: int
    applied: bool
    def __init__(self, shredded: _Optional[int] = ..., quarantined: _Optional[int] = ..., applied: _Optional[bool] = ...) -> None: ...

class ResolveBlockedReleaseRequest(_message.Message):
    __slots__ = ("operation_id", "generation", "decision", "reason", "apply")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    APPLY_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    generation: int
    decision: BlockedReleaseDecision
    reason: str
    apply: bool
    def __init__(self, operation_id: _Optional[str] = ..., generation: _Optional[int] = ..., decision: _Optional[_Union[BlockedReleaseDecision, str]] = ..., reason: _Optional[str] = ..., apply: _Optional[bool] = ...) -> None: ...

class ResolveBlockedReleaseResponse(_message.Message):
    __slots__ = ("extra", "missing", "applied")
    EXTRA_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    APPLIED_FIELD_NUMBER: _ClassVar[int]
    extra: int
    missing: int
    applied: bool
    def __init__(self, extra: _Optional[int] = ..., missing: _Optional[int] = ..., applied: _Optional[bool] = ...) -> None: ...
