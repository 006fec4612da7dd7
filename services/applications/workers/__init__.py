"""Background loops of the applications service."""
