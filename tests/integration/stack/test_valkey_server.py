"""The embedded Valkey: refuses instead of forgetting, survives a crash, opens to nobody without its password."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import redis.asyncio
import redis.exceptions

from services.cli.stack.process import PortTakenError, free_port
from services.cli.stack.valkey import Role, ValkeyConfig, ValkeyServer


@pytest.fixture
def home(stack_home: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    home = stack_home / request.node.name
    yield home
    shutil.rmtree(home, ignore_errors=True)


def config(home: Path, role: Role = "sessions", port: int = 0, max_memory_mb: int = 64) -> ValkeyConfig:
    return ValkeyConfig(home=home, role=role, port=port, max_memory_mb=max_memory_mb, die_with_parent=True)


def arguments_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


@asynccontextmanager
async def connected(server: ValkeyServer) -> AsyncIterator[redis.asyncio.Redis]:
    client = redis.asyncio.Redis.from_url(server.url(), password=server.password.reveal(), decode_responses=True)
    try:
        yield client
    finally:
        await client.aclose()


@pytest.mark.parametrize("role", ["sessions", "bus"])
async def test_a_full_server_refuses_writes_and_keeps_every_key(home: Path, role: Role) -> None:
    """SES-01: an evicted session or event would be a silent loss, so memory that is full is an error of the writer."""
    async with ValkeyServer.running(config(home, role, max_memory_mb=4)) as server, connected(server) as client:
        pipeline = client.pipeline(transaction=False)
        for number in range(100):
            pipeline.set(f"key:{number}", "x" * 100_000, ex=3600)
        replies = await pipeline.execute(raise_on_error=False)

        refused = [reply for reply in replies if isinstance(reply, redis.exceptions.OutOfMemoryError)]
        assert refused
        assert await client.dbsize() == len(replies) - len(refused) > 0
        assert (await client.config_get("maxmemory-policy"))["maxmemory-policy"] == "noeviction"


async def test_keys_and_their_expiry_survive_a_crash(home: Path) -> None:
    """SES-01: SIGKILL of the server ends no session that was written out."""
    server = await ValkeyServer.start(config(home))
    try:
        async with connected(server) as client:
            await client.set("session", "kept", ex=3600)
            await client.execute_command("WAITAOF", 1, 0, 0)
        await server.kill()
        server = await ValkeyServer.start(config(home, port=server.port))
        async with connected(server) as client:
            assert await client.get("session") == "kept"
            assert 0 < await client.ttl("session") <= 3600
    finally:
        await server.stop()


async def test_the_password_is_demanded_and_in_no_argument(home: Path) -> None:
    """SES-01: arguments are visible to every user of the machine; the password is in files of mode 0600."""
    async with ValkeyServer.running(config(home)) as server:
        anonymous = redis.asyncio.Redis.from_url(server.url())
        with pytest.raises(redis.exceptions.AuthenticationError):
            await anonymous.ping()
        await anonymous.aclose()
        arguments = arguments_of(server.process.pid)

    assert server.password.reveal() not in arguments
    for file in (home / "secrets" / "valkey-sessions", home / "valkey-sessions" / "valkey.conf"):
        assert file.stat().st_mode & 0o777 == 0o600


async def test_a_folder_may_have_any_name(home: Path) -> None:
    """OPS-01: the server takes a path for a pattern and a setting for quoted text; neither bends the name."""
    async with ValkeyServer.running(config(home / 'a [b]* "c"')) as server, connected(server) as client:
        assert (await client.config_get("dir"))["dir"] == str(home / 'a [b]* "c"' / "valkey-sessions")


async def test_two_roles_and_two_stacks_stand_side_by_side(home: Path) -> None:
    """OPS-01: the roles of one stack and the stacks of one machine share nothing."""
    async with (
        ValkeyServer.running(config(home / "a", "sessions")) as one,
        ValkeyServer.running(config(home / "a", "bus")) as two,
        ValkeyServer.running(config(home / "b", "bus")) as three,
    ):
        assert len({server.port for server in (one, two, three)}) == 3
        assert len({server.password.reveal() for server in (one, two, three)}) == 3


async def test_a_taken_port_is_refused_and_a_lost_one_chosen_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OPS-01: a wished port is used or refused; a chosen one that another program took is replaced."""
    async with ValkeyServer.running(config(home / "a")) as first:
        with pytest.raises(PortTakenError, match=f"port {first.port} is taken by another program"):
            await ValkeyServer.start(config(home / "b", port=first.port))

        lost = iter([first.port])
        monkeypatch.setattr("services.cli.stack.process.free_port", lambda: next(lost, None) or free_port())
        async with ValkeyServer.running(config(home / "b")) as second:
            assert second.port != first.port
