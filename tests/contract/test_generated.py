"""gen/ is what protos/ gives, and a difference is noticed (MSH-02)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from services.chassis.resources import shipped


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the contract and of what was generated from it."""
    for name in ("protos", "gen"):
        shutil.copytree(shipped(name), tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def check(folder: Path) -> subprocess.CompletedProcess[str]:
    """Look for drift as `make lint` does."""
    return subprocess.run(
        [sys.executable, folder / "protos/generate.py", "--check"], capture_output=True, text=True, check=False
    )


def test_regenerating_changes_nothing(copied: Path) -> None:
    """MSH-02: the committed modules and descriptor set are reproducible from the contract."""
    assert check(copied).returncode == 0


@pytest.mark.parametrize("drift", ["edited", "stale", "missing"])
def test_drift_is_noticed_and_named(copied: Path, drift: str) -> None:
    """MSH-02: an edited, a left-over and a missing file are each reported by name."""
    file = copied / "gen/canopy/errors/v1/reason_pb2.pyi"
    match drift:
        case "edited":
            file.write_text(file.read_text() + "\n")
        case "stale":
            file = file.with_name("gone_pb2.py")
            file.write_text("")
        case _:
            file.unlink()

    found = check(copied)

    assert found.returncode == 1
    assert f"canopy/errors/v1/{file.name} differs" in found.stderr
