"""The committed rendering of the edge."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_rendering_is_up_to_date() -> None:
    """MSH-11: what is deployed is what the contract says; `make gen` brings it up to date."""
    outcome = subprocess.run(
        [sys.executable, "deploy/envoy/render.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
