"""Become a server: drop privileges, tie the process to its parent's life, then replace this program by the server.

Run as a script, never imported: between fork and exec a threaded parent can safely run no Python of its own, so these
steps happen after an exec, in a process that has one thread. Usage:

    python -I -S launch.py UID GID SIGNAL PARENT PROGRAM ARGUMENT...

UID and GID: numbers, or -1 to stay who we are. SIGNAL: what the kernel sends us when the thread that started us ends,
0 for nothing (Linux; elsewhere 0 is the only value that is served). PARENT: the process id that must still be there.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Final

PR_SET_PDEATHSIG: Final = 1


def main(arguments: list[str]) -> None:
    """Replace this process; it returns only by an error, which goes to the server's log."""
    uid, gid, signal, parent = (int(argument) for argument in arguments[:4])
    program = arguments[4:]
    if uid >= 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if signal:
        # After setuid, which clears it. A parent that died before this line sends nothing: hence the second look.
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
        if os.getppid() != parent:
            raise SystemExit("the parent is gone")
    os.execv(program[0], program)  # noqa: S606 -- no shell is the point


if __name__ == "__main__":
    main(sys.argv[1:])
