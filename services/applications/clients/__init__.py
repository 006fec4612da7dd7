"""Typed calls from the applications service to others."""
