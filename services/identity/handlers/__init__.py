"""What the issuer answers over HTTP."""
