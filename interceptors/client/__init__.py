"""What every call to another service goes through; stack.py has the order."""
