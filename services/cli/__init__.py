"""The command line of Canopy, and the stack it runs on one machine."""
