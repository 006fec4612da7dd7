"""Sessions of the portal: minted, kept, prolonged and ended, and never adopted (SES-01, SES-02, SES-03, SES-08)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from canopy.applications.v1.drafts_service_pb2 import CredentialScope
from canopy.errors.v1.reason_pb2 import Reason
from canopy.portal.v1.sessions_service_pb2 import FlowKind
from services.chassis import valkey as chassis_valkey
from services.chassis.valkey import UnsafeInstanceError, ValkeyClient
from services.portal import main
from services.portal.config import SessionConfig
from services.portal.domain.sessions import Sessions
from tests.integration.portal.conftest import World
from tests.mesh import refused
from tests.portal import ORIGIN, Browser, portal_config

MINUTE = 60


@pytest.fixture
async def valkey(world: World) -> AsyncIterator[ValkeyClient]:
    """A client of the portal's Valkey."""
    async with chassis_valkey.connect(world.valkey.config()) as client:
        yield client


async def session_keys(valkey: ValkeyClient) -> list[str]:
    """Return the keys of all sessions."""
    found: list[Any] = await valkey.keys("session:*")
    return sorted(key.decode() for key in found)


async def test_a_session_is_an_opaque_token_that_only_the_cookie_holds(phone: Browser, valkey: ValkeyClient) -> None:
    """SES-01: the key is the token's SHA-256, the record is what ADR-026 lists, the raw token is nowhere."""
    started = await phone.start()

    token = phone.cookies["__Host-sid"]
    [key] = await session_keys(valkey)
    assert key == f"session:{hashlib.sha256(token.encode()).hexdigest()}"
    record = json.loads(await valkey.get(key) or b"")
    assert {"application_id", "code", "device_id", "flow_kind", "expires_at"} <= record.keys()
    assert record["application_id"] == started.application_id
    assert record["code"] == started.code
    device = phone.cookies["__Host-did"]
    assert record["device_id"] == hashlib.sha256(device.encode()).hexdigest()
    everything = "".join([key, *(json.dumps(record), str(await valkey.smembers(f"device:{record['device_id']}")))])
    assert token not in everything
    assert device not in everything
    assert started.passcode not in everything


async def test_cookies_are_bound_to_the_host_and_unreadable_by_scripts(phone: Browser) -> None:
    """SES-01: __Host-, Path=/, Secure, HttpOnly, SameSite=Strict; no Domain, no lifetime."""
    await phone.start()

    assert len(phone.set_cookies) == 2
    for header in phone.set_cookies:
        name, *attributes = [part.strip() for part in header.split(";")]
        assert name.startswith(("__Host-sid=", "__Host-did="))
        assert set(attributes) == {"Path=/", "Secure", "HttpOnly", "SameSite=Strict"}


async def test_two_sessions_never_share_a_token(phone: Browser, library: Browser) -> None:
    """SES-01: tokens are 256 random bits each."""
    await phone.start()
    await library.start()

    tokens = {phone.cookies["__Host-sid"], library.cookies["__Host-sid"]}
    assert len(tokens) == 2
    assert all(len(token) == 43 for token in tokens)


@pytest.mark.parametrize(
    ("shared_device", "flow", "seconds"),
    [(False, FlowKind.FLOW_KIND_APPLY, 30 * MINUTE), (True, FlowKind.FLOW_KIND_KIOSK, 15 * MINUTE)],
)
async def test_the_flow_decides_how_long_a_session_lasts(
    phone: Browser, valkey: ValkeyClient, shared_device: bool, flow: FlowKind, seconds: int
) -> None:
    """SES-02: 30 minutes for a draft, 15 on a shared device, as the key's own time to live."""
    started = await phone.start(shared_device=shared_device)

    [key] = await session_keys(valkey)
    assert started.session.flow_kind == flow
    assert started.session.seconds_remaining == seconds
    assert seconds - 5 <= await valkey.ttl(key) <= seconds


async def test_use_prolongs_a_session_and_looking_does_not(phone: Browser, valkey: ValkeyClient) -> None:
    """SES-02: a page that polls must not keep a session alive; filling the form must."""
    await phone.start()
    [key] = await session_keys(valkey)
    await shorten(valkey, key, 100)

    looked = await phone.session()
    assert looked.seconds_remaining <= 100
    await phone.load()

    assert (await phone.session()).seconds_remaining > 29 * MINUTE


async def test_nothing_prolongs_a_session_on_a_shared_device(phone: Browser, valkey: ValkeyClient) -> None:
    """SES-02: on a shared device a session ends 15 minutes after its start, however busy it is."""
    await phone.start(shared_device=True)
    [key] = await session_keys(valkey)
    await shorten(valkey, key, 100)

    await phone.load()

    assert (await phone.session()).seconds_remaining <= 100


async def shorten(valkey: ValkeyClient, key: str, seconds: int) -> None:
    """Bring the end of a session nearer."""
    record = json.loads(await valkey.get(key) or b"")
    now, _ = await valkey.time()
    record["expires_at"] = now + seconds
    await valkey.set(key, json.dumps(record), ex=seconds)


async def test_deleting_the_key_ends_the_session_at_once(phone: Browser, valkey: ValkeyClient) -> None:
    """SES-02: DEL is the kill-switch."""
    await phone.start()
    await valkey.delete(*await session_keys(valkey))

    with refused(Reason.REASON_SESSION_REQUIRED):
        await phone.load()


async def test_a_session_that_ends_during_a_submit_stays_ended(phone: Browser, valkey: ValkeyClient) -> None:
    """SES-02: what was killed while the draft was being filed does not come back as a session of the application."""
    await phone.start()
    sessions = Sessions(valkey, SessionConfig(origins=(ORIGIN,)))
    session = await sessions.require(phone.cookies["__Host-sid"])
    await phone.end()

    assert await sessions.filed(session) is None
    assert await session_keys(valkey) == []


