"""Where things are: the repository, its tests, and the recorded truths."""

from pathlib import Path

__all__ = ["ROOT", "TESTS", "TRUTH"]

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
TRUTH = TESTS / "data"
