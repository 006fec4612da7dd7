"""The house keeps its shape: sizes, rooms, top level and dependencies (MSH-16, SES-04)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAX_LINES = 400
TOP_LEVEL = {
    # given
    "protos", "gen", "services", "interceptors", "migrations", "deploy", "tests", "buf.yaml", "pyproject.toml",
    # ADR-1
    "docs", "examples", "Makefile", "README.md", "CONTRIBUTING.md", "requirements.lock", ".ci",
    # what git itself reads
    ".gitignore", ".gitattributes",
}  # fmt: skip
GIVEN_PACKAGES = {
    "grpcio": "grpc",
    "grpcio-tools": "grpc_tools",
    "protobuf": "google.protobuf",
    "asyncpg": "asyncpg",
    "redis": "redis",
    "argon2-cffi": "argon2",
    "pynacl": "nacl",
    "opentelemetry-sdk": "opentelemetry.sdk",
    "pyjwt": "jwt",
    "pytest": "pytest",
    "grpcio-testing": "grpc_testing",
}
STUB_ROOMS = ("handlers", "clients", "main.py", "cli")


def tracked() -> list[Path]:
    """Files under version control, or about to be."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def hand_written(suffix: str) -> list[Path]:
    """Tracked files that people write."""
    return [path for path in tracked() if path.suffix == suffix and path.relative_to(ROOT).parts[0] != "gen"]


def test_the_top_level_holds_what_was_decided() -> None:
    """MSH-16: the given entries and those of ADR-1, nothing else."""
    assert {path.relative_to(ROOT).parts[0] for path in tracked()} <= TOP_LEVEL


def test_no_room_gets_too_full() -> None:
    """MSH-16: no module, test or not, has more than 400 lines; contracts are lists and may be longer."""
    for path in hand_written(".py"):
        assert len(path.read_text().splitlines()) <= MAX_LINES, path


@pytest.mark.parametrize(("package", "module"), GIVEN_PACKAGES.items())
def test_every_given_package_is_locked_and_used(package: str, module: str) -> None:
    """MSH-16: each package of the user's list is pinned with hashes and imported."""
    lock = (ROOT / "requirements.lock").read_text()
    assert re.search(rf"^{re.escape(package)}(\[[a-z,]+\])?==", lock, re.MULTILINE)

    used = re.compile(rf"^\s*(from|import) {re.escape(module)}\b", re.MULTILINE)
    assert any(used.search(path.read_text()) for path in hand_written(".py"))


def test_the_lock_names_no_index() -> None:
    """MSH-16: the lock pins by hash and may be served by any package index."""
    assert "://" not in (ROOT / "requirements.lock").read_text()


def test_generated_stubs_stay_at_the_rim() -> None:
    """MSH-16: domain and store know messages, never servicers or stubs."""
    importing = re.compile(r"^\s*from canopy\.\S+_pb2_grpc import", re.MULTILINE)
    for path in hand_written(".py"):
        parts = path.relative_to(ROOT).parts
        if parts[0] in ("services", "interceptors") and importing.search(path.read_text()):
            assert any(part in STUB_ROOMS for part in parts), path


def test_the_portal_loads_no_database_driver() -> None:
    """SES-04: importing the whole portal brings in neither a SQL nor an AMQP driver."""
    code = "import sys, services.portal.main; print([m for m in ('asyncpg', 'aio_pika') if m in sys.modules])"

    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"
