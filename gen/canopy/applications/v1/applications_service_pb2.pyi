import datetime

from canopy.applications.v1 import application_pb2 as _application_pb2
from canopy.options.v1 import access_pb2 as _access_pb2
from canopy.options.v1 import field_pb2 as _field_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetApplicationRequest(_message.Message):
    __slots__ = ("application_id",)
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    application_id: str
    def __init__(self, application_id: _Optional[str] = ...) -> None: ...

class GetApplicationResponse(_message.Message):
    __slots__ = ("application",)
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    application: _application_pb2.Application
    def __init__(self, application: _Optional[_Union[_application_pb2.Application, _Mapping]] = ...) -> None: ...

class ListApplicationsRequest(_message.Message):
    __slots__ = ("statuses", "programs", "page_size", "page_token")
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    PROGRAMS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    statuses: _containers.RepeatedScalarFieldContainer[_application_pb2.ApplicationStatus]
    programs: _containers.RepeatedScalarFieldContainer[_application_pb2.Program]
    page_size: int
    page_token: str
    def __init__(self, statuses: _Optional[_Iterable[_Union[_application_pb2.ApplicationStatus, str]]] = ..., programs: _Optional[_Iterable[_Union[_application_pb2.Program, str]]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListApplicationsResponse(_message.Message):
    __slots__ = ("applications", "next_page_token")
    APPLICATIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    applications: _containers.RepeatedCompositeFieldContainer[ListedApplication]
    next_page_token: str
    def __init__(self, applications: _Optional[_Iterable[_Union[ListedApplication, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListedApplication(_message.Message):
    __slots__ = ("application", "due_date", "expedited", "possible_duplicates", "aborted_attempts_at")
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    DUE_DATE_FIELD_NUMBER: _ClassVar[int]
    EXPEDITED_FIELD_NUMBER: _ClassVar[int]
    POSSIBLE_DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    ABORTED_ATTEMPTS_AT_FIELD_NUMBER: _ClassVar[int]
    application: _application_pb2.Application
    due_date: str
    expedited: bool
    possible_duplicates: _containers.RepeatedScalarFieldContainer[str]
    aborted_attempts_at: _containers.RepeatedCompositeFieldContainer[_timestamp_pb2.Timestamp]
    def __init__(self, application: _Optional[_Union[_application_pb2.Application, _Mapping]] = ..., due_date: _Optional[str] = ..., expedited: _Optional[bool] = ..., possible_duplicates: _Optional[_Iterable[str]] = ..., aborted_attempts_at: _Optional[_Iterable[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]]] = ...) -> None: ...
