"""Codes and passcodes: how they are made and read."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from canopy.applications.v1.drafts_service_pb2 import CreateDraftResponse
from services.applications.domain.credentials import (
    mint_code,
    mint_passcode,
    read_code,
    read_passcode,
    spell_passcode,
)
from services.kernel.secret import Secret

SAMPLES = 20_000
# Chi-square with 9 degrees of freedom exceeds it once in 53 million: for twelve positions, once in 4 million runs.
CHI_SQUARE_BOUND = 54.0


def test_every_digit_of_a_passcode_is_uniform() -> None:
    """DRF-01: each of the twelve positions takes each digit equally often, the first one zero included."""
    minted = [mint_passcode().reveal() for _ in range(SAMPLES)]

    assert all(re.fullmatch("[0-9]{12}", digits) for digits in minted)
    for position in range(12):
        counts = Counter(digits[position] for digits in minted)
        expected = SAMPLES / 10
        chi_square = sum((counts[digit] - expected) ** 2 / expected for digit in "0123456789")
        assert chi_square < CHI_SQUARE_BOUND, f"position {position}: {counts}"


def test_leading_zeros_of_a_passcode_survive_the_wire() -> None:
    """DRF-01: a passcode is text, never a number, in binary and in JSON."""
    response = CreateDraftResponse(passcode=spell_passcode(Secret("000000000042")))

    assert CreateDraftResponse.FromString(response.SerializeToString()).passcode == "0000-0000-0042"
    assert json.loads(json_format.MessageToJson(response))["passcode"] == "0000-0000-0042"
    assert read_as_text("0000-0000-0042") == "000000000042"


@pytest.mark.parametrize(
    "typed",
    [
        "1234-5678-9012",
        "123456789012",
        " 1234 5678 9012 ",
        "1234\u20135678\u20139012",  # en dashes, as some keyboards write them
        "1234\u00a05678\u00a09012",
        "\uff11\uff12\uff13\uff14-\uff15\uff16\uff17\uff18-\uff19\uff10\uff11\uff12",  # full width
        "\u0661\u0662\u0663\u0664-\u0665\u0666\u0667\u0668-\u0669\u0660\u0661\u0662",  # Arabic-Indic
        "\u06f1\u06f2\u06f3\u06f4\u06f5\u06f6\u06f7\u06f8\u06f9\u06f0\u06f1\u06f2",  # Persian
    ],
)
def test_a_passcode_is_read_as_people_type_it(typed: str) -> None:
    """DRF-09: what is hashed is twelve ASCII digits, whatever the keyboard."""
    assert read_as_text(typed) == "123456789012"


@pytest.mark.parametrize(
    "typed", ["", "1234-5678-901", "1234-5678-90123", "1234-5678-901x", "1234_5678_9012", "\u00b2" * 12]
)
def test_what_is_no_passcode_is_not_read(typed: str) -> None:
    """DRF-09: nothing is guessed into a passcode."""
    assert read_passcode(typed) is None


@given(st.text(max_size=64))
def test_reading_never_fails(typed: str) -> None:
    """DRF-09: any text is either read or not; neither reader raises."""
    passcode, code = read_passcode(typed), read_code(typed)

    assert passcode is None or re.fullmatch("[0-9]{12}", passcode.reveal())
    assert code is None or re.fullmatch("HH-[0-9a-f]{8}", code)


def test_a_code_has_its_spelling() -> None:
    """DRF-01: HH- and eight lower-case hexadecimal digits."""
    codes = {mint_code() for _ in range(1_000)}

    assert all(re.fullmatch("HH-[0-9a-f]{8}", code) for code in codes)
    assert len(codes) >= 999  # 32 random bits: two equal ones among a thousand are a 1 in 8,600 event, three are a bug


@pytest.mark.parametrize("typed", ["HH-0a1b2c3d", "hh-0A1B2C3D", " HH 0a1b2c3d", "HH0a1b2c3d", "HH\u20130a1b2c3d"])
def test_a_code_is_read_as_people_type_it(typed: str) -> None:
    """DRF-01: case, spaces and hyphens do not matter."""
    assert read_code(typed) == "HH-0a1b2c3d"


@pytest.mark.parametrize("typed", ["", "HH-", "HH-0a1b2c3", "HH-0a1b2c3d4", "HX-0a1b2c3d", "HH-0a1b2c3g", "0a1b2c3d"])
def test_what_is_no_code_is_not_read(typed: str) -> None:
    """DRF-01: nothing is guessed into a code."""
    assert read_code(typed) is None


def test_a_minted_passcode_does_not_print() -> None:
    """DRF-08: it is carried in a type that no log line shows."""
    passcode = mint_passcode()

    assert passcode.reveal() not in f"{passcode} {passcode!r} {[passcode]}"


def read_as_text(typed: str) -> str:
    passcode = read_passcode(typed)
    assert passcode is not None
    return passcode.reveal()
