"""Prints the digests of the golden vectors as JSON, for a run under another implementation of protobuf."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from google.protobuf import json_format
from google.protobuf.internal import api_implementation

from canopy.applications.v1.finalize_pb2 import FinalizeRequest
from services.applications.domain.digest import DigestKeys, canonical_bytes

VECTORS: Final = Path(__file__).parent / "vectors" / "finalize_digest.json"


def vectors() -> dict[str, Any]:
    """Read the golden vectors."""
    return json.loads(VECTORS.read_text())


def digests() -> Iterator[tuple[str, str, str]]:
    """Compute name, canonical bytes and digest of every vector, the last two in hexadecimal."""
    said = vectors()
    keys = DigestKeys.parse(json.dumps(said["key_ring"]).encode())
    for vector in said["vectors"]:
        request = json_format.ParseDict(vector["request"], FinalizeRequest())
        canonical = canonical_bytes(request, "request")
        yield vector["name"], canonical.hex(), keys.digest(canonical).value.hex()


if __name__ == "__main__":
    json.dump({"implementation": api_implementation.Type(), "digests": list(digests())}, sys.stdout)
