from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.rpc import code_pb2 as _code_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor
FAILURE_FIELD_NUMBER: _ClassVar[int]
failure: _descriptor.FieldDescriptor

class Failure(_message.Message):
    __slots__ = ("code", "retry_after_seconds")
    CODE_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_SECONDS_FIELD_NUMBER: _ClassVar[int]
    code: _code_pb2.Code
    retry_after_seconds: int
    def __init__(self, code: _Optional[_Union[_code_pb2.Code, str]] = ..., retry_after_seconds: _Optional[int] = ...) -> None: ...
