"""What the issuer decides: who a client is, what it may ask for, what a token says."""
