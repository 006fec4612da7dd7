"""The command `canopy` on a running stack: what it prints, how it exits, and what it never repeats."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import jwt
import pytest

from services.chassis.resources import shipped
from services.cli.filing import MAX_FILE_BYTES
from tests.machine import Machine, Outcome

EXAMPLE: Final = shipped("examples") / "names-and-unknowns.json"
CANARY: Final = "Kaninchen"
ESCAPE: Final = "\x1b"
CREDENTIALS: Final = re.compile(r"code (HH-[0-9a-f]{8}), passcode (\d{4}-\d{4}-\d{4})")


def require_one_line(outcome: Outcome, *parts: str, code: int = 1) -> None:
    """Demand that a command failed with one line on stderr and nothing else, and did not repeat what it was given."""
    assert outcome.code == code, outcome
    assert outcome.out == ""
    assert len(outcome.err.splitlines()) == 1, outcome.err
    assert outcome.err.startswith("canopy: ")
    assert all(part in outcome.err for part in parts), outcome.err
    assert CANARY not in outcome.err


@pytest.fixture(scope="module")
async def filed(machine: Machine) -> Any:
    """What `apply` says as JSON of an example that it filed."""
    outcome = await machine.canopy("--json", "apply", str(EXAMPLE))
    assert outcome.code == 0, outcome.err
    machine.unspeakable.add(outcome.json()["passcode"])
    return outcome.json()


async def test_apply_gives_credentials_and_receipt(filed: Any) -> None:
    """OPS-02, DRF-01: as JSON, one document with code, passcode and receipt."""
    assert CREDENTIALS.fullmatch(f"code {filed['code']}, passcode {filed['passcode']}")
    assert {"applicationId", "householdId", "receivedAt", "filingDate", "basisDate"} <= filed["receipt"].keys()


async def test_apply_in_text_says_what_to_keep(machine: Machine) -> None:
    """OPS-02: as text, the two things to keep and what was received, without colours where nobody watches."""
    outcome = await machine.canopy("apply", str(EXAMPLE))

    assert outcome.code == 0, outcome.err
    found = CREDENTIALS.search(outcome.out)
    assert found is not None
    machine.unspeakable.add(found[2])
    for part in ("received", "filing date", "application", "household"):
        assert part in outcome.out
    assert ESCAPE not in outcome.out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such file or directory"),
        (b"Kaninchen", "is not the JSON of a FinalizeRequest"),
        (b'{"kind": "Kaninchen"}', "is not the JSON of a FinalizeRequest"),
        (b'{"Kaninchen": 1}', "is not the JSON of a FinalizeRequest"),
        (b"[" * 100_000, "is not the JSON of a FinalizeRequest"),
        (b'{"language": "' + b"Kaninchen" * MAX_FILE_BYTES, "is larger than 200 KiB"),
        (b'{"language": "Kaninchen"}', "request.language: format_language"),
    ],
    ids=["missing", "no JSON", "no enum", "unknown field", "deep", "large", "bad value"],
)
async def test_file_that_cannot_be_filed_is_one_line(
    machine: Machine, tmp_path: Path, content: bytes | None, says: str
) -> None:
    """OPS-02: whatever is wrong with the file, its content is not repeated."""
    file = tmp_path / "form.json"
    if content is not None:
        file.write_bytes(content)

    require_one_line(await machine.canopy("apply", str(file)), says)


async def test_edge_that_is_none_is_one_line(machine: Machine, tmp_path: Path) -> None:
    """OPS-02: no server, one without our authority, an authority that is none."""
    public = machine.address("public")
    for options, says in (
        (("--edge", "https://localhost:1"), "does not answer"),
        (("--edge", public), "ClientConnectorCertificateError"),
        (("--edge", public, "--ca", str(tmp_path / "none.pem")), "No such file or directory"),
        (("--edge", public, "--ca", str(EXAMPLE)), "holds no certificate"),
    ):
        require_one_line(await machine.canopy("apply", str(EXAMPLE), *options), says)


async def test_household_and_people_are_read_as_of_a_day(machine: Machine, filed: Any) -> None:
    """PER-03, OPS-02: on the basis date what was filed, the day before nothing, of an unknown id that it is unknown."""
    household, day = filed["receipt"]["householdId"], filed["receipt"]["basisDate"]
    before = str(dt.date.fromisoformat(day) - dt.timedelta(days=1))
    nobody = str(uuid.uuid4())

    [found, unknown] = (await machine.canopy("--json", "households", "get", household, nobody, "--as-of", day)).json()
    people = [member["personId"] for member in found["state"]["members"]]
    persons = (await machine.canopy("--json", "persons", "get", *people, "--as-of", day)).json()
    [earlier] = (await machine.canopy("--json", "households", "get", household, "--as-of", before)).json()
    text = await machine.canopy("persons", "get", people[0], "--as-of", day)

    assert unknown == {"householdId": nobody, "absent": "ABSENCE_UNKNOWN"}
    assert earlier == {"householdId": household, "absent": "ABSENCE_NOT_VALID_ON_DATE"}
    assert [person["personId"] for person in persons] == people
    names = {person["details"]["name"]["given"] for person in json.loads(EXAMPLE.read_text())["people"]}
    assert {person["state"]["details"]["name"]["given"] for person in persons} <= names
    assert json.loads(text.out) == persons[0]
    assert ESCAPE not in text.out


async def test_malformed_id_or_day_is_one_line_that_names_the_field(machine: Machine) -> None:
    """PER-03, OPS-02: the refusal of the service, in one line."""
    nobody = str(uuid.uuid4())
    for kind, ids, day, says in (
        ("persons", (CANARY,), "2026-01-01", "person_ids[0]: format_uuid"),
        ("households", (nobody, nobody), "2026-01-01", "household_ids[1]: unique"),
        ("persons", (nobody,), "2026-02-30", "as_of: format_date"),
        ("households", (nobody,), CANARY, "as_of: format_date"),
    ):
        outcome = await machine.canopy(kind, "get", *ids, "--as-of", day)

        require_one_line(outcome, "REASON_INVALID_FIELD", says)


async def test_token_is_for_whom_and_what_was_asked(machine: Machine) -> None:
    """MSH-03, OPS-02: bare for a shell, with its life as JSON; a pair that the issuer would refuse is one line."""
    bare = await machine.canopy("token")
    asked = await machine.canopy("--json", "token", "--as", "caseworker", "--for", "canopy-applications")
    refused = await machine.canopy("token", "--as", "caseworker", "--for", "canopy-persons")
    unknown = await machine.canopy("token", "--as", "nobody")

    claims = [
        jwt.decode(text, options={"verify_signature": False}) for text in (bare.out.strip(), asked.json()["token"])
    ]
    assert [(each["sub"], each["aud"]) for each in claims] == [
        ("canopy-applications", "canopy-persons"),
        ("caseworker", "canopy-applications"),
    ]
    assert 0 < asked.json()["seconds"] <= 3_600
    require_one_line(refused, "caseworker may call canopy-applications, not canopy-persons")
    assert unknown.code == 2


async def test_status_says_what_is_ready(machine: Machine) -> None:
    """OPS-02: exit code 0 when all of it is; as text a line for each part."""
    text, value = await machine.canopy("status"), await machine.canopy("--json", "status")
    last = await machine.canopy("status", "--json")

    assert (text.code, value.code) == (0, 0)
    assert last.json()["parts"] == value.json()["parts"]
    parts = value.json()["parts"]
    assert [line.split()[:2] for line in text.out.splitlines()[1:]] == [[name, "ready"] for name in parts]
    assert ESCAPE not in text.out + value.out


async def test_status_of_a_part_that_hangs_is_4(machine: Machine) -> None:
    """OPS-02: a process that is there and does not answer is not ready."""
    with hanging(machine.pid("identity")):
        outcome = await machine.canopy("--json", "status")

    assert outcome.code == 4
    assert [name for name, part in outcome.json()["parts"].items() if not part["ready"]] == ["identity"]


@contextmanager
def hanging(pid: int) -> Iterator[None]:
    """Let a process hang for the length of a block."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def test_home_without_a_stack_is_3_and_down_is_no_mistake(tmp_path: Path) -> None:
    """OPS-02: nothing runs: `status` is 3, what needs a stack is 3 and says so, `down` has nothing to do."""
    machine = Machine(tmp_path / "home")

    status = await machine.canopy("--json", "status")
    down = await machine.canopy("--json", "down")
    needing = await machine.canopy("apply", str(EXAMPLE))

    assert (status.code, status.json()) == (3, {"status": "down"})
    assert (down.code, down.json()) == (0, {"stopped": False})
    require_one_line(needing, f"Canopy does not run in {machine.home}: canopy up", code=3)


