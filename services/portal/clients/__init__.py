"""Typed calls of the portal to other services."""
