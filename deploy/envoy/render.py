"""Write deploy/envoy/envoy.yaml: the edge for a deployment where each service has a DNS name of its own.

Run as `python deploy/envoy/render.py` (part of `make gen`); with `--check` it says whether the file is up to date, and
lets Envoy itself validate the configuration.
"""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from services.cli.stack.certificate import ensure_certificates
from services.cli.stack.edge_routes import contract_path, read_rules
from services.cli.stack.envoy import PUBLIC_SERVICES, STAFF_SERVICES, Address, EdgeSettings, edge_config
from services.cli.stack.envoy_program import envoy_program

RENDERED = Path(__file__).with_name("envoy.yaml")
HEADER = "# Made from the contract by `make gen`. Do not edit: change protos/ or services/cli/stack/envoy.py.\n"
GRPC_PORT = 50051


class Dumper(yaml.SafeDumper):
    """Writes a text of several lines as a block."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


Dumper.add_representer(str, _text)


def config(tls: Path, contract: Path) -> dict[str, Any]:
    """Build the configuration. tls: folder of the certificate; contract: descriptor set, both as Envoy finds them."""
    settings = EdgeSettings(
        public=Address(host="0.0.0.0", port=8443),  # noqa: S104 -- an edge is there to be reached
        staff=Address(host="0.0.0.0", port=8444),  # noqa: S104
        certificate=tls / "tls.crt",
        private_key=tls / "tls.key",
        contract=contract,
        upstreams={
            name: Address(host=f"canopy-{name}", port=GRPC_PORT) for name in sorted(PUBLIC_SERVICES | STAFF_SERVICES)
        },
        admin=Path("/run/canopy/envoy-admin.sock"),
    )
    return edge_config(settings, read_rules(contract_path().read_bytes()))


def render() -> str:
    """Return the whole file."""
    deployed = config(Path("/etc/canopy/tls"), Path("/etc/canopy/canopy.binpb"))
    return HEADER + yaml.dump(deployed, Dumper=Dumper, sort_keys=False, width=120, allow_unicode=True)


def validate() -> int:
    """Let Envoy read the same configuration, with a certificate made for the occasion; return its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        tls = Path(folder)
        made = ensure_certificates(tls, dt.datetime.now(dt.UTC))
        made.certificate.rename(tls / "tls.crt")
        made.private_key.rename(tls / "tls.key")
        file = tls / "envoy.json"
        file.write_text(json.dumps(config(tls, contract_path())), encoding="utf-8")
        command = [str(envoy_program()), "--mode", "validate", "--log-level", "warning", "-c", str(file)]
        return subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode


def main(arguments: list[str]) -> int:
    """Bring the file up to date, or say what is wrong with it."""
    text = render()
    if "--check" not in arguments:
        RENDERED.write_text(text, encoding="utf-8")
        return 0
    if not RENDERED.exists() or RENDERED.read_text(encoding="utf-8") != text:
        sys.stderr.write(f"{RENDERED} differs from the contract: run `make gen`\n")
        return 1
    return validate()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
