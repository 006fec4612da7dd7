"""Valkey statements of the portal."""
