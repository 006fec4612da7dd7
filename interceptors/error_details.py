"""The names by which both sides find the details of an error: google.rpc.Status in the trailing metadata."""

from __future__ import annotations

from typing import Final

DOMAIN: Final = "canopy"
"""Whose reasons they are: `domain` of google.rpc.ErrorInfo."""

METADATA_KEY: Final = "grpc-status-details-bin"
