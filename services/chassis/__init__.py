"""Plumbing that at least two services use: configuration, server, channel, tokens, telemetry, database, bus."""
