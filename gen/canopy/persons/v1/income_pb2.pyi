from canopy.options.v1 import field_pb2 as _field_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class IncomeKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INCOME_KIND_UNSPECIFIED: _ClassVar[IncomeKind]
    INCOME_KIND_WAGES: _ClassVar[IncomeKind]
    INCOME_KIND_SELF_EMPLOYMENT: _ClassVar[IncomeKind]
    INCOME_KIND_SSI: _ClassVar[IncomeKind]
    INCOME_KIND_SSDI: _ClassVar[IncomeKind]
    INCOME_KIND_OASDI: _ClassVar[IncomeKind]
    INCOME_KIND_UNEMPLOYMENT: _ClassVar[IncomeKind]
    INCOME_KIND_WORKERS_COMPENSATION: _ClassVar[IncomeKind]
    INCOME_KIND_CHILD_SUPPORT: _ClassVar[IncomeKind]
    INCOME_KIND_PENSION: _ClassVar[IncomeKind]
    INCOME_KIND_TANF: _ClassVar[IncomeKind]
    INCOME_KIND_VETERANS: _ClassVar[IncomeKind]
    INCOME_KIND_GIFT: _ClassVar[IncomeKind]
    INCOME_KIND_OTHER: _ClassVar[IncomeKind]

class Frequency(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FREQUENCY_UNSPECIFIED: _ClassVar[Frequency]
    FREQUENCY_HOURLY: _ClassVar[Frequency]
    FREQUENCY_WEEKLY: _ClassVar[Frequency]
    FREQUENCY_TWO_WEEKLY: _ClassVar[Frequency]
    FREQUENCY_TWICE_MONTHLY: _ClassVar[Frequency]
    FREQUENCY_MONTHLY: _ClassVar[Frequency]
    FREQUENCY_YEARLY: _ClassVar[Frequency]
    FREQUENCY_ONCE: _ClassVar[Frequency]

class Verification(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERIFICATION_UNSPECIFIED: _ClassVar[Verification]
    VERIFICATION_DOCUMENT: _ClassVar[Verification]
    VERIFICATION_COLLATERAL: _ClassVar[Verification]
    VERIFICATION_DATA_MATCH: _ClassVar[Verification]
INCOME_KIND_UNSPECIFIED: IncomeKind
INCOME_KIND_WAGES: IncomeKind
INCOME_KIND_SELF_EMPLOYMENT: IncomeKind
INCOME_KIND_SSI: IncomeKind
INCOME_KIND_SSDI: IncomeKind
INCOME_KIND_OASDI: IncomeKind
INCOME_KIND_UNEMPLOYMENT: IncomeKind
INCOME_KIND_WORKERS_COMPENSATION: IncomeKind
INCOME_KIND_CHILD_SUPPORT: IncomeKind
INCOME_KIND_PENSION: IncomeKind
INCOME_KIND_TANF: IncomeKind
INCOME_KIND_VETERANS: IncomeKind
INCOME_KIND_GIFT: IncomeKind
INCOME_KIND_OTHER: IncomeKind
FREQUENCY_UNSPECIFIED: Frequency
FREQUENCY_HOURLY: Frequency
FREQUENCY_WEEKLY: Frequency
FREQUENCY_TWO_WEEKLY: Frequency
FREQUENCY_TWICE_MONTHLY: Frequency
FREQUENCY_MONTHLY: Frequency
FREQUENCY_YEARLY: Frequency
FREQUENCY_ONCE: Frequency
VERIFICATION_UNSPECIFIED: Verification
VERIFICATION_DOCUMENT: Verification
VERIFICATION_COLLATERAL: Verification
VERIFICATION_DATA_MATCH: Verification

class IncomeDetails(_message.Message):
    __slots__ = ("kind", "amount_cents", "frequency", "weekly_hours_hundredths", "payer", "until", "verification")
    KIND_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_CENTS_FIELD_NUMBER: _ClassVar[int]
    FREQUENCY_FIELD_NUMBER: _ClassVar[int]
    WEEKLY_HOURS_HUNDREDTHS_FIELD_NUMBER: _ClassVar[int]
    PAYER_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    VERIFICATION_FIELD_NUMBER: _ClassVar[int]
    kind: IncomeKind
    amount_cents: int
    frequency: Frequency
    weekly_hours_hundredths: int
    payer: str
    until: str
    verification: Verification
    def __init__(self, kind: _Optional[_Union[IncomeKind, str]] = ..., amount_cents: _Optional[int] = ..., frequency: _Optional[_Union[Frequency, str]] = ..., weekly_hours_hundredths: _Optional[int] = ..., payer: _Optional[str] = ..., until: _Optional[str] = ..., verification: _Optional[_Union[Verification, str]] = ..., **kwargs) -> None: ...
