"""`canopy demo`, the first thing that a person ever runs."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from services.chassis.resources import shipped
from tests.machine import Machine, Outcome, new_home

STEPS: Final = (
    "A draft is started", "Filled, encrypted on the device, saved twice", "Logged out", "Resumed on another device",
    "Submitted", "Submitted again", "On record as of", "A day earlier", "Downstream was told",
)  # fmt: skip
NO_DAY: Final = "1991-02-30"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demos:
    """Three demos side by side, and the folder that they made theirs in."""

    shown: Outcome
    """Without a file: the three examples."""
    json: Outcome
    refused: Outcome
    """With a birthday that is no day."""
    folder: Path


@pytest.fixture(scope="module")
async def demos() -> AsyncIterator[Demos]:
    with new_home() as folder:
        folder.mkdir(mode=0o711)
        machine = Machine(folder)
        bad = folder.with_name("bad.json")
        bad.write_text(json.dumps(_impossible(example("household"))))
        shown, as_json, refused = await asyncio.gather(
            machine.canopy("demo", TMPDIR=str(folder)),
            machine.canopy("--json", "demo", str(shipped("examples") / "household.json"), TMPDIR=str(folder)),
            machine.canopy("demo", str(bad), TMPDIR=str(folder)),
        )
        yield Demos(shown=shown, json=as_json, refused=refused, folder=folder)


def example(name: str) -> Any:
    """Read one of the shipped examples."""
    return json.loads((shipped("examples") / f"{name}.json").read_text())


def _impossible(form: Any) -> Any:
    form["people"][0]["details"]["birthDate"]["value"] = NO_DAY
    return form


def test_every_step_of_every_household_is_shown(demos: Demos) -> None:
    """OPS-01: three households go through; each step is told, in plain text where nobody watches."""
    assert demos.shown.code == 0, demos.shown.err
    for step in STEPS:
        assert demos.shown.out.count(f"✓ {step}\n") + demos.shown.out.count(f"✓ {step} 2") == 3, step
    for name in ("household", "three-generations", "names-and-unknowns"):
        people = len(example(name)["people"])
        assert f"\n{name}: {people} people, " in demos.shown.out
    assert "3 households filed and read back" in demos.shown.out
    assert "\x1b" not in demos.shown.out


def test_result_as_json_is_the_receipt(demos: Demos) -> None:
    """OPS-02: with --json the output is one document and nothing else."""
    assert demos.json.code == 0, demos.json.err
    [receipt] = demos.json.json()["filed"]
    assert {
        "applicationId",
        "householdId",
        "receivedAt",
        "filingDate",
        "basisDate",
        "programsRequested",
    } <= receipt.keys()


def test_form_that_breaks_a_rule_ends_it_in_one_line(demos: Demos) -> None:
    """OPS-01: the field is named, the value is not, and the exit code says that it failed."""
    assert demos.refused.code == 1
    assert demos.refused.err.splitlines()[-1].startswith("canopy: the form was not accepted: HTTP 400 ")
    assert "request.people[0].details.birth_date.value" in demos.refused.err
    assert len([line for line in demos.refused.err.splitlines() if line.startswith("canopy: ")]) == 1
    assert NO_DAY not in demos.refused.out + demos.refused.err


def test_nothing_of_a_demo_stays(demos: Demos) -> None:
    """OPS-01: no folder and no process, whether it went well or not."""
    assert list(demos.folder.iterdir()) == []
    assert not [process for process in Path("/proc").glob("[0-9]*") if str(demos.folder) in _place_of(process)]


def _place_of(process: Path) -> str:
    """Return the working directory and the arguments of a process; empty for one that is gone or another's."""
    with contextlib.suppress(OSError):
        return f"{(process / 'cwd').readlink()} {(process / 'cmdline').read_text()}"
    return ""
