"""In-process pieces of the mesh for tests: a real issuer, real servers on free ports, real channels between them."""

from __future__ import annotations

import hashlib
import json
import secrets
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypedDict, TypeVar

import grpc
import jwt
import pytest
from google.rpc import error_details_pb2, status_pb2

from canopy.errors.v1.reason_pb2 import Reason
from services.chassis.channel import ClientConfig, dial
from services.chassis.ops_http import OpsConfig
from services.chassis.server import ServerConfig
from services.chassis.service import ProcessConfig, Running, Service, ServiceConfig, serving
from services.chassis.tokens import ClientCredentials, CredentialsConfig, IssuerConfig
from services.identity import main as identity
from services.identity.config import IdentityConfig, SigningConfig, TokenConfig
from services.identity.domain import issue
from services.identity.store.keys import KeyFolder
from services.kernel.errors import ClientError, Refusal
from services.kernel.secret import Secret

C = TypeVar("C", bound=ProcessConfig)

TEST_SERVICE: Final = "canopy-test"
STEWARD: Final = "test-steward"
NO_ROLE: Final = "test-no-role"
SERVICES: Final = (
    "canopy-persons",
    "canopy-applications",
    "canopy-portal",
    "canopy-reporting",
    "canopy-security",
    "canopy-notifications",
    "canopy-sources",
    "canopy-probe",
    TEST_SERVICE,
)


class Sections(TypedDict):
    """The sections that every gRPC service's configuration has."""

    server: ServerConfig
    ops: OpsConfig
    issuer: IssuerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """A running issuer. Clients: every service id, a data steward, and one that has an id but no role."""

    url: str
    keys: KeyFolder
    config: IdentityConfig
    client_secrets: dict[str, str] = field(repr=False)

    def credentials(self, client_id: str) -> CredentialsConfig:
        """Return what `client_id` shows the issuer."""
        return CredentialsConfig(client_id=client_id, client_secret=Secret(self.client_secrets[client_id]))

    def claims(self, audience: str, **changes: object) -> dict[str, Any]:
        """Build the claims of a good token of the test service; a change to None removes a claim."""
        now = int(datetime.now(UTC).timestamp())
        good = {
            "iss": self.url,
            "sub": TEST_SERVICE,
            "aud": audience,
            "azp": TEST_SERVICE,
            "service": TEST_SERVICE,
            "roles": ["service"],
            "iat": now,
            "nbf": now,
            "exp": now + 600,
            "jti": str(uuid.uuid4()),
        }
        return {name: value for name, value in {**good, **changes}.items() if value is not None}

    def mint(self, claims: dict[str, Any], **headers: object) -> str:
        """Sign any claims with the key that signs now."""
        key = self.keys.present()[-1]
        return jwt.encode(claims, key.private, algorithm="EdDSA", headers={"kid": key.kid, **headers})

    def rotate(self, *, retire: bool = False) -> str:
        """Let a new key sign; with `retire` drop all others at once. Returns the new key id."""
        kid, _ = issue.rotate(self.keys, datetime.now(UTC), 10_000_000)
        if retire:
            self.keys.retire(datetime.max.replace(tzinfo=UTC))
        return kid


@asynccontextmanager
async def issuer(folder: Path, *, port: int = 0, per_minute: int = 100_000) -> AsyncIterator[Issuer]:
    """Run an issuer that keeps its keys and clients below `folder`; a second run on the folder is the same issuer."""
    port = port or free_port()
    url = f"http://127.0.0.1:{port}"
    client_secrets = _write_clients(folder)
    config = IdentityConfig(
        server=_server(port=port),
        ops=OpsConfig(port=0),
        token=TokenConfig(issuer=url, clients_path=folder / "clients.json", per_minute=per_minute),
        signing=SigningConfig(folder=folder / "keys"),
    )
    async with identity.build(config) as service, serving(service, config):
        yield Issuer(url=url, keys=KeyFolder(folder / "keys"), config=config, client_secrets=client_secrets)


