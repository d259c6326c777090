"""Counting by decomposition: terms, tables and what they cost."""
