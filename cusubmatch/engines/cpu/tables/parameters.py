"""What the table kernels take together: rows of a support graph, and values on its arcs.

Numba expands a NamedTuple into its fields, so a kernel that works on many arrays has few arguments.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import jit
from cusubmatch.graph.support_graph import SupportGraph

__all__ = ["ArcValues", "Rows", "arc_values", "rows_of", "value_at"]

ALL_ONES = np.ones(1, np.uint64)


class Rows(NamedTuple):
    """The rows of a support graph; `upper[x]` is the first arc of x to a higher vertex."""

    offsets: Any
    targets: Any
    upper: Any


class ArcValues(NamedTuple):
    """A value of every arc, or of every vertex: an array with the mask -1, or a single number with the mask 0."""

    array: Any
    mask: int


@jit
def value_at(values, i):
    """Read the value of an arc, or of a vertex."""
    return values.array[i & values.mask]


def rows_of(support: SupportGraph) -> Rows:
    """The rows of a support graph as kernels take them."""
    return Rows(support.offsets, support.targets, support.upper)


def arc_values(arrays: Iterable) -> tuple[ArcValues, ...]:
    """Values as kernels take them; None stands for all ones."""
    return tuple(ArcValues(ALL_ONES, 0) if array is None else ArcValues(array, -1) for array in arrays)
