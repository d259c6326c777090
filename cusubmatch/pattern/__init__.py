"""The pattern: the small graph whose copies are looked for, its text and its symmetry."""

from cusubmatch.errors import PatternError
from cusubmatch.pattern.checks import MAX_VERTICES
from cusubmatch.pattern.language.parser import PatternEdge
from cusubmatch.pattern.pattern import Pattern

__all__ = ["MAX_VERTICES", "Pattern", "PatternEdge", "PatternError"]