async def test_a_submit_turns_the_session_and_prolongs_none_on_a_shared_device(
    phone: Browser, library: Browser, valkey: ValkeyClient
) -> None:
    """SES-02: once filed, two hours at home; at a kiosk the end stays, however long the submit took."""
    sessions = Sessions(valkey, SessionConfig(origins=(ORIGIN,)))
    await library.start(shared_device=True)
    [key] = await session_keys(valkey)
    at_the_kiosk = await sessions.require(library.cookies["__Host-sid"])
    await shorten(valkey, key, 100)
    await phone.start()

    home = await sessions.filed(await sessions.require(phone.cookies["__Host-sid"]))
    kiosk = await sessions.filed(at_the_kiosk)

    assert home is not None
    assert kiosk is not None
    assert home.flow_kind == FlowKind.FLOW_KIND_STEADY_STATE
    assert (await phone.session()).seconds_remaining > 119 * MINUTE
    assert kiosk.flow_kind == FlowKind.FLOW_KIND_KIOSK
    assert (await library.session()).seconds_remaining <= 100
    assert (await library.session()).scope == CredentialScope.CREDENTIAL_SCOPE_APPLICATION


async def test_the_device_index_lists_the_sessions_of_a_device(phone: Browser, valkey: ValkeyClient) -> None:
    """SES-02: device:{id} holds its sessions; ending one takes it out."""
    await phone.start()
    [key] = await session_keys(valkey)
    [index] = await valkey.keys("device:*")

    assert await valkey.smembers(index) == {key.removeprefix("session:").encode()}
    await phone.end()
    assert await valkey.smembers(index) == set()


async def test_logging_out_ends_the_session_clears_the_cookie_and_can_be_repeated(
    phone: Browser, valkey: ValkeyClient
) -> None:
    """SES-01: after the logout the old token opens nothing, on any device."""
    await phone.start()
    old = dict(phone.cookies)

    await phone.end()

    assert "__Host-sid" not in phone.cookies
    assert await session_keys(valkey) == []
    phone.cookies.update(old)
    with refused(Reason.REASON_SESSION_REQUIRED):
        await phone.load()
    await phone.end()


async def test_a_new_login_ends_the_browsers_old_session(phone: Browser, valkey: ValkeyClient) -> None:
    """SES-01: a browser has one session; the old token is void once the new one is out."""
    started = await phone.start()
    old = phone.cookies["__Host-sid"]

    await phone.resume(started.code, started.passcode)

    assert phone.cookies["__Host-sid"] != old
    assert len(await session_keys(valkey)) == 1


@pytest.mark.parametrize("planted", ["", "x", "A" * 43, "../etc", "a" * 4000, "é" * 20])
async def test_a_planted_cookie_opens_nothing_and_is_never_adopted(phone: Browser, planted: str) -> None:
    """SES-01: tokens come from us alone; a client's value is neither accepted nor kept."""
    phone.cookies["__Host-sid"] = planted.encode().decode("latin-1") if planted.isascii() else "%C3%A9"

    with refused(Reason.REASON_SESSION_REQUIRED):
        await phone.load()
    await phone.start()

    assert phone.cookies["__Host-sid"] != planted


async def test_the_welcome_page_needs_no_session(phone: Browser, valkey: ValkeyClient) -> None:
    """SES-08: before a draft is started there is no cookie and no key, and asking makes none."""
    with refused(Reason.REASON_SESSION_REQUIRED):
        await phone.session()

    assert phone.cookies == {}
    assert await session_keys(valkey) == []


async def test_sessions_survive_a_crash_of_their_store(world: World, phone: Browser) -> None:
    """SES-03: the store keeps sessions on disk, and the portal finds it again by itself."""
    await phone.start()

    await world.valkey.kill()
    with refused(Reason.REASON_SESSIONS_UNAVAILABLE):
        await phone.load()
    await world.valkey.start()

    await phone.load()


async def test_a_store_that_evicts_is_refused_at_start(world: World, valkey: ValkeyClient) -> None:
    """SES-03: with any policy but noeviction, or without a memory bound, the portal does not start."""
    config = portal_config(world.mesh, world.valkey.config(), world.applications_port)
    await valkey.config_set("maxmemory-policy", "allkeys-lru")
    with pytest.raises(UnsafeInstanceError):
        async with main.build(config):
            pass
    await valkey.config_set("maxmemory-policy", "noeviction")
    await valkey.config_set("maxmemory", 0)

    with pytest.raises(UnsafeInstanceError):
        async with main.build(config):
            pass


async def test_a_store_that_begins_to_evict_makes_the_portal_not_ready(world: World, valkey: ValkeyClient) -> None:
    """SES-03: readiness notices a changed policy, and its end; the guard's own rounds are proven in the chassis."""
    async with main.build(portal_config(world.mesh, world.valkey.config(), world.applications_port)) as service:
        ready = service.checks["sessions"]
        await ready()
        await valkey.config_set("maxmemory-policy", "allkeys-lru")
        with pytest.raises(UnsafeInstanceError):
            await ready()
        await valkey.config_set("maxmemory-policy", "noeviction")
        await ready()


async def test_a_full_store_refuses_new_sessions_and_ends_old_ones(phone: Browser, valkey: ValkeyClient) -> None:
    """SES-03: out of memory nothing live is evicted: starting is refused, logging out works."""
    await phone.start()
    await valkey.config_set("maxmemory", 1)

    with refused(Reason.REASON_SESSIONS_UNAVAILABLE):
        await phone.start()
    await phone.end()
    await valkey.config_set("maxmemory", "64mb")

    with refused(Reason.REASON_SESSION_REQUIRED):
        await phone.load()
