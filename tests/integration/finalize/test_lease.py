"""The lease keeps others away while an attempt lives; the fence keeps a paused one from writing (FIN-05, FIN-23)."""

from __future__ import annotations

import asyncio

from canopy.applications.v1.finalize_service_pb2_grpc import FinalizeServiceStub
from canopy.errors.v1.reason_pb2 import Reason
from services.applications.main import NAME
from services.kernel import failpoint
from services.kernel.failpoint import Action, Failpoint
from services.kernel.tally import tally
from tests.applications import PORTAL
from tests.filings import filing
from tests.mesh import refused
from tests.submits import HASTY, PATIENCE, World, finalize_call, paused, reached


async def test_paused_attempt_cannot_complete_once_it_was_taken_over(world: World) -> None:
    """FIN-08: a stolen lease cannot complete, though the paused attempt believes that it holds it."""
    draft = await world.draft()
    async with paused(Failpoint.APPLICATIONS_BEFORE_FINAL, world.first.submit(draft)) as zombie:
        await world.end_lease(draft)
        async with paused(Failpoint.APPLICATIONS_BEFORE_APPLY, world.second.submit(draft)) as heir:
            with refused(Reason.REASON_LEASE_LOST):
                await zombie.resume()
            assert await world.count("applications") == 0
            assert await world.count("application_drafts") == 1
            assert (await world.row(draft))["status"] == "in_progress"

            receipt = await heir.resume()

    assert (await world.row(draft))["released_at"] is not None
    assert len(await world.recorded(draft)) == 4
    assert await world.first.submit(draft) == receipt


async def test_paused_attempt_finds_what_its_heir_filed(world: World) -> None:
    """FIN-08: an application under the id already: the filing that stands is read back, nothing is written over it."""
    draft = await world.draft()
    async with paused(Failpoint.APPLICATIONS_BEFORE_FINAL, world.first.submit(draft)) as zombie:
        await world.end_lease(draft)
        receipt = await world.second.submit(draft)
        with tally() as cost:
            assert await zombie.resume() == receipt

    assert await world.count("applications") == 1
    assert await world.count("event_outbox") == 1
    assert cost.rpcs <= 1  # it may release once more: that is acknowledged


async def test_paused_attempt_that_writes_after_the_release_hears_that_it_was_taken_over(world: World) -> None:
    """FIN-19: persons has sealed the generation: the late attempt is told to come again, and then gets the receipt."""
    draft = await world.draft()
    async with paused(Failpoint.APPLICATIONS_BEFORE_APPLY, world.first.submit(draft)) as zombie:
        await world.end_lease(draft)
        receipt = await world.second.submit(draft)
        with refused(Reason.REASON_LEASE_LOST):
            await zombie.resume()

    assert await world.first.submit(draft) == receipt


async def test_stopped_heartbeats_let_the_lease_run_out(world: World) -> None:
    """FIN-05: an attempt whose process stands still is taken over after the lease; it then stops by itself."""
    draft = await world.draft()
    failpoint.arm(Failpoint.APPLICATIONS_HEARTBEAT_BEFORE, Action.HANG, times=None)
    async with (
        world.coordinator(finalize=HASTY) as stalled,
        world.mesh.dial(world.second.running, NAME, caller=PORTAL) as channel,
        paused(Failpoint.APPLICATIONS_AFTER_REGISTER_SENT, stalled.submit(draft, filing(2))) as zombie,
    ):
        # The portal's own stack comes again when the answer says so, by when the lease has run out.
        answer = await FinalizeServiceStub(channel).FinalizeApplication(finalize_call(draft, filing(2)))

        with tally() as cost, refused(Reason.REASON_LEASE_LOST):
            await zombie.resume()

    assert answer.receipt.application_id == str(draft)
    assert cost.rpcs == 0
    assert await world.count("applications") == 1


async def test_heartbeats_keep_a_slow_attempt(world: World) -> None:
    """FIN-05: work that takes longer than the lease is not stolen while it beats."""
    draft = await world.draft()
    beats: asyncio.Queue[None] = asyncio.Queue()

    async def beat() -> None:
        beats.put_nowait(None)

    failpoint.arm(Failpoint.APPLICATIONS_HEARTBEAT_AFTER, beat, times=None)
    async with (
        world.coordinator(finalize=HASTY) as slow,
        paused(Failpoint.APPLICATIONS_BEFORE_APPLY, slow.submit(draft)) as attempt,
    ):
        holder = (await world.row(draft))["holder"]
        async with asyncio.timeout(PATIENCE):
            for _ in range(12):  # 1.2 seconds at least, of a lease of one
                await beats.get()

        with refused(Reason.REASON_OPERATION_BUSY):
            await world.second.submit(draft)
        assert (await world.row(draft))["holder"] == holder

        receipt = await attempt.resume()
    assert await world.second.submit(draft) == receipt


async def test_lost_heartbeat_stops_new_effects(world: World) -> None:
    """FIN-05: an attempt that learns from its heartbeat that it is lost sends nothing more."""
    draft = await world.draft()
    async with (
        world.coordinator(finalize=HASTY) as first,
        paused(Failpoint.APPLICATIONS_AFTER_REGISTER_SENT, first.submit(draft)) as loser,
    ):
        with failpoint.arm(Failpoint.APPLICATIONS_HEARTBEAT_BEFORE, Action.PAUSE) as held_up:
            await reached(held_up)
            await world.end_lease(draft)
            receipt = await world.second.submit(draft)
            with failpoint.arm(Failpoint.APPLICATIONS_HEARTBEAT_AFTER, Action.PAUSE) as told:
                held_up.resume()
                await reached(told)

        with tally() as cost, refused(Reason.REASON_LEASE_LOST):
            await loser.resume()

    assert cost.rpcs == 0
    assert await world.second.submit(draft) == receipt


async def test_failed_heartbeat_is_followed_by_the_next(world: World) -> None:
    """FIN-05: one beat that fails costs nothing: the lease is three of them."""
    draft = await world.draft()
    async with world.coordinator(finalize=HASTY) as first:
        with failpoint.arm(Failpoint.APPLICATIONS_HEARTBEAT_BEFORE, Action.RAISE) as failing:
            async with paused(Failpoint.APPLICATIONS_BEFORE_FINAL, first.submit(draft)) as attempt:
                await reached(failing)
                with failpoint.arm(Failpoint.APPLICATIONS_HEARTBEAT_AFTER, Action.PAUSE) as next_beat:
                    await reached(next_beat)
                receipt = await attempt.resume()

    assert receipt.application_id == str(draft)


async def test_restarted_process_does_not_inherit_a_lease(world: World) -> None:
    """FIN-23: a holder is fresh for every claim: the same process on the same host is another one next time."""
    draft = await world.draft()
    holders: list[object] = []
    for _ in range(2):
        with failpoint.arm(Failpoint.APPLICATIONS_AFTER_CLAIM, Action.RAISE), refused(Reason.REASON_INTERNAL):
            await world.first.submit(draft)
        holders.append((await world.row(draft))["holder"])

    assert holders[0] != holders[1]
