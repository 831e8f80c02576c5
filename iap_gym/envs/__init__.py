"""Environments; each needs only its own simulator, which is imported when it is made."""
