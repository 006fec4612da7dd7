"""Decisions of the portal: who holds a session, which page may ask, what a submitted body means."""
