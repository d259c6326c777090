"""Compiled code: where it is kept, and how a caller waits for it."""
