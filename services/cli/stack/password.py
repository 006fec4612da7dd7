"""Passwords of the embedded servers: made at random once, kept in a file only its owner reads."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from services.cli.stack.process import StackError
from services.kernel.secret import Secret


def ensure_password(path: Path) -> Secret[str]:
    """Return the password kept at `path`, making one of 256 random bits (mode 0600) when there is none yet.

    Two callers at once get the same password. Raises StackError when the file can be neither read nor made, is empty,
    or is open to other users.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            _publish(path, secrets.token_urlsafe(32))
        if path.stat().st_mode & 0o077:
            raise StackError(f"other users can read {path}: set its mode to 0600")
        password = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise StackError(f"cannot keep a password at {path}: {error.strerror}") from error
    if not password:
        raise StackError(f"the password file {path} is empty: remove it together with the data it protects")
    return Secret(password)


def _publish(path: Path, password: str) -> None:
    """Write aside, then link into place: a reader sees the whole password or no file, and the first writer wins."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(password + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(aside, path)
        except FileExistsError:
            return
    finally:
        aside.unlink()
