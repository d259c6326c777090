"""Factors: sparse tables of numbers over the candidates of a few pattern vertices.

An entry's key has a field for each vertex of the scope (`fields.py`); absent entries are 0. Keys ascend, word by word.
An entry has a value in each of a few kinds of arithmetic (`arithmetic.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["WORD_BYTES", "Factor"]

WORD_BYTES = 8  # of a key or a value


class Factor(NamedTuple):
    """A table of numbers, in host memory or on a device.

    Attributes
    ----------
    scope : tuple of int
        Pattern vertices, ascending.
    keys : uint64 (n, words)
        Ascending, each once.
    values : uint64 (n, kinds)
    """

    scope: tuple[int, ...]
    keys: Any
    values: Any
