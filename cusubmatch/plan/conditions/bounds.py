"""The number that stands for no bound of a difference between two times."""

from __future__ import annotations

__all__ = ["NO_BOUND"]

NO_BOUND = 1 << 62
