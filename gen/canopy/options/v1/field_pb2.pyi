from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Format(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FORMAT_UNSPECIFIED: _ClassVar[Format]
    FORMAT_UUID: _ClassVar[Format]
    FORMAT_DATE: _ClassVar[Format]
    FORMAT_MONTH: _ClassVar[Format]
    FORMAT_YEAR: _ClassVar[Format]
    FORMAT_APPLICATION_CODE: _ClassVar[Format]
    FORMAT_PASSCODE: _ClassVar[Format]
    FORMAT_NAME: _ClassVar[Format]
    FORMAT_TEXT: _ClassVar[Format]
    FORMAT_LANGUAGE: _ClassVar[Format]
    FORMAT_NINE_DIGITS: _ClassVar[Format]
    FORMAT_ZIP: _ClassVar[Format]
    FORMAT_STATE: _ClassVar[Format]
    FORMAT_FIPS_COUNTY: _ClassVar[Format]
    FORMAT_PHONE: _ClassVar[Format]
    FORMAT_EMAIL: _ClassVar[Format]
    FORMAT_SLUG: _ClassVar[Format]
FORMAT_UNSPECIFIED: Format
FORMAT_UUID: Format
FORMAT_DATE: Format
FORMAT_MONTH: Format
FORMAT_YEAR: Format
FORMAT_APPLICATION_CODE: Format
FORMAT_PASSCODE: Format
FORMAT_NAME: Format
FORMAT_TEXT: Format
FORMAT_LANGUAGE: Format
FORMAT_NINE_DIGITS: Format
FORMAT_ZIP: Format
FORMAT_STATE: Format
FORMAT_FIPS_COUNTY: Format
FORMAT_PHONE: Format
FORMAT_EMAIL: Format
FORMAT_SLUG: Format
FIELD_FIELD_NUMBER: _ClassVar[int]
field: _descriptor.FieldDescriptor

class Field(_message.Message):
    __slots__ = ("format", "required", "min_items", "max_items", "min_size", "max_size", "min", "max", "unique", "personal", "secret")
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    MIN_ITEMS_FIELD_NUMBER: _ClassVar[int]
    MAX_ITEMS_FIELD_NUMBER: _ClassVar[int]
    MIN_SIZE_FIELD_NUMBER: _ClassVar[int]
    MAX_SIZE_FIELD_NUMBER: _ClassVar[int]
    MIN_FIELD_NUMBER: _ClassVar[int]
    MAX_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_FIELD_NUMBER: _ClassVar[int]
    PERSONAL_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    format: Format
    required: bool
    min_items: int
    max_items: int
    min_size: int
    max_size: int
    min: int
    max: int
    unique: bool
    personal: bool
    secret: bool
    def __init__(self, format: _Optional[_Union[Format, str]] = ..., required: _Optional[bool] = ..., min_items: _Optional[int] = ..., max_items: _Optional[int] = ..., min_size: _Optional[int] = ..., max_size: _Optional[int] = ..., min: _Optional[int] = ..., max: _Optional[int] = ..., unique: _Optional[bool] = ..., personal: _Optional[bool] = ..., secret: _Optional[bool] = ...) -> None: ...
