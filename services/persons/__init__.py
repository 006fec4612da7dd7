"""Persons: people, households and income over time, as they were known at any moment."""
