"""Configuration: every violation at once, nothing clamped, no sent value echoed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from services.chassis.config import ConfigError, knob, load, rows
from services.kernel.secret import Secret

PREFIX = "CANOPY_EXAMPLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """How long a claim holds."""

    claim_seconds: int = knob(300, lo=60, hi=600, unit="s", doc="Length of a lease.")
    heartbeat_seconds: float = knob(20.0, lo=0.1, hi=300, unit="s", doc="Time between two renewals.")

    def check(self) -> Iterator[str]:
        """Ask for three renewals in a lease."""
        if self.claim_seconds < 3 * self.heartbeat_seconds:
            yield "claim_seconds must be at least 3 x heartbeat_seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Where data lives."""

    address: str = knob(doc="Where the store listens.", pattern=r"[a-z]+:[0-9]+")
    folder: Path = knob(Path("data"), doc="Where files go.")
    password: Secret[str] = knob(doc="What opens the store.", lo=8)
    mode: str = knob("safe", choices=("safe", "fast"), doc="How it writes.")
    exporter: str | None = knob(None, doc="Where copies go.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """All of it."""

    lease: Lease
    store: Store
    enabled: bool = knob(True, doc="Whether it runs.")
    algorithms: tuple[str, ...] = knob(("EdDSA",), choices=("EdDSA", "ES256"), lo=1, doc="What is accepted.")
    key: Secret[bytes] | None = knob(None, doc="A raw key.")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "password").write_text("correct horse\n")
    return {
        "CANOPY_EXAMPLE__STORE__ADDRESS": "local:1",
        "CANOPY_EXAMPLE__STORE__PASSWORD_FILE": str(tmp_path / "password"),
        "PATH": "/bin",
        "CANOPY_OTHER__STORE__ADDRESS": "not ours",
    }


def test_load_minimal_environment_gives_defaults(environ: dict[str, str]) -> None:
    """OPS-01: only what has no default needs to be given."""
    config = load(Example, PREFIX, environ)

    assert config.lease == Lease(claim_seconds=300, heartbeat_seconds=20.0)
    assert config.store.password.reveal() == "correct horse"
    assert config.store.folder == Path("data")
    assert config.store.exporter is None
    assert config.algorithms == ("EdDSA",)
    assert config.key is None


def test_load_every_type_is_read_from_its_variable(environ: dict[str, str], tmp_path: Path) -> None:
    """OPS-01: a nested name selects the section, a secret is read from the file its variable names."""
    (tmp_path / "key").write_bytes(b"\x00\xff\n")
    environ |= {
        "CANOPY_EXAMPLE__LEASE__CLAIM_SECONDS": "60",
        "CANOPY_EXAMPLE__LEASE__HEARTBEAT_SECONDS": "0.5",
        "CANOPY_EXAMPLE__STORE__FOLDER": "/srv",
        "CANOPY_EXAMPLE__STORE__EXPORTER": "",
        "CANOPY_EXAMPLE__ENABLED": "false",
        "CANOPY_EXAMPLE__ALGORITHMS": "ES256, EdDSA",
        "CANOPY_EXAMPLE__KEY_FILE": str(tmp_path / "key"),
    }

    config = load(Example, PREFIX, environ)

    assert config.lease == Lease(claim_seconds=60, heartbeat_seconds=0.5)
    assert config.store.folder == Path("/srv")
    assert config.store.exporter is None
    assert config.enabled is False
    assert config.algorithms == ("ES256", "EdDSA")
    assert config.key is not None
    assert config.key.reveal() == b"\x00\xff\n"


def test_load_reports_every_violation_at_once_and_echoes_no_value(environ: dict[str, str], tmp_path: Path) -> None:
    """OPS-01: bad type, out of domain, unknown, missing, unreadable and cross-field violations, one line each."""
    (tmp_path / "password").write_text("short")
    environ |= {
        "CANOPY_EXAMPLE__LEASE__CLAIM_SECONDS": "90",
        "CANOPY_EXAMPLE__LEASE__HEARTBEAT_SECONDS": "31.5",
        "CANOPY_EXAMPLE__STORE__ADDRESS": "S3CRET",
        "CANOPY_EXAMPLE__STORE__MODE": "S3CRET",
        "CANOPY_EXAMPLE__STORE__TYPO": "S3CRET",
        "CANOPY_EXAMPLE__ENABLED": "S3CRET",
        "CANOPY_EXAMPLE__ALGORITHMS": "EdDSA,S3CRET",
        "CANOPY_EXAMPLE__KEY_FILE": str(tmp_path / "S3CRET"),
    }

    with pytest.raises(ConfigError) as refused:
        load(Example, PREFIX, environ)

    assert refused.value.violations == (
        "CANOPY_EXAMPLE__LEASE: claim_seconds must be at least 3 x heartbeat_seconds",
        "CANOPY_EXAMPLE__STORE__ADDRESS: must be matching [a-z]+:[0-9]+",
        "CANOPY_EXAMPLE__STORE__PASSWORD_FILE: must be length at least 8",
        "CANOPY_EXAMPLE__STORE__MODE: must be one of safe, fast",
        "CANOPY_EXAMPLE__ENABLED: must be true or false",
        "CANOPY_EXAMPLE__ALGORITHMS: must be one of EdDSA, ES256, length at least 1",
        "CANOPY_EXAMPLE__KEY_FILE: the file cannot be read (No such file or directory)",
        "CANOPY_EXAMPLE__STORE__TYPO: no such knob",
    )
    assert str(refused.value) == "\n".join(refused.value.violations)
    assert "S3CRET" not in str(refused.value)


@pytest.mark.parametrize("seconds", ["59", "601", "1_00", " 90", "9e1", "", "NaN"])
def test_load_out_of_domain_is_refused_not_clamped(environ: dict[str, str], seconds: str) -> None:
    """OPS-01: a value outside the domain stops the start."""
    environ["CANOPY_EXAMPLE__LEASE__CLAIM_SECONDS"] = seconds

    with pytest.raises(ConfigError, match=r"^CANOPY_EXAMPLE__LEASE__CLAIM_SECONDS: must be "):
        load(Example, PREFIX, environ)


@pytest.mark.parametrize("seconds", ["nan", "inf", "1,5", "0x1", "0.09"])
def test_load_number_that_is_not_finite_or_not_a_number_is_refused(environ: dict[str, str], seconds: str) -> None:
    """OPS-01: no number slips through a comparison."""
    environ["CANOPY_EXAMPLE__LEASE__HEARTBEAT_SECONDS"] = seconds

    with pytest.raises(ConfigError, match=r"^CANOPY_EXAMPLE__LEASE__HEARTBEAT_SECONDS: must be "):
        load(Example, PREFIX, environ)


def test_load_missing_required_names_the_variable() -> None:
    """OPS-01: what must be given is named with its variable."""
    with pytest.raises(ConfigError) as refused:
        load(Example, PREFIX, {})

    assert refused.value.violations == (
        "CANOPY_EXAMPLE__STORE__ADDRESS: required (text)",
        "CANOPY_EXAMPLE__STORE__PASSWORD_FILE: required (file holding a text)",
    )


def test_knob_default_outside_its_domain_is_refused() -> None:
    """OPS-01: a default obeys the domain it is printed with."""
    with pytest.raises(ValueError, match="own domain"):
        knob(3, lo=4, doc="")


def test_rows_describe_every_knob_in_field_order() -> None:
    """OPS-01: docs/configuration.md is generated from the fields."""
    table = [
        (row.name.removeprefix("CANOPY_EXAMPLE__"), row.type, row.default, row.domain) for row in rows(Example, PREFIX)
    ]

    assert table == [
        ("LEASE__CLAIM_SECONDS", "whole number", "300", "60 to 600"),
        ("LEASE__HEARTBEAT_SECONDS", "number", "20.0", "0.1 to 300"),
        ("STORE__ADDRESS", "text", "required", "matching [a-z]+:[0-9]+"),
        ("STORE__FOLDER", "path", "data", ""),
        ("STORE__PASSWORD_FILE", "file holding a text", "required", "length at least 8"),
        ("STORE__MODE", "text", "safe", "one of safe, fast"),
        ("STORE__EXPORTER", "text or empty", "empty", ""),
        ("ENABLED", "true or false", "true", ""),
        ("ALGORITHMS", "list of texts, separated by commas", "EdDSA", "one of EdDSA, ES256, length at least 1"),
        ("KEY_FILE", "file holding bytes or empty", "empty", ""),
    ]
