"""The tests of Canopy."""
