"""What every inbound call goes through before a handler sees it; stack.py has the order."""
