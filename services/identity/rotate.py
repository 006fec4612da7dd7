"""The rotation verb: `python -m services.identity.rotate` lets a new key sign and drops those replaced long ago.

It reads the issuer's own environment and touches files only; a running issuer sees the new key with its next request.
"""

from __future__ import annotations

import os
import sys

from services.chassis.config import ConfigError, load
from services.chassis.service import EXIT_CONFIG, EXIT_FAILED
from services.identity.config import SigningConfig
from services.identity.domain import issue
from services.identity.store.keys import KeyFolder, KeyFolderError
from services.kernel.clock import SystemClock


def main() -> None:
    """Rotate once and say what happened, key ids only. Exit status 78 for a bad configuration, 1 for a bad folder."""
    try:
        config = load(SigningConfig, "CANOPY_IDENTITY__SIGNING", os.environ)
        kid, retired = issue.rotate(KeyFolder(config.folder), SystemClock().now(), config.retire_seconds)
    except ConfigError as error:
        print(error, file=sys.stderr)
        sys.exit(EXIT_CONFIG)
    except (KeyFolderError, OSError) as error:
        print(error, file=sys.stderr)
        sys.exit(EXIT_FAILED)
    print(f"signs: {kid}", *(f"retired: {old}" for old in retired), sep="\n")


if __name__ == "__main__":
    main()
