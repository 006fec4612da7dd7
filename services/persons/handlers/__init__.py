"""The gRPC services of the persons service: proto in, domain call, proto out."""
