"""The keyed digest of a submit."""

from __future__ import annotations

import base64
import json
import unicodedata

import pytest
from google.protobuf.unknown_fields import UnknownFieldSet
from hypothesis import given
from hypothesis import strategies as st

from canopy.applications.v1.finalize_pb2 import FinalizeRequest
from canopy.errors.v1.reason_pb2 import Reason
from services.applications.domain.digest import Digest, DigestKeys, canonical_bytes
from services.chassis.envelope import KeyRingError
from services.kernel.errors import Refusal
from tests import filings
from tests.filings import filing

OLD, NEW = bytes(range(32)), bytes(range(1, 33))


def ring(active: str, **keys: bytes) -> DigestKeys:
    said = {"active": active, "keys": {kid: base64.b64encode(key).decode() for kid, key in keys.items()}}
    return DigestKeys.parse(json.dumps(said).encode())


def canonical(request: FinalizeRequest) -> bytes:
    return canonical_bytes(request, "request")


@given(filings.filings())
def test_decomposed_text_gives_the_same_digest(request: FinalizeRequest) -> None:
    """FIN-09: a resend from a device that decomposes letters is the same submit, and what is hashed is stored."""
    decomposed = FinalizeRequest()
    decomposed.CopyFrom(request)
    for person in decomposed.people:
        person.details.name.given = unicodedata.normalize("NFD", person.details.name.given)

    assert canonical(decomposed) == canonical(request)
    assert decomposed == request


@given(filings.filings(), st.data())
def test_reordered_people_give_another_digest(request: FinalizeRequest, data: st.DataObject) -> None:
    """FIN-09: positions are references, so the order is part of what was submitted."""
    before = canonical(request)
    reordered = FinalizeRequest()
    reordered.CopyFrom(request)
    people = data.draw(st.permutations(list(request.people)))
    reordered.ClearField("people")
    reordered.people.extend(people)

    assert (canonical(reordered) == before) == (people == list(request.people))


@given(filings.filings(), st.integers(0, 10_000))
def test_an_unknown_field_is_refused_wherever_it_stands(request: FinalizeRequest, number: int) -> None:
    """FIN-09: data of a newer contract would be covered in an order that nobody promises."""
    wire = filing(2).SerializeToString()
    person = filing(2).people[1].SerializeToString() + _varint_field(1_000 + number)
    nested = FinalizeRequest.FromString(wire)
    nested.people[1].ParseFromString(person)
    outer = FinalizeRequest.FromString(request.SerializeToString() + _varint_field(1_000 + number))

    assert len(UnknownFieldSet(outer)) == 1
    for sent, path in ((outer, "request"), (nested, "request.people[1]")):
        with pytest.raises(Refusal) as caught:
            canonical(sent)
        assert caught.value.reason == Reason.REASON_UNKNOWN_FIELD
        assert caught.value.metadata == {"field": path}


def test_an_unknown_enum_number_is_refused() -> None:
    """FIN-09: a number that the contract does not name has no meaning that could be pinned."""
    request = filing(2)
    request.people[1].details.sex = 99  # pyright: ignore[reportAttributeAccessIssue]

    with pytest.raises(Refusal) as caught:
        canonical(request)

    assert caught.value.reason == Reason.REASON_INVALID_FIELD
    assert caught.value.metadata == {"field": "request.people[1].details.sex", "rule": "unknown_enum"}


def test_a_rotated_key_still_recognises_what_it_pinned() -> None:
    """FIN-09: new digests are under the active key, a resend is compared under the key that pinned."""
    before, after = ring("old", old=OLD), ring("new", old=OLD, new=NEW)
    sent = canonical(filing(2))
    pinned = before.digest(sent)

    assert after.digest(sent).kid == "new"
    assert after.digest(sent).value != pinned.value
    assert after.matches(pinned, sent)
    assert not after.matches(pinned, canonical(filing(3)))


@pytest.mark.parametrize(
    "pinned", [Digest(value=bytes(32), version=1, kid="gone"), Digest(value=bytes(32), version=2, kid="old")]
)
def test_a_digest_that_cannot_be_computed_again_is_no_mismatch(pinned: Digest) -> None:
    """FIN-09: a key retired too early is a fault to be seen, not a submit that differs."""
    with pytest.raises(LookupError):
        ring("old", old=OLD).matches(pinned, canonical(filing()))


def test_the_digest_cannot_be_guessed_without_the_key() -> None:
    """FIN-09: two keys give two digests of one request."""
    sent = canonical(filing())

    assert ring("k", k=OLD).digest(sent).value != ring("k", k=NEW).digest(sent).value


@pytest.mark.parametrize("content", [b"", b"[]", b'{"active":"a","keys":{}}', b'{"active":"a","keys":{"a":"AAAA"}}'])
def test_a_malformed_ring_is_refused(content: bytes) -> None:
    """FIN-09: a process does not start with a ring that cannot key a digest."""
    with pytest.raises(KeyRingError):
        DigestKeys.parse(content)


def _varint_field(number: int) -> bytes:
    tag, encoded = number << 3, bytearray()
    while tag > 0x7F:
        encoded.append(tag & 0x7F | 0x80)
        tag >>= 7
    return bytes([*encoded, tag, 1])
