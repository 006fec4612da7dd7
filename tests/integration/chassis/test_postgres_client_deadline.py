"""A transaction under a real server whose client gives up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import grpc
import grpc.aio

from services.chassis.postgres import Database
from services.kernel import failpoint
from services.kernel.failpoint import Action, Failpoint
from tests.integration.chassis.notes import NOTES, Notes, create_notes
from tests.servers import CreateDatabase

METHOD = "/canopy.test.Notes/Write"
Handler = Callable[[bytes, grpc.aio.ServicerContext[bytes, bytes]], Awaitable[bytes]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]]:
    """Serve one method without messages; yield how to call it."""
    _, service, method = METHOD.split("/")
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler(service, {method: grpc.unary_unary_rpc_method_handler(handler)})]
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel.unary_unary(METHOD)
    finally:
        await server.stop(None)


async def test_a_clients_deadline_does_not_cut_the_transaction(create_database: CreateDatabase) -> None:
    """FIN-23: gRPC cancels the handler when the client's deadline passes; what it had begun commits all the same."""
    fresh = await create_database()
    await create_notes(fresh)
    async with Database.open(fresh.service) as db:

        async def write(_request: bytes, _context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
            await db.transact("write", lambda tx: tx.execute(NOTES.insert, 1, "kept"))
            return b""

        with failpoint.arm(Failpoint.DB_BEFORE_COMMIT, Action.PAUSE) as pause:
            async with serving(write) as call:
                answer = call(b"", timeout=0.3)
                await pause.reached()
                assert await answer.code() == grpc.StatusCode.DEADLINE_EXCEEDED
            pause.resume()
        await db.drain()

        assert await Notes(db).texts() == ["kept"]
