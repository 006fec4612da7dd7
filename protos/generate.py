"""Regenerate gen/ from protos/: Python modules, type stubs and the descriptor set Envoy reads.

`python protos/generate.py` writes what differs; `--check` writes nothing and fails on a difference.
Google's own protos come from the installed googleapis-common-protos wheel; their Python modules come
from there too, so nothing of `google/` is ever generated into gen/ (it would shadow the wheel).
"""

from __future__ import annotations

import importlib.resources
import shutil
import sys
import tempfile
from pathlib import Path

import google.api
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
PROTOS = ROOT / "protos"
THIRD_PARTY = PROTOS / "third_party"
GEN = ROOT / "gen"
GENERATED = ("canopy", "canopy.binpb")
WANTED = ("api/annotations", "api/http", "api/httpbody", "rpc/code", "rpc/status", "rpc/error_details")


def copy_third_party() -> None:
    """Lay the imported google/*.proto files where protoc and buf both find them."""
    wheel = Path(next(iter(google.api.__path__))).parent
    shutil.rmtree(THIRD_PARTY, ignore_errors=True)
    for name in WANTED:
        target = THIRD_PARTY / "google" / f"{name}.proto"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(wheel / f"{name}.proto", target)


def run(*arguments: str) -> None:
    """Run protoc; a non-zero answer ends the program (protoc has already said why)."""
    if code := protoc.main(["protoc", *arguments]):
        raise SystemExit(code)


def generate(gen: Path) -> None:
    """Write everything generated into the empty folder `gen`."""
    copy_third_party()
    sources = sorted(str(p.relative_to(PROTOS)) for p in (PROTOS / "canopy").rglob("*.proto"))
    services = [s for s in sources if s.endswith("_service.proto")]
    include = [
        f"-I{PROTOS}",
        f"-I{THIRD_PARTY}",
        f"-I{importlib.resources.files('grpc_tools') / '_proto'}",
    ]
    run(*include, f"--python_out={gen}", f"--pyi_out={gen}", *sources)
    stubs = f"--plugin=protoc-gen-mypy_grpc={Path(sys.executable).parent / 'protoc-gen-mypy_grpc'}"
    run(*include, stubs, f"--grpc_python_out={gen}", f"--mypy_grpc_out=quiet:{gen}", *services)
    descriptors = gen / "canopy.binpb"
    # Envoy prints the details of an error only when it knows their messages.
    described = [*sources, "google/rpc/error_details.proto"]
    run(*include, "--include_imports", "--include_source_info", f"--descriptor_set_out={descriptors}", *described)
    settle_descriptor_set(descriptors)
    for folder in sorted({gen / "canopy", *(p.parent for p in (gen / "canopy").rglob("*.py"))}):
        for parent in (folder, *folder.parents):
            if parent == gen:
                break
            (parent / "__init__.py").touch()


def settle_descriptor_set(path: Path) -> None:
    """Drop comments of other projects' files: they differ between wheels, ours are wanted."""
    files = FileDescriptorSet.FromString(path.read_bytes())
    for file in files.file:
        if not file.name.startswith("canopy/"):
            file.ClearField("source_code_info")
    path.write_bytes(files.SerializeToString(deterministic=True))


def differences(fresh: Path) -> list[str]:
    """Relative paths that differ between `fresh` and gen/, in order; caches of the interpreter do not count."""

    def listing(root: Path) -> dict[str, bytes]:
        return {
            str(p.relative_to(root)): p.read_bytes()
            for p in root.rglob("*")
            if p.is_file() and "__pycache__" not in p.parts and p.parts[len(root.parts)] in GENERATED
        }

    ours, theirs = listing(fresh), listing(GEN)
    return sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))


def main(arguments: list[str]) -> int:
    """Bring gen/ up to date, or say how it is not."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        generate(fresh)
        changed = differences(fresh)
        if "--check" in arguments:
            for name in changed:
                sys.stderr.write(f"gen/{name} differs from the contract: run `make gen`\n")
            return 1 if changed else 0
        for name in changed:
            target = GEN / name
            if (fresh / name).exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(fresh / name, target)
            else:
                target.unlink()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
