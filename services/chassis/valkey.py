"""Valkey (or Redis) connections, and the guard for instances whose keys must never be evicted.

Every client has bounded waits and a small retry with jitter: a command may therefore run twice when its first answer
was lost, so writes must bear repetition.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import FullJitterBackoff
from redis.exceptions import RedisError

from services.chassis.background import Worker
from services.chassis.config import knob
from services.kernel.secret import Secret

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValkeyConfig:
    """One Valkey instance and how long to wait for it."""

    url: str = knob(
        doc="Address: redis://host:port/0, rediss:// for TLS or unix:///path. Without a password.",
        pattern=r"(redis|rediss|unix)://.+",
    )
    username: str | None = knob(None, doc="ACL user; empty for the default user.")
    password: Secret[str] | None = knob(None, doc="Password of the ACL user; empty when the instance asks for none.")
    connect_seconds: float = knob(2.0, lo=0.05, hi=60, unit="s", doc="Longest wait for a new connection.")
    answer_seconds: float = knob(3.0, lo=0.05, hi=60, unit="s", doc="Longest wait for an answer.")
    retries: int = knob(1, lo=0, hi=10, doc="How often a command is repeated after a lost connection.")
    connections: int = knob(32, lo=1, hi=1000, doc="Largest number of connections of this process.")

    def check(self) -> Iterator[str]:
        """Refuse a password in the address: it would reach logs and process lists."""
        if urlsplit(self.url).password is not None:
            yield "url must not hold a password: name its file instead"


class ValkeyClient(Redis):
    """A client that tells listeners about every new connection: the instance behind it may be another one now."""

    def __init__(self, pool: BlockingConnectionPool, listeners: list[Callable[[], None]]) -> None:
        super().__init__(connection_pool=pool)
        self._connect_listeners = listeners

    def on_connect(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each connect or reconnect from now on. It must neither block nor raise."""
        self._connect_listeners.append(listener)


@asynccontextmanager
async def connect(config: ValkeyConfig) -> AsyncIterator[ValkeyClient]:
    """Open a client; it connects on first use and closes its connections at the end. Answers are bytes, never text."""
    listeners: list[Callable[[], None]] = []

    async def connected(connection: AbstractConnection) -> None:
        await connection.on_connect()
        for listener in listeners:
            listener()

    pool = BlockingConnectionPool.from_url(
        config.url,
        username=config.username,
        password=config.password.reveal() if config.password else None,
        protocol=2,  # RESP3 adds server pushes, which nothing here reads
        max_connections=config.connections,
        timeout=config.connect_seconds,
        socket_connect_timeout=config.connect_seconds,
        socket_timeout=config.answer_seconds,
        retry=Retry(FullJitterBackoff(cap=1.0, base=0.05), config.retries),
        redis_connect_func=connected,
    )
    client = ValkeyClient(pool, listeners)
    try:
        yield client
    finally:
        await client.aclose()
        await pool.aclose()


class UnsafeInstanceError(Exception):
    """The instance could lose keys by its set-up. `reason` is one of the slugs of `EvictionGuard`."""

    def __init__(self, reason: str) -> None:
        self.reason: Final = reason
        super().__init__(f"the Valkey instance is not fit to hold sessions or events: {reason}")


class EvictionGuard:
    """Watches that an instance never evicts keys: policy noeviction, and a memory bound, so that a full one says so.

    Reasons: "evicts", "unbounded", "unreachable". INFO alone is read: managed services and strict ACLs forbid CONFIG.
    Call `require` at start and in readiness, and run `worker`: it checks in every interval and after every reconnect,
    since a failover may have put another instance behind the same address, and says so in the log.
    """

    def __init__(self, client: ValkeyClient, *, interval: float = 60.0) -> None:
        """Guard the instance of `client`. interval: seconds between two checks."""
        self._client = client
        self._reason: str | None = "unreachable"
        self.worker: Final = Worker("eviction-guard", interval, self._check)
        client.on_connect(self.worker.nudge)

    @property
    def reason(self) -> str | None:
        """Why the instance is not fit, by the latest check ("unreachable" before the first); None when it is."""
        return self._reason

    async def require(self) -> None:
        """Check now. Raises UnsafeInstanceError, also when the instance cannot be reached: a service must not start."""
        try:
            await self._check()
        except RedisError as error:
            raise UnsafeInstanceError("unreachable") from error
        if self._reason is not None:
            raise UnsafeInstanceError(self._reason)

    async def _check(self) -> None:
        """Read the instance's set-up and keep the verdict; RedisError when it cannot be read (the verdict says so)."""
        before = self._reason
        try:
            self._reason = await self._find_reason()
        except RedisError:
            self._reason = "unreachable"
            raise
        finally:
            if self._reason != before:
                level = logging.INFO if self._reason is None else logging.ERROR
                _log.log(level, "eviction guard changed its verdict", extra={"reason": self._reason})

    async def _find_reason(self) -> str | None:
        info = await self._client.info("memory")
        if info["maxmemory_policy"] != "noeviction":
            return "evicts"
        if info["maxmemory"] == 0:
            return "unbounded"
        return None
