"""What runs: every process of the mesh with its ports, secrets and configuration."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from services.cli.stack.databases import dsn, password_path
from services.cli.stack.home import Home
from services.cli.stack.key_material import ClientPlan, client_secret_path, ensure_rings, ring_path, write_clients
from services.cli.stack.ports import FixedPort, choose_ports
from services.cli.stack.postgres_files import place
from services.cli.stack.process import LOOPBACK, StackError
from services.kernel.caller import SERVICE_ROLE

SERVICES: Final = ("identity", "persons", "applications", "portal")
STORES: Final = ("postgres", "valkey-sessions", "valkey-bus")
LISTENERS: Final = ("public", "staff")
PREFERRED_PORTS: Final = {"public": 8443, "staff": 8444}

# Rings that make stored data readable; without them it is noise.
DATA_RINGS: Final = ("persons-records", "applications-records", "applications-pepper")
OTHER_RINGS: Final = ("applications-digests",)

CLIENTS: Final = (
    ClientPlan(
        client_id="canopy-portal",
        service="canopy-portal",
        roles=(SERVICE_ROLE,),
        audiences=("canopy-applications",),
    ),
    ClientPlan(
        client_id="canopy-applications",
        service="canopy-applications",
        roles=(SERVICE_ROLE,),
        audiences=("canopy-persons",),
    ),
    ClientPlan(client_id="caseworker", service=None, roles=("caseworker",), audiences=("canopy-applications",)),
    ClientPlan(client_id="data-steward", service=None, roles=("data_steward",), audiences=("canopy-persons",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the operator chose. Ports: None lets the stack choose."""

    public_port: int | None = None
    staff_port: int | None = None

    def fixed_ports(self) -> dict[str, FixedPort]:
        """Return the ports asked for, by name."""
        asked = {"public": self.public_port, "staff": self.staff_port}
        return {
            name: FixedPort(number=number, option=f"--{name}-port")
            for name, number in asked.items()
            if number is not None
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A stack that is ready to start."""

    home: Home
    ports: Mapping[str, int]
    """By part; a service has a second one, `<service>-ops`, for probes and metrics."""
    environments: Mapping[str, Mapping[str, str]]
    """The CANOPY_* variables of each service."""
    notices: tuple[str, ...]
    """What a person must be told once."""

    @property
    def issuer(self) -> str:
        """Address of the token issuer."""
        return f"http://{LOOPBACK}:{self.ports['identity']}"


def prepare(home: Home, options: Options, inherited: Mapping[str, str] = os.environ) -> Plan:
    """Make what a first start needs, choose the ports, and write the plan down.

    inherited: our own environment; a variable CANOPY_<SERVICE>__… in it wins over the plan. Raises StackError.
    """
    home.make()
    _refuse_orphaned_data(home)
    ports = choose_ports(home, _port_names(), options.fixed_ports(), PREFERRED_PORTS)
    made = ensure_rings(home, (*DATA_RINGS, *OTHER_RINGS))
    clients = write_clients(home, CLIENTS)
    planned = {
        "identity": _identity(home, ports, clients),
        "persons": _persons(home, ports),
        "applications": _applications(home, ports),
        "portal": _portal(home, ports),
    }
    return Plan(
        home=home,
        ports=ports,
        environments={name: _complete(name, own, ports, inherited) for name, own in planned.items()},
        notices=tuple(_notices(home, made)),
    )


def _refuse_orphaned_data(home: Home) -> None:
    """Raise StackError where there is data of a stack whose secrets are gone: it could be neither opened nor read."""
    data = place(home.root).data
    if (data / "PG_VERSION").exists() and not (home.secrets / "postgres-superuser").exists():
        raise StackError(f"{data} belongs to a stack whose secrets are gone: restore {home.secrets}, or remove it")


def _port_names() -> list[str]:
    return [*LISTENERS, *STORES, *SERVICES, *(f"{service}-ops" for service in SERVICES)]


def _notices(home: Home, made: Iterable[str]) -> list[str]:
    if not any(ring in DATA_RINGS for ring in made):
        return []
    words = (
        f"New encryption keys were made in {home.secrets}. Whoever loses these files loses the data:",
        "without them no backup can be read. Keep a copy apart from the data.",
    )
    return [" ".join(words)]


def _complete(
    service: str, own: Mapping[str, str], ports: Mapping[str, int], inherited: Mapping[str, str]
) -> dict[str, str]:
    """Add what every process has, spell the names out, and let the operator's own variables win."""
    prefix = f"CANOPY_{service.upper()}__"
    planned = {
        "SERVER__PORT": str(ports[service]),
        "SERVER__DRAIN_SECONDS": "0",  # nobody else would take the calls
        "OPS__PORT": str(ports[f"{service}-ops"]),
        **own,
    }
    overriding = {name: value for name, value in inherited.items() if name.startswith(prefix)}
    return {**{prefix + name: value for name, value in planned.items()}, **overriding}


def _identity(home: Home, ports: Mapping[str, int], clients: Path) -> dict[str, str]:
    return {
        "TOKEN__ISSUER": _address(ports, "identity"),
        "TOKEN__CLIENTS_PATH": str(clients),
        "SIGNING__FOLDER": str(home.identity / "keys"),
    }


def _persons(home: Home, ports: Mapping[str, int]) -> dict[str, str]:
    return {
        **_issuer(ports),
        **_database(home, ports, "canopy_persons"),
        **_valkey(home, ports, "valkey-bus"),
        "KEYS__RECORDS_FILE": str(ring_path(home, "persons-records")),
    }


def _applications(home: Home, ports: Mapping[str, int]) -> dict[str, str]:
    return {
        **_issuer(ports),
        **_database(home, ports, "canopy_applications"),
        **_valkey(home, ports, "valkey-bus"),
        **_credentials(home, "canopy-applications"),
        "PERSONS__TARGET": _target(ports, "persons"),
        "KEYS__RECORDS_FILE": str(ring_path(home, "applications-records")),
        "KEYS__PEPPER_FILE": str(ring_path(home, "applications-pepper")),
        "KEYS__DIGESTS_FILE": str(ring_path(home, "applications-digests")),
    }


def _portal(home: Home, ports: Mapping[str, int]) -> dict[str, str]:
    return {
        **_issuer(ports),
        **_credentials(home, "canopy-portal"),
        "APPLICATIONS__TARGET": _target(ports, "applications"),
        **_valkey(home, ports, "valkey-sessions"),
        "SESSION__ORIGINS": ",".join(f"https://{host}:{ports['public']}" for host in ("localhost", LOOPBACK)),
    }


def _issuer(ports: Mapping[str, int]) -> dict[str, str]:
    return {"ISSUER__URL": _address(ports, "identity")}


def _database(home: Home, ports: Mapping[str, int], database: str) -> dict[str, str]:
    return {
        "DATABASE__DSN": dsn(ports["postgres"], database, database),
        "DATABASE__PASSWORD_FILE": str(password_path(home, database)),
    }


def _valkey(home: Home, ports: Mapping[str, int], instance: str) -> dict[str, str]:
    return {
        "VALKEY__URL": f"redis://{_target(ports, instance)}/0",
        "VALKEY__PASSWORD_FILE": str(home.secrets / instance),
    }


def _credentials(home: Home, client_id: str) -> dict[str, str]:
    return {
        "CREDENTIALS__CLIENT_ID": client_id,
        "CREDENTIALS__CLIENT_SECRET_FILE": str(client_secret_path(home, client_id)),
    }


def _address(ports: Mapping[str, int], service: str) -> str:
    return f"http://{_target(ports, service)}"


def _target(ports: Mapping[str, int], part: str) -> str:
    return f"{LOOPBACK}:{ports[part]}"
