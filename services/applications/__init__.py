"""The applications service: encrypted drafts, the credentials that open them, and what was filed."""
