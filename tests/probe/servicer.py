"""An implementation of the probe contract whose calls a test can hold."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from services.chassis.service import Service, Servicer
from services.kernel import caller
from tests.probe import SERVICE, pb, rpc

NAME = "canopy-probe"

_log = logging.getLogger("services.probe")


class Probe(rpc.ProbeServiceServicer):
    """Answers with the caller's id. `Write` waits while `gate` is clear; `entered` says that it does."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def Write(self, request: Any, context: Any) -> Any:
        self.entered.set()
        await self.gate.wait()
        _log.info("probe written")
        return pb.Answer(word=caller.current().service_id())

    async def Open(self, request: Any, context: Any) -> Any:
        return pb.Answer(word=request.word)


def probe_service(probe: Probe, **fields: Any) -> Service:
    """Wrap the probe as a service of its own."""
    servicer = Servicer(descriptor=SERVICE, add=rpc.add_ProbeServiceServicer_to_server, implementation=probe)
    return Service(name=NAME, servicers=[servicer], **fields)
