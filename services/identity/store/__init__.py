"""What the issuer keeps in files: signing keys and clients."""
