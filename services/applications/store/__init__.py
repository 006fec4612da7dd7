"""The SQL of the applications service, one file per group of tables."""
