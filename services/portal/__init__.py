"""The applicant portal's server side: sessions in Valkey, no database of its own (SES-04)."""
