"""SQL of the persons service: each statement a constant, each constant one function; no decisions."""