async def test_colours_are_for_terminals_that_want_them(machine: Machine) -> None:
    """OPS-02: where they are forced, unless NO_COLOR says otherwise; through a pipe there are none (above)."""
    forced = await machine.canopy("status", FORCE_COLOR="1", TERM="xterm-256color")
    unwanted = await machine.canopy("status", FORCE_COLOR="1", TERM="xterm-256color", NO_COLOR="1")

    assert re.search(rf"{ESCAPE}\[[0-9;]*3\d", forced.out)
    assert not re.search(rf"{ESCAPE}\[[0-9;]*3\d", unwanted.out)


@pytest.mark.parametrize(
    "arguments",
    [
        ("nothing",),
        ("persons", "get", str(uuid.uuid4())),
        ("up", "--public-port", "70000"),
    ],
    ids=" ".join,
)
async def test_command_that_is_not_understood_is_2(machine: Machine, arguments: tuple[str, ...]) -> None:
    """OPS-02: with a hint where help is, and no traceback."""
    outcome = await machine.canopy(*arguments)

    assert outcome.code == 2
    assert "--help" in outcome.err
    assert "Traceback" not in outcome.err


async def test_configuration_of_the_edge_can_be_printed(machine: Machine) -> None:
    """MSH-11: the JSON that Envoy would read, with the ports that were asked for."""
    outcome = await machine.canopy("edge", "print", "--public-port", "1443", "--staff-port", "1444")

    assert outcome.code == 0
    listeners = outcome.json()["static_resources"]["listeners"]
    ports = {each["name"]: each["address"]["socket_address"]["port_value"] for each in listeners}
    assert ports == {"public": 1443, "staff": 1444}
