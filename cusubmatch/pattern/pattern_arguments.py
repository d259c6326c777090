"""The arguments of `Pattern`, checked and made vertices and edges."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from cusubmatch.errors import PatternError
from cusubmatch.pattern.checks import (
    alternatives_of,
    check_hashable,
    checked_bools,
    checked_list,
    checked_pair,
    labels_of_edges,
    names_of_edges,
)
from cusubmatch.pattern.language.parser import PatternEdge

__all__ = ["checked_arguments", "distinct_pairs"]


def checked_arguments(
    edges, vertices, labels, directed, edge_labels, edge_names, distinct
) -> tuple[Sequence, Sequence, Sequence, Sequence]:
    """The names and labels of the vertices, the edges, and the pairs that must differ."""
    if isinstance(edges, str):
        raise TypeError(f"edges: expected pairs of names, got the text {edges!r}; use Pattern.parse for a text")
    pairs = [checked_pair("edges", edge) for edge in checked_list("edges", edges, "pairs of names")]
    vertices = checked_list("vertices", vertices or (), "names")
    if labels is not None and not isinstance(labels, Mapping):
        raise TypeError(f"labels: expected a mapping of names to labels, got {labels!r}")
    index: dict[Hashable, int] = {}
    for name in [*(vertices or ()), *(end for pair in pairs for end in pair)]:
        check_hashable("vertices", name)
        if name is None:
            raise PatternError("vertices: None is not a name; use Pattern.parse and '()' for an anonymous vertex")
        index.setdefault(name, len(index))

    alternatives = {_vertex("labels", name, index): alternatives_of(label) for name, label in (labels or {}).items()}
    directions = [directed] * len(pairs) if isinstance(directed, (bool, np.bool_)) else checked_bools(directed)
    if len(directions) != len(pairs):
        raise PatternError(f"directed: expected one value an edge ({len(pairs)}), got {len(directions)}")
    kinds = zip(directions, labels_of_edges(pairs, edge_labels), names_of_edges(len(pairs), edge_names), strict=True)
    return (
        tuple(index),
        tuple(alternatives.get(v) for v in range(len(index))),
        [PatternEdge(index[a], index[b], *kind) for (a, b), kind in zip(pairs, kinds, strict=True)],
        distinct_pairs(distinct, index),
    )


def distinct_pairs(distinct, index):
    """The vertices of pairs of names; `index` has the vertex of each name."""
    pairs = [checked_pair("distinct", pair) for pair in checked_list("distinct", distinct, "pairs of names")]
    return [(_vertex("distinct", a, index), _vertex("distinct", b, index)) for a, b in pairs]


def _vertex(argument, name, index):
    if name not in index:
        raise PatternError(f"{argument}: {name!r} is no vertex of the pattern; its vertices are {list(index)}")
    return index[name]
