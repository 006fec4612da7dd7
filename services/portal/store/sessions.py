"""Sessions in Valkey: `session:{sha256(token)}` holds the record, `device:{id}` the sessions of a device (ADR-026).

A repeated command does no harm: a script that ran twice leaves the same keys. Only GET, SET, DEL, EXPIRE, SADD, SREM
and TIME are used. Every function raises REASON_SESSIONS_UNAVAILABLE when the instance does not answer or is full.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from canopy.errors.v1.reason_pb2 import Reason
from services.kernel.errors import Refusal

# KEYS: session, device. ARGV: record without its end, seconds to live, seconds that the device index lives, session id.
MINT: Final = """
local record = cjson.decode(ARGV[1])
record.expires_at = tonumber(redis.call('TIME')[1]) + tonumber(ARGV[2])
redis.call('SET', KEYS[1], cjson.encode(record), 'EX', ARGV[2])
redis.call('SADD', KEYS[2], ARGV[4])
redis.call('EXPIRE', KEYS[2], ARGV[3])
return record.expires_at
"""

# KEYS: session. ARGV: "1" to prolong the session by its own idle_seconds.
# Answers the record and the seconds it has left, or nothing.
FIND: Final = """
local found = redis.call('GET', KEYS[1])
if not found then return nil end
local record = cjson.decode(found)
local now = tonumber(redis.call('TIME')[1])
if record.expires_at <= now then return nil end
if ARGV[1] == '1' and record.idle_seconds > 0 then
  record.expires_at = now + record.idle_seconds
  redis.call('SET', KEYS[1], cjson.encode(record), 'EX', record.idle_seconds)
end
return {cjson.encode(record), record.expires_at - now}
"""

# KEYS: session. ARGV: record without its end. Answers the seconds that it has left; nothing, and stores nothing, where
# the session has ended. A record without idle_seconds keeps the end of the one that it replaces.
TURN: Final = """
local found = redis.call('GET', KEYS[1])
if not found then return nil end
local ends = cjson.decode(found).expires_at
local now = tonumber(redis.call('TIME')[1])
if ends <= now then return nil end
local record = cjson.decode(ARGV[1])
record.expires_at = record.idle_seconds > 0 and now + record.idle_seconds or ends
redis.call('SET', KEYS[1], cjson.encode(record), 'EX', record.expires_at - now)
return record.expires_at - now
"""

# KEYS: session. ARGV: session id. `allow-oom`: a full instance must still be able to end sessions.
END: Final = """#!lua flags=allow-oom
local found = redis.call('GET', KEYS[1])
if not found then return 0 end
redis.call('SREM', 'device:' .. cjson.decode(found).device_id, ARGV[1])
return redis.call('DEL', KEYS[1])
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a session is, as stored. `device_id` is the SHA-256 of the device's cookie."""

    application_id: str
    code: str
    device_id: str
    flow_kind: str  # name of a canopy.portal.v1.FlowKind
    scope: str  # name of a canopy.applications.v1.CredentialScope
    credential_epoch: int
    idle_seconds: int  # every use makes the session last that long again; 0 where its end is fixed


async def mint(valkey: Redis, session_id: str, record: Record, *, seconds: int, device_seconds: int) -> None:
    """Store a session that lives for `seconds`. session_id: SHA-256 of the token, hexadecimal."""
    with _available():
        script = valkey.register_script(MINT)
        await script(
            keys=[_session(session_id), f"device:{record.device_id}"],
            args=[json.dumps(asdict(record)), seconds, device_seconds, session_id],
        )


async def find(valkey: Redis, session_id: str, *, prolong: bool) -> tuple[Record, int] | None:
    """Return a live session and the seconds it has left; with `prolong` this counts as a use of it."""
    with _available():
        script = valkey.register_script(FIND)
        answer = await script(keys=[_session(session_id)], args=["1" if prolong else "0"])
    if answer is None:
        return None
    stored = json.loads(answer[0])
    del stored["expires_at"]
    return Record(**stored), int(answer[1])


async def turn(valkey: Redis, session_id: str, record: Record) -> int | None:
    """Replace the record of a live session; return the seconds it has left, None where it has ended meanwhile."""
    with _available():
        script = valkey.register_script(TURN)
        seconds = await script(keys=[_session(session_id)], args=[json.dumps(asdict(record))])
    return None if seconds is None else int(seconds)


async def end(valkey: Redis, session_id: str) -> bool:
    """Delete a session at once; False when there was none."""
    with _available():
        script = valkey.register_script(END)
        return bool(await script(keys=[_session(session_id)], args=[session_id]))


def _session(session_id: str) -> str:
    return f"session:{session_id}"


@contextmanager
def _available() -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        raise Refusal(Reason.REASON_SESSIONS_UNAVAILABLE) from error
