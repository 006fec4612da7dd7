"""What the applications service decides. No gRPC below this line."""
