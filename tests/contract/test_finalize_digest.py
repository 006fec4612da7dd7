"""The digest of a submit stays what it is: across releases, implementations of protobuf, and ways to write a name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.internal import api_implementation

from canopy.applications.v1.finalize_pb2 import FinalizeRequest
from services.applications.domain.digest import VERSION
from services.kernel.descriptors import map_value, message_type
from tests.contract.finalize_digests import digests, vectors

ROOT = Path(__file__).parents[2]
NEVER = {FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_GROUP}


def expected() -> list[tuple[str, str, str]]:
    return [(vector["name"], vector["canonical"], vector["digest"]) for vector in vectors()["vectors"]]


def test_vectors_are_those_of_this_version() -> None:
    """FIN-09: a new version of the digest comes with vectors of its own."""
    assert vectors()["version"] == VERSION


def test_bytes_and_digests_equal_the_vectors() -> None:
    """FIN-09: what was pinned by an earlier release is recognised by this one."""
    assert list(digests()) == expected()


def test_pure_python_protobuf_gives_the_same_bytes() -> None:
    """FIN-09: the bytes are those of the contract, not of one implementation of protobuf."""
    environment = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    command = [sys.executable, "-m", "tests.contract.finalize_digests"]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    said = json.loads(run.stdout)

    assert api_implementation.Type() == "upb"
    assert said["implementation"] == "python"
    assert [tuple(each) for each in said["digests"]] == expected()


def test_a_request_survives_its_own_wire_format() -> None:
    """FIN-09: encoding and decoding, as every hop does, changes nothing that is digested."""
    for vector in vectors()["vectors"]:
        request = FinalizeRequest()
        request.ParseFromString(bytes.fromhex(vector["canonical"]))

        assert request.SerializeToString(deterministic=True).hex() == vector["canonical"]


def descriptor_of(message: Any) -> Descriptor:
    return message.DESCRIPTOR


def reachable(descriptor: Descriptor, seen: set[str]) -> Iterator[FieldDescriptor]:
    if descriptor.full_name in seen:
        return
    seen.add(descriptor.full_name)
    for field in descriptor.fields:
        yield field
        if field.message_type is not None:
            yield from reachable(message_type(field), seen)


def test_nothing_without_one_spelling_is_reachable() -> None:
    """FIN-09: no map, float or Any in a filing: their bytes are not determined by their value."""
    fields = list(reachable(descriptor_of(FinalizeRequest()), set()))

    assert len(fields) > 100
    assert [field.full_name for field in fields if field.type in NEVER or map_value(field) is not None] == []
    types = {field.message_type.full_name for field in fields if field.message_type is not None}
    assert {name for name in types if name.startswith("google.protobuf.")} == set()


@pytest.mark.parametrize("vector", vectors()["vectors"], ids=lambda vector: vector["name"])
def test_every_vector_has_a_digest_of_its_own(vector: dict[str, Any]) -> None:
    """FIN-09: the file holds different filings, or it would prove less than it seems to."""
    others = [each["digest"] for each in vectors()["vectors"] if each["name"] != vector["name"]]

    assert vector["digest"] not in others
    assert json_format.ParseDict(vector["request"], FinalizeRequest()).people
