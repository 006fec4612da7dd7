"""The shared kernel: pure code, no I/O, no gRPC, no database driver."""
