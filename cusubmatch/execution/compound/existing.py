"""What must exist, or must not, between several vertices of a match: the bindings of these vertices, and a test."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cusubmatch.execution.compound.row_keys import row_keys
from cusubmatch.execution.compound.simple_calls import SimpleCalls, grouped_by, shared_names, total_groups
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern

__all__ = ["Existing", "existing_parts"]


class Existing(NamedTuple):
    """The bindings of several vertices at which something must exist, or must not."""

    wanted: bool
    vertices: tuple[int, ...]
    bindings: np.ndarray

    def holds(self, matches: np.ndarray, n_vertices: int) -> np.ndarray:
        """Which matches (pattern vertices and more, matches) are kept."""
        mine, own = row_keys(n_vertices, [matches[list(self.vertices)], self.bindings.astype(np.int64)])
        return np.isin(mine, own) == self.wanted


def existing_parts(
    graph: Graph, whole: Pattern, calls: SimpleCalls, options: QueryOptions, deadline: float | None
) -> tuple[Existing, ...]:
    """The bindings at which parts exist, of those that are about several vertices."""
    found = []
    for wanted, part in calls.exists:
        names = shared_names(whole, part)
        groups = total_groups(grouped_by(graph, whole, part, names, options, deadline))
        found.append(Existing(wanted, tuple(whole.names.index(name) for name in names), groups.vertices))
    return tuple(found)
