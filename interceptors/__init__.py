"""Middleware around every call, server side and client side; the contract's options say what each one does."""
