"""gRPC handlers of the portal: cookies and headers in, domain call, cookies out."""
