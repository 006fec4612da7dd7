"""The whole of Canopy on one machine: what runs, how it is started, watched and stopped."""
