"""Argon2id of passcodes, off the event loop and never more at once than the machine has memory for (DRF-09).

The applicant's device derives the draft's key from the same digits. The two never meet: each has a random salt of its
own, and what is hashed here begins with a label that the device does not use.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from nacl.pwhash import argon2id

from canopy.errors.v1.reason_pb2 import Reason
from services.applications.config import PasscodesConfig
from services.applications.store.credentials import Cost
from services.kernel import instruments
from services.kernel.errors import Refusal
from services.kernel.secret import Secret

SALT_BYTES: Final = argon2id.SALTBYTES
HASH_BYTES: Final = 32
_LABEL: Final = b"canopy/login/v1\0"


class PasscodeHasher:
    """Computes hashes in threads; libsodium leaves the interpreter free meanwhile."""

    def __init__(self, config: PasscodesConfig, threads: ThreadPoolExecutor) -> None:
        self.cost: Final = Cost(memory_kib=config.memory_kib, passes=config.passes)
        self._most: Final = config.concurrent + config.queue
        self._threads: Final = threads
        self._admitted = 0
        self._lock: Final = threading.Lock()

    @classmethod
    @contextmanager
    def open(cls, config: PasscodesConfig) -> Iterator[PasscodeHasher]:
        """Run the threads until the block ends; what waits then is given up."""
        threads = ThreadPoolExecutor(config.concurrent, thread_name_prefix="passcode-hash")
        try:
            yield cls(config, threads)
        finally:
            threads.shutdown(wait=True, cancel_futures=True)

    async def hash(self, digits: Secret[str], salt: bytes, cost: Cost) -> bytes:
        """Return the 32 bytes of Argon2id 1.3, one lane, of the label and the digits.

        Raises Refusal(REASON_OVERLOADED), at no cost, when the queue is full. A caller that goes away frees its place
        only when its hash is done, or was never begun: what counts is the memory in use.
        """
        with self._lock:
            if self._admitted >= self._most:
                raise Refusal(Reason.REASON_OVERLOADED)
            self._admitted += 1
        running = self._threads.submit(_argon2id, digits, salt, cost)
        running.add_done_callback(self._leave)
        return await asyncio.wrap_future(running)

    def _leave(self, _done: Future[bytes]) -> None:
        with self._lock:
            self._admitted -= 1


def _argon2id(digits: Secret[str], salt: bytes, cost: Cost) -> bytes:
    instruments.PASSCODE_HASHES.add(1)
    return argon2id.kdf(
        HASH_BYTES,
        _LABEL + digits.reveal().encode(),
        salt,
        opslimit=cost.passes,
        memlimit=cost.memory_kib * 1024,
    )
