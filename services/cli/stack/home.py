"""The folder that holds one stack: data, secrets, logs, and the lock that says whether it runs.

The lock is the truth about running: the supervisor holds it for its whole life, and the kernel drops it
however that life ends. A state file without a held lock is left over from a stack that died.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from services.cli.stack.process import StackError

DEFAULT_HOME: Final = ".canopy"


@dataclass(frozen=True, slots=True)
class Home:
    """Paths below the folder `root` (absolute)."""

    root: Path

    @classmethod
    def at(cls, root: Path) -> Home:
        """Name a home; nothing is made."""
        return cls(root.absolute())

    def make(self) -> None:
        """Make the folder and its fixed parts. Raises StackError when that cannot be.

        Others may pass through the folder, since PostgreSQL's data may belong to another user when we are root; they
        can list nothing in it.
        """
        try:
            self.root.mkdir(mode=0o711, parents=True, exist_ok=True)
            for folder in (self.secrets, self.logs):
                folder.mkdir(mode=0o700, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root):
                pass
        except OSError as error:
            raise StackError(f"cannot write to {self.root}: {error.strerror}. Name another folder: --home") from error

    @property
    def secrets(self) -> Path:
        """Folder of passwords, key rings and client secrets."""
        return self.root / "secrets"

    @property
    def logs(self) -> Path:
        """Folder of one log file for each part."""
        return self.root / "logs"

    @property
    def tls(self) -> Path:
        """Folder of the development certificates."""
        return self.root / "tls"

    @property
    def identity(self) -> Path:
        """Folder of the issuer's clients and signing keys."""
        return self.root / "identity"

    @property
    def state(self) -> Path:
        """File that says what runs."""
        return self.root / "state.json"

    @property
    def ports(self) -> Path:
        """File of the ports that were chosen."""
        return self.root / "ports.json"

    @property
    def lock(self) -> Path:
        """File that the supervisor locks; holds its process id."""
        return self.root / "supervisor.lock"


def write_atomically(path: Path, content: str, mode: int = 0o600) -> None:
    """Replace a file so that a reader sees the old content or the new, never a part."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_json(path: Path) -> Mapping[str, Any]:
    """Read a JSON object; an absent or broken file is an empty one. Raises StackError when it cannot be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    except OSError as error:
        raise StackError(f"cannot read {path}: {error.strerror}") from error
    return content if isinstance(content, dict) else {}


class HomeLock:
    """The supervisor's hold on a home. Released by `release`, or by the end of the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: Final = descriptor
        self.holder: Final = os.getpid()

    @classmethod
    def take(cls, home: Home) -> HomeLock | None:
        """Take the lock and write our process id into it; None when another process holds it."""
        descriptor = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            if error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
                return None
            raise
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        return cls(descriptor)

    def release(self) -> None:
        """Let go, so that another supervisor may start."""
        os.close(self._descriptor)


def supervisor_pid(home: Home) -> int | None:
    """Return the process id of the supervisor that holds the home, None when none does."""
    try:
        descriptor = os.open(home.lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StackError(f"cannot read {home.lock}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return int(os.pread(descriptor, 32, 0).strip() or b"0") or None
        return None
    finally:
        os.close(descriptor)
