"""`canopy apply FILE`: make an application as an applicant would, with encryption on this side."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import aiohttp
import click
from google.protobuf import json_format
from rich.console import Console

from canopy.applications.v1.finalize_pb2 import FinalizeRequest
from canopy.applications.v1.finalize_service_pb2 import FilingReceipt
from services.cli import filing
from services.cli.commands.running import addresses
from services.cli.draft_crypto import DraftCryptoError
from services.cli.edge_client import EdgeError, device
from services.cli.filing import Credentials, FilingError
from services.cli.terminal import Failure, Terminal


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--edge", "url", metavar="URL", help="Public edge, https://host:port. That of the running stack if unset."
)
@click.option(
    "--ca", "ca_file", type=click.Path(dir_okay=False, path_type=Path), help="Certificate authority of --edge."
)
@click.pass_obj
def apply(terminal: Terminal, *, file: Path, url: str | None, ca_file: Path | None) -> None:
    """File the application in FILE, the JSON of a canopy.applications.v1.FinalizeRequest.

    The form is encrypted here, saved, opened again on a second device by code and passcode, and submitted. Prints the
    code, the passcode and the receipt: they are shown this once.
    """
    if url is None:
        running = addresses(terminal)
        url, ca_file = running["public"], Path(running["certificate authority"])
    try:
        form = filing.read(file)
        credentials, receipt = asyncio.run(_apply(url, ca_file, form))
    except (FilingError, EdgeError, DraftCryptoError) as error:
        raise Failure(str(error)) from error
    except (aiohttp.ClientError, TimeoutError) as error:
        raise Failure(f"the edge at {url} does not answer: {type(error).__name__}") from error
    except json_format.ParseError as error:
        raise Failure(f"what answers at {url} is not an edge of Canopy") from error
    except OSError as error:  # all that is left to read here
        why = "it holds no certificate" if isinstance(error, ssl.SSLError) else error.strerror
        raise Failure(f"--ca {ca_file} cannot be used: {why}") from error
    value = {
        "code": credentials.code,
        "passcode": credentials.passcode,
        "receipt": json_format.MessageToDict(receipt),
    }
    terminal.result(value, lambda out: _show(out, credentials, receipt))


async def _apply(url: str, ca_file: Path | None, form: FinalizeRequest) -> tuple[Credentials, FilingReceipt]:
    async with device(url, ca_file) as phone:
        credentials, draft = await filing.start(phone)
        await filing.save(phone, draft, form)
        await filing.log_out(phone)
    async with device(url, ca_file) as library:
        await filing.resume(library, credentials)
        draft, resumed = await filing.load(library, credentials)
        receipt = await filing.submit(library, draft, resumed)
        await filing.log_out(library)
    return credentials, receipt


def _show(out: Console, credentials: Credentials, receipt: FilingReceipt) -> None:
    out.print(f"Filed. Keep both: code [bold]{credentials.code}[/bold], passcode [bold]{credentials.passcode}[/bold]")
    out.print(f"  received     {receipt.received_at.ToJsonString()}, filing date {receipt.filing_date}")
    out.print(f"  application  {receipt.application_id}")
    out.print(f"  household    {receipt.household_id}")
