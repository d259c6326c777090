"""Patterns with parts of their own: paths of several lengths, EXISTS and OPTIONAL."""
