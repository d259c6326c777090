"""The pools of the threads of a count: parts of one store, so that what all of them read is there once."""

from __future__ import annotations

__all__ = ["pools_of"]

MOST_ELEMENTS = 1 << 28  # of all pools; memory is taken as it is used


def pools_of(threads: int, elements: int, begin: int = 0) -> range:
    """Where the pools of at most so many threads begin, each with so many elements, and where the last one ends."""
    elements = max(elements, 1)
    return range(begin, begin + max(min(threads, MOST_ELEMENTS // elements), 1) * elements, elements)
