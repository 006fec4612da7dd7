from canopy.options.v1 import field_pb2 as _field_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Kdf(_message.Message):
    __slots__ = ("kdf_id", "memory_kib", "passes", "salt")
    KDF_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_KIB_FIELD_NUMBER: _ClassVar[int]
    PASSES_FIELD_NUMBER: _ClassVar[int]
    SALT_FIELD_NUMBER: _ClassVar[int]
    kdf_id: int
    memory_kib: int
    passes: int
    salt: bytes
    def __init__(self, kdf_id: _Optional[int] = ..., memory_kib: _Optional[int] = ..., passes: _Optional[int] = ..., salt: _Optional[bytes] = ...) -> None: ...

class WrappedKey(_message.Message):
    __slots__ = ("nonce", "ciphertext")
    NONCE_FIELD_NUMBER: _ClassVar[int]
    CIPHERTEXT_FIELD_NUMBER: _ClassVar[int]
    nonce: bytes
    ciphertext: bytes
    def __init__(self, nonce: _Optional[bytes] = ..., ciphertext: _Optional[bytes] = ...) -> None: ...

class DraftContent(_message.Message):
    __slots__ = ("enc_version", "schema_version", "padded_len", "nonce", "ciphertext")
    ENC_VERSION_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_VERSION_FIELD_NUMBER: _ClassVar[int]
    PADDED_LEN_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    CIPHERTEXT_FIELD_NUMBER: _ClassVar[int]
    enc_version: int
    schema_version: int
    padded_len: int
    nonce: bytes
    ciphertext: bytes
    def __init__(self, enc_version: _Optional[int] = ..., schema_version: _Optional[int] = ..., padded_len: _Optional[int] = ..., nonce: _Optional[bytes] = ..., ciphertext: _Optional[bytes] = ...) -> None: ...
