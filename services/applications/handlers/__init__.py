"""One file per gRPC service of the applications contract: message to value, call, value to message."""
