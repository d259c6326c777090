"""Factors: sparse tables of numbers over the candidates of a few pattern vertices.

An entry's key has a field for each vertex of the scope (`fields.py`); absent entries are 0. Keys ascend, word by word.
An entry has a value in each of a few kinds of arithmetic (`arithmetic.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

__all__ = ["WORD_BYTES", "Factor", "merged_names", "scope_without"]

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


def scope_without(factors: Iterable[Any], vertices: Collection[int]) -> tuple[int, ...]:
    """The scope of what a product of factors is when it is summed over some vertices."""
    return tuple(sorted({u for factor in factors for u in factor.scope}.difference(vertices)))


def merged_names(scope: Collection[int], vertex: int, into: int) -> list[tuple[int, int]]:
    """What vertices of a scope are called where one has the name of another, by the new names, ascending.

    Where the scope has both, whose images are the same then, that of the other one stands for them.
    """
    names = [(u, into if u == vertex else u) for u in scope if u != vertex or into not in scope]
    return sorted(names, key=lambda pair: pair[1])
