"""The issuer as a process: its first start, its readiness, its end."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import aiohttp

from services.chassis.service import EXIT_CONFIG
from tests.processes import environ_of, failed_start, running_process

IDENTITY = "services.identity.main"


async def test_first_start_makes_a_key_and_readiness_names_keys_and_clients(tmp_path: Path) -> None:
    """OPS-01: an empty folder is enough to begin with; a clients file that is missing shows in /readyz by name."""
    clients = tmp_path / "clients.json"
    knobs = {
        "token__issuer": "http://127.0.0.1:1",
        "token__clients_path": clients,
        "signing__folder": tmp_path / "new" / "keys",
    }
    async with (
        running_process(IDENTITY, environ_of("CANOPY_IDENTITY", **knobs)) as (process, running),
        aiohttp.ClientSession() as http,
    ):
        async with http.get(f"http://127.0.0.1:{running.port}/jwks.json") as response:
            keys = (await response.json())["keys"]
        async with http.get(f"http://127.0.0.1:{running.ops_port}/readyz") as response:
            before = (response.status, await response.text())
        clients.write_text(json.dumps({"clients": []}))
        async with http.get(f"http://127.0.0.1:{running.ops_port}/readyz") as response:
            after = (response.status, await response.text())
        process.send_signal(signal.SIGTERM)
        code = await process.wait()

    [path] = (tmp_path / "new" / "keys").iterdir()
    assert [key["kid"] for key in keys] == [path.stem]
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert before == (503, "serving: ok\nkeys: ok\nclients: failed\n")
    assert after == (200, "serving: ok\nkeys: ok\nclients: ok\n")
    assert code == 0


async def test_key_that_would_retire_before_its_tokens_expire_is_refused_at_start(tmp_path: Path) -> None:
    """MSH-06: the relation between two knobs is checked, not only each by itself."""
    knobs = {
        "token__issuer": "http://127.0.0.1:1",
        "token__clients_path": tmp_path / "clients.json",
        "signing__folder": tmp_path,
        "signing__retire_seconds": 600,
    }

    code, said = await failed_start(IDENTITY, environ_of("CANOPY_IDENTITY", **knobs))

    assert code == EXIT_CONFIG
    assert said == "CANOPY_IDENTITY: signing.retire_seconds must be more than token.life_seconds\n"
