"""A small contract for tests of the kernel and the interceptors; `pb` and `rpc` are its compiled modules."""

from __future__ import annotations

import importlib
import importlib.resources
import sys
import tempfile
from pathlib import Path
from typing import Any

from grpc_tools import protoc

_HERE = Path(__file__).parent
_ROOT = _HERE.parent.parent


def _compiled() -> tuple[Any, Any]:
    """Compile probe.proto into a folder that lives as long as the import takes."""
    with tempfile.TemporaryDirectory() as folder:
        include = [f"-I{_HERE}", f"-I{_ROOT / 'protos'}", f"-I{importlib.resources.files('grpc_tools') / '_proto'}"]
        code = protoc.main(
            ["protoc", *include, f"--python_out={folder}", f"--grpc_python_out={folder}", str(_HERE / "probe.proto")]
        )
        assert code == 0
        sys.path.insert(0, folder)
        try:
            return importlib.import_module("probe_pb2"), importlib.import_module("probe_pb2_grpc")
        finally:
            sys.path.remove(folder)


pb, rpc = _compiled()

SERVICE = pb.DESCRIPTOR.services_by_name["ProbeService"]
