"""The pattern: the small graph whose copies are looked for, its text and its symmetry."""

from cusubmatch.pattern.pattern import MAX_VERTICES, Pattern, PatternEdge, PatternError

__all__ = ["MAX_VERTICES", "Pattern", "PatternEdge", "PatternError"]