def _write_clients(folder: Path) -> dict[str, str]:
    """Write the clients file and the secrets beside it, once; returns the secrets by client id."""
    folder.mkdir(exist_ok=True)
    remembered = folder / "secrets.json"
    if not remembered.exists():
        ids = (*SERVICES, STEWARD, NO_ROLE)
        client_secrets = {client_id: secrets.token_urlsafe(32) for client_id in ids}
        entries = [
            {
                "client_id": client_id,
                "secret_sha256": [hashlib.sha256(secret.encode()).hexdigest()],
                "service": client_id if client_id in SERVICES else None,
                "roles": ["service"] if client_id in SERVICES else ["data_steward"] if client_id == STEWARD else [],
                "audiences": list(SERVICES),
            }
            for client_id, secret in client_secrets.items()
        ]
        (folder / "clients.json").write_text(json.dumps({"clients": entries}))
        remembered.write_text(json.dumps(client_secrets))
    return json.loads(remembered.read_text())


def free_port() -> int:
    """Find a port that nobody listens on, for servers that must know theirs beforehand."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _server(*, port: int = 0) -> ServerConfig:
    return ServerConfig(port=port, drain_seconds=0.0, grace_seconds=5.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mesh:
    """Starts services that trust one issuer, and calls them as anyone that issuer knows."""

    issuer: Issuer

    def sections(self) -> Sections:
        """Return the chassis's part of a configuration: free ports, no drain time, this mesh's issuer.

        `PersonsConfig(**mesh.sections(), database=…)`.
        """
        return Sections(server=_server(), ops=OpsConfig(port=0), issuer=IssuerConfig(url=self.issuer.url))

    @asynccontextmanager
    async def serve(
        self, build: Callable[[C], AbstractAsyncContextManager[Service]], config: C
    ) -> AsyncIterator[Running]:
        """Run a service in this process until the block ends."""
        async with build(config) as service, serving(service, config) as running:
            yield running

    def serve_alone(self, service: Service) -> AbstractAsyncContextManager[Running]:
        """Run a service that needs nothing of its own."""
        return serving(service, ServiceConfig(**self.sections()))

    @asynccontextmanager
    async def dial(
        self, running: Running, service: str, *, caller: str = TEST_SERVICE
    ) -> AsyncIterator[grpc.aio.Channel]:
        """Open a channel to `service` (its id) with the full client stack, as the client `caller`."""
        issuer_config = IssuerConfig(url=self.issuer.url)
        async with (
            ClientCredentials.open(issuer_config, self.issuer.credentials(caller)) as tokens,
            dial(self.client(running), service, tokens) as channel,
        ):
            yield channel

    @staticmethod
    def client(running: Running) -> ClientConfig:
        """Return how to call a running service."""
        return ClientConfig(target=f"127.0.0.1:{running.port}")


@pytest.fixture(scope="session")
async def mesh(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Mesh]:
    """The run's mesh: one issuer that all services trust. Services are started by the tests."""
    async with issuer(tmp_path_factory.mktemp("mesh") / "identity") as running:
        yield Mesh(issuer=running)


@contextmanager
def refused(*reasons: Reason) -> Iterator[None]:
    """Expect the block to fail for one of `reasons`, as a Refusal, a ClientError or a raw status with ErrorInfo."""
    with pytest.raises((Refusal, ClientError, grpc.aio.AioRpcError)) as caught:
        yield
    names = {Reason.Name(reason) for reason in reasons}
    assert reason_of(caught.value) in names, f"refused for {reason_of(caught.value)}, expected {sorted(names)}"


def reason_of(error: BaseException) -> str:
    """Return the name of the reason that a failure carries; the status code's name where it carries none."""
    if isinstance(error, Refusal | ClientError):
        return Reason.Name(error.reason)
    assert isinstance(error, grpc.aio.AioRpcError)
    for detail in details_of(error):
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info):
            return info.reason
    return error.code().name


def details_of(error: grpc.aio.AioRpcError) -> list[Any]:
    """Return the google.rpc details of a raw status."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            return list(status_pb2.Status.FromString(value).details)
    return []
