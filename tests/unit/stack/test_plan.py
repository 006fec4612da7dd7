"""The plan of a stack: what each process is told."""

from __future__ import annotations

import json
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from services.applications.config import ApplicationsConfig
from services.chassis.config import load
from services.cli.stack.databases import DATABASES, password_path
from services.cli.stack.home import Home
from services.cli.stack.password import ensure_password
from services.cli.stack.plan import SERVICES, Options, Plan, prepare
from services.cli.stack.process import StackError
from services.identity.config import IdentityConfig
from services.identity.store.clients import ClientsFile
from services.persons.config import PersonsConfig
from services.portal.config import PortalConfig

CONFIGS: dict[str, type[Any]] = {
    "identity": IdentityConfig,
    "persons": PersonsConfig,
    "applications": ApplicationsConfig,
    "portal": PortalConfig,
}


@pytest.fixture
def root() -> Iterator[Path]:
    """Give a home that the database's own user can reach, which pytest's folders are not when we are root."""
    with tempfile.TemporaryDirectory(prefix="canopy-test-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder) / "home"


def planned(root: Path, inherited: dict[str, str] | None = None) -> Plan:
    """Prepare a plan, with the passwords that the stores make when they start."""
    plan = prepare(Home.at(root), Options(), inherited or {})
    for path in (
        *(password_path(plan.home, database) for database in DATABASES),
        plan.home.secrets / "valkey-sessions",
        plan.home.secrets / "valkey-bus",
    ):
        ensure_password(path)
    return plan


@pytest.mark.parametrize("service", SERVICES)
def test_each_service_accepts_what_it_is_told(root: Path, service: str) -> None:
    """OPS-01: the plan and the knobs of the services do not drift apart."""
    plan = planned(root)

    config = load(CONFIGS[service], f"CANOPY_{service.upper()}", plan.environments[service])

    assert config.server.port == plan.ports[service]
    assert config.ops.port == plan.ports[f"{service}-ops"]


def test_no_secret_travels_in_an_environment(root: Path) -> None:
    """OPS-01: an environment can be read by others; it names files, and these are closed."""
    plan = planned(root)
    secrets = [path for path in plan.home.secrets.iterdir() if path.is_file()]

    told = json.dumps({name: dict(environment) for name, environment in plan.environments.items()})

    assert len(secrets) >= 10
    assert not [path for path in secrets if path.read_text().strip() in told]
    assert {stat.S_IMODE(path.stat().st_mode) for path in secrets} == {0o600}


def test_operators_variable_wins(root: Path) -> None:
    """OPS-01: the same stack can be pointed at something external without another plan."""
    mine = {"CANOPY_PERSONS__DATABASE__DSN": "postgresql://me@db/persons", "CANOPY_PORTAL__SERVER__GRACE_SECONDS": "3"}

    plan = planned(root, mine)

    assert plan.environments["persons"]["CANOPY_PERSONS__DATABASE__DSN"] == "postgresql://me@db/persons"
    assert plan.environments["portal"]["CANOPY_PORTAL__SERVER__GRACE_SECONDS"] == "3"
    assert "CANOPY_PORTAL__SERVER__GRACE_SECONDS" not in plan.environments["persons"]


def test_clients_file_is_what_the_issuer_reads(root: Path) -> None:
    """MSH-04: services have the service role and their id; clients that act for people have neither."""
    plan = planned(root)

    clients = ClientsFile(plan.home.identity / "clients.json").clients()

    services = {client.service for client in clients.values() if "service" in client.roles}
    assert services == {"canopy-portal", "canopy-applications"}
    assert clients["caseworker"].service is None


def test_new_keys_are_announced_once(root: Path) -> None:
    """OPS-12: whoever starts a stack learns that losing the keys loses the data, when they are made."""
    first = planned(root)
    second = planned(root)

    assert len(first.notices) == 1
    assert "loses the data" in first.notices[0]
    assert second.notices == ()


def test_data_without_its_secrets_is_refused(root: Path) -> None:
    """OPS-01: secrets made anew would not open the old data; that is said instead of waited for."""
    plan = planned(root)
    data = plan.home.root / "postgres"
    data.mkdir()
    (data / "PG_VERSION").write_text("18")

    with pytest.raises(StackError, match="belongs to a stack whose secrets are gone"):
        prepare(plan.home, Options(), {})
