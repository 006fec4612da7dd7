"""What a draft must satisfy beyond its field options."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.applications.v1.draft_pb2 import DraftContent, Kdf, WrappedKey
from services.applications.domain import draft_rules
from services.kernel.errors import Violation

KIB = 1_024
BUCKETS = [*range(4 * KIB, 64 * KIB + 1, 4 * KIB), *range(80 * KIB, 256 * KIB + 1, 16 * KIB)]


def made(**changes: Any) -> DraftContent:
    fields: dict[str, Any] = {
        "enc_version": 1,
        "schema_version": 1,
        "padded_len": 4_096,
        "nonce": bytes(24),
        "ciphertext": bytes(4_112),
    }
    return DraftContent(**{**fields, **changes})


def test_the_buckets_are_the_contracts() -> None:
    """DRF-04: multiples of 4 KiB up to 64 KiB, of 16 KiB up to 256 KiB: 28 lengths, and no other."""
    accepted = [length for length in range(300 * KIB) if draft_rules.is_padded_length(length)]

    assert accepted == BUCKETS
    assert len(accepted) == 28


@pytest.mark.parametrize(
    ("changes", "violation"),
    [
        (
            {"padded_len": 5_000, "ciphertext": bytes(5_016)},
            Violation(field="content.padded_len", rule="padding_bucket"),
        ),
        ({"padded_len": 68 * KIB}, Violation(field="content.padded_len", rule="padding_bucket")),
        ({"ciphertext": bytes(4_113)}, Violation(field="content.ciphertext", rule="padded_length")),
        ({"ciphertext": bytes(4_096)}, Violation(field="content.ciphertext", rule="padded_length")),
    ],
)
def test_another_length_is_refused_by_name(changes: dict[str, Any], violation: Violation) -> None:
    """DRF-04: the refusal names the field, and says nothing of its value."""
    assert list(draft_rules.save_violations(0, made(**changes), WrappedKey())) == [violation]


def test_the_first_save_brings_the_wrapped_key() -> None:
    """DRF-03: without it the draft could never be opened again; later saves may leave it as it is."""
    missing = Violation(field="wrapped_key", rule="required")

    assert list(draft_rules.save_violations(0, made(), None)) == [missing]
    assert list(draft_rules.save_violations(1, made(), None)) == []


@pytest.mark.parametrize(
    ("memory_kib", "passes", "fine"),
    [(65_536, 3, True), (32_768, 6, True), (196_608, 1, True), (65_536, 2, False), (32_768, 5, False)],
)
def test_a_derivation_below_the_floor_is_refused(memory_kib: int, passes: int, fine: bool) -> None:
    """DRF-09: memory times passes is the price of guessing; less memory takes more passes."""
    kdf = Kdf(kdf_id=1, memory_kib=memory_kib, passes=passes)

    assert list(draft_rules.kdf_violations(kdf)) == ([] if fine else [Violation(field="kdf.passes", rule="kdf_floor")])


def test_a_device_does_not_choose_its_salt() -> None:
    """DRF-03: the salt is minted here, so that no two drafts share one and none is a login salt."""
    kdf = Kdf(kdf_id=1, memory_kib=65_536, passes=3, salt=bytes(16))

    assert list(draft_rules.kdf_violations(kdf)) == [Violation(field="kdf.salt", rule="must_be_empty")]


parts = st.fixed_dictionaries(
    {
        "schema_version": st.integers(1, 3),
        "padded_len": st.sampled_from([4_096, 8_192]),
        "nonce": st.binary(max_size=3),
        "ciphertext": st.binary(max_size=3),
    }
)
keys = st.one_of(st.none(), st.builds(WrappedKey, nonce=st.binary(max_size=2), ciphertext=st.binary(max_size=2)))
saves = st.tuples(st.integers(0, 2), parts, keys)


@given(saves, saves)
def test_two_saves_have_one_digest_only_if_they_are_one(one: Any, other: Any) -> None:
    """DRF-04: every part is digested with its length: bytes that move from one part to the next are another save."""

    def digest(save: Any) -> bytes:
        revision, fields, key = save
        return draft_rules.save_digest(revision, made(**fields), key)

    def absent_is_empty(save: Any) -> Any:
        revision, fields, key = save
        return revision, fields, (key.nonce, key.ciphertext) if key else (b"", b"")

    assert (digest(one) == digest(other)) == (absent_is_empty(one) == absent_is_empty(other))
