"""The client of Valkey and the guard of instances that must not evict, on real servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest
from redis.exceptions import RedisError

from services.chassis import valkey
from services.chassis.valkey import EvictionGuard, UnsafeInstanceError, ValkeyClient, ValkeyConfig
from services.kernel.secret import Secret
from tests.valkey import TestServer, connected

HOUR = 3600.0


@pytest.fixture
async def sessions(tmp_path: Path) -> AsyncIterator[tuple[TestServer, ValkeyClient]]:
    async with connected(tmp_path, "sessions") as server_and_client:
        yield server_and_client


async def soon(verdict: Awaitable[str | None]) -> str | None:
    """Fail instead of hanging when a verdict never comes."""
    async with asyncio.timeout(20):
        return await verdict


async def require_reason(guard: EvictionGuard, reason: str) -> None:
    with pytest.raises(UnsafeInstanceError) as caught:
        await guard.require()
    assert caught.value.reason == reason
    assert guard.reason is not None


async def test_instance_with_noeviction_and_a_bound_is_accepted(sessions: tuple[TestServer, ValkeyClient]) -> None:
    """SES-03: the set-up that sessions need lets the service start."""
    guard = EvictionGuard(sessions[1])
    assert guard.reason == "unreachable"  # nobody has looked yet

    await guard.require()

    assert guard.reason is None


@pytest.mark.parametrize(
    ("setting", "value", "reason"), [("maxmemory-policy", "allkeys-lru", "evicts"), ("maxmemory", "0", "unbounded")]
)
async def test_unfit_instance_is_refused_at_start(
    sessions: tuple[TestServer, ValkeyClient], setting: str, value: str, reason: str
) -> None:
    """SES-03: boot refuses an instance that evicts, or that has no bound to be full at."""
    _, client = sessions
    await client.config_set(setting, value)

    await require_reason(EvictionGuard(client), reason)


async def test_flip_at_run_time_makes_not_ready_and_back(
    sessions: tuple[TestServer, ValkeyClient], verdicts: asyncio.Queue[str | None]
) -> None:
    """SES-03: the running guard sees a flip of the policy, and its return."""
    _, client = sessions
    guard = EvictionGuard(client, interval=0.01)

    async with guard.worker:
        assert await soon(verdicts.get()) is None
        assert guard.reason is None
        await client.config_set("maxmemory-policy", "volatile-ttl")
        assert await soon(verdicts.get()) == "evicts"
        assert guard.reason is not None
        await client.config_set("maxmemory-policy", "noeviction")
        assert await soon(verdicts.get()) is None
        assert guard.reason is None


async def test_reconnect_is_followed_by_a_check(
    sessions: tuple[TestServer, ValkeyClient], verdicts: asyncio.Queue[str | None]
) -> None:
    """SES-03: a restart under another policy is seen on the first reconnect, an hour before the next regular check."""
    server, client = sessions
    guard = EvictionGuard(client, interval=HOUR)
    async with guard.worker:
        assert await soon(verdicts.get()) is None
        await server.stop()
        with pytest.raises(RedisError):
            await client.ping()
        await server.start()
        async with valkey.connect(server.config()) as operator:
            await operator.config_set("maxmemory-policy", "allkeys-lfu")
        assert guard.reason is None

        await client.ping()

        assert await soon(verdicts.get()) == "evicts"
        assert guard.reason is not None


async def test_unreachable_instance_is_refused(sessions: tuple[TestServer, ValkeyClient]) -> None:
    """SES-03: no answer is no proof of a safe set-up."""
    server, client = sessions
    guard = EvictionGuard(client)
    await guard.require()
    await server.stop()

    await require_reason(guard, "unreachable")


async def test_guard_needs_no_right_to_config(sessions: tuple[TestServer, ValkeyClient]) -> None:
    """SES-03: the verdict is the same on services whose ACL forbids CONFIG."""
    server, admin = sessions
    await admin.acl_setuser(
        "guarded", enabled=True, passwords=["+correct horse"], categories=["+@all"], commands=["-config"]
    )
    config = ValkeyConfig(url=server.config().url, username="guarded", password=Secret("correct horse"))

    async with valkey.connect(config) as client:
        with pytest.raises(RedisError):
            await client.config_get("maxmemory-policy")
        await EvictionGuard(client).require()
        await admin.config_set("maxmemory-policy", "allkeys-lru")
        await require_reason(EvictionGuard(client), "evicts")


async def test_client_answers_in_bytes_and_reconnects_after_a_crash(sessions: tuple[TestServer, ValkeyClient]) -> None:
    """SES-03: a restarted instance is used again without a restart of the service."""
    server, client = sessions
    await client.set("key", b"\xff\x00")
    await server.kill()
    with pytest.raises(RedisError):
        await client.get("key")
    await server.start()

    assert await client.ping() is True
    assert await client.get("key") in (b"\xff\x00", None)  # a crash may take the last second of writes


def test_password_in_the_address_is_refused() -> None:
    """SES-03: a password belongs in a file, not in a variable that others can list."""
    config = ValkeyConfig(url="redis://:secret@localhost:6379/0")

    (violation,) = config.check()

    assert "secret" not in violation
