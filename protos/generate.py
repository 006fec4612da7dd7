"""Regenerate gen/ from protos/: Python modules, type stubs and the descriptor set Envoy reads.

Run as `python protos/generate.py`. Google's own protos come from the installed
googleapis-common-protos wheel; their Python modules come from there too, so nothing of
`google/` is ever generated into gen/ (it would shadow the wheel).
"""

from __future__ import annotations

import importlib.resources
import shutil
from pathlib import Path

from google import api as google_api
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
PROTOS = ROOT / "protos"
THIRD_PARTY = PROTOS / "third_party"
GEN = ROOT / "gen"
DESCRIPTORS = GEN / "canopy.binpb"
WANTED = ("api/annotations", "api/http", "api/httpbody", "rpc/code", "rpc/status", "rpc/error_details")


def copy_third_party() -> None:
    """Lay the imported google/*.proto files where protoc and buf both find them."""
    wheel = Path(next(iter(google_api.__path__))).parent
    shutil.rmtree(THIRD_PARTY, ignore_errors=True)
    for name in WANTED:
        target = THIRD_PARTY / "google" / f"{name}.proto"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(wheel / f"{name}.proto", target)


def run(*arguments: str) -> None:
    """Run protoc; a non-zero answer ends the program (protoc has already said why)."""
    if code := protoc.main(["protoc", *arguments]):
        raise SystemExit(code)


def generate() -> None:
    """Write gen/ afresh, so that a deleted .proto leaves no module behind."""
    copy_third_party()
    shutil.rmtree(GEN / "canopy", ignore_errors=True)
    (GEN / "canopy").mkdir(parents=True)
    sources = sorted(str(p.relative_to(PROTOS)) for p in (PROTOS / "canopy").rglob("*.proto"))
    include = [
        f"-I{PROTOS}",
        f"-I{THIRD_PARTY}",
        f"-I{importlib.resources.files('grpc_tools') / '_proto'}",
    ]
    services = [s for s in sources if s.endswith("_service.proto")]
    run(*include, f"--python_out={GEN}", f"--pyi_out={GEN}", *sources)
    if services:
        run(*include, f"--grpc_python_out={GEN}", f"--mypy_grpc_out={GEN}", *services)
    run(*include, "--include_imports", "--include_source_info", f"--descriptor_set_out={DESCRIPTORS}", *sources)
    settle_descriptor_set()
    for folder in sorted({GEN / "canopy", *((GEN / s).parent for s in sources)}):
        for parent in (folder, *folder.parents):
            if parent == GEN:
                break
            (parent / "__init__.py").touch()


def settle_descriptor_set() -> None:
    """Drop comments of other projects' files: they differ between wheels, ours are wanted."""
    files = FileDescriptorSet.FromString(DESCRIPTORS.read_bytes())
    for file in files.file:
        if not file.name.startswith("canopy/"):
            file.ClearField("source_code_info")
    DESCRIPTORS.write_bytes(files.SerializeToString(deterministic=True))


if __name__ == "__main__":
    generate()
