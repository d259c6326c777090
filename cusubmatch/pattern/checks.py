"""Checks of what a pattern is made of: pairs, names, labels, directions, and the whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from cusubmatch.errors import PatternError
from cusubmatch.pattern.connectivity import neighbour_sets, reachable_from

__all__ = [
    "MAX_VERTICES",
    "alternatives_of",
    "check_hashable",
    "check_parallel_edges",
    "check_pattern",
    "checked_bools",
    "checked_list",
    "checked_pair",
    "labels_of_edges",
    "names_of_edges",
    "numbered_names",
]

MAX_VERTICES = 32


def checked_pair(argument, pair):
    """A pair of names as a tuple."""
    if isinstance(pair, np.ndarray):
        pair = pair.tolist()
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise PatternError(f"{argument}: expected pairs such as ('a', 'b'), got {pair!r}")
    for name in pair:
        check_hashable(argument, name)
    return tuple(pair)


def checked_list(argument, values, expected):
    """An iterable as a list; `expected` describes it in the error."""
    if (isinstance(values, str) and argument == "vertices") or not isinstance(values, Iterable):
        raise TypeError(f"{argument}: expected {expected}, got {values!r}")
    return list(values)


def checked_bools(directed):
    """One bool for each edge, as a list."""
    if isinstance(directed, str) or not isinstance(directed, Iterable):
        raise TypeError(f"directed: expected a bool or one bool an edge, got {directed!r}")
    values = list(directed)
    if not all(isinstance(value, (bool, np.bool_)) for value in values):
        raise TypeError(f"directed: expected a bool or one bool an edge, got {directed!r}")
    return [bool(value) for value in values]


def check_hashable(argument, value):
    """Refuse a name or label that is not hashable."""
    try:
        hash(value)
    except TypeError:
        raise TypeError(f"{argument}: names and labels must be hashable, got {value!r}") from None


def alternatives_of(label, argument="labels"):
    """The set of labels that an argument stands for, or None for any."""
    if label is None:
        return None
    if not isinstance(label, (set, frozenset, list, tuple)):
        check_hashable(argument, label)
        return frozenset([label])
    for alternative in label:
        check_hashable(argument, alternative)
    alternatives = frozenset(label)
    if not alternatives or None in alternatives:
        raise PatternError(f"{argument}: expected a label or a non-empty set of alternatives, got {label!r}")
    return alternatives


def labels_of_edges(pairs, edge_labels):
    """The label alternatives of each edge, from a sequence or a mapping of pairs."""
    if edge_labels is None:
        return [None] * len(pairs)
    if isinstance(edge_labels, Mapping):
        for pair in edge_labels:
            if pair not in pairs:
                raise PatternError(f"edge_labels: {pair!r} is no edge of the pattern")
        return [alternatives_of(edge_labels.get(pair), "edge_labels") for pair in pairs]
    expected = f"edge_labels: expected one value an edge ({len(pairs)}) or a mapping of pairs to labels"
    if isinstance(edge_labels, (str, set, frozenset)) or not isinstance(edge_labels, Iterable):
        raise TypeError(f"{expected}, got {edge_labels!r}")
    labels = list(edge_labels)
    if len(labels) != len(pairs):
        raise PatternError(f"{expected}, got {len(labels)}")
    return [alternatives_of(label, "edge_labels") for label in labels]


def names_of_edges(count, names):
    """The name of each edge, or None."""
    if names is None:
        return [None] * count
    names = checked_list("edge_names", names, f"one name or None an edge ({count})")
    if len(names) != count:
        raise PatternError(f"edge_names: expected one name or None an edge ({count}), got {len(names)}")
    for name in names:
        if not isinstance(name, (str, type(None))):
            raise TypeError(f"edge_names: expected texts or None, got {name!r}")
        if name is not None and names.count(name) > 1:
            raise PatternError(f"edge_names: {name!r} is given to two edges")
    return names


def numbered_names(argument, count, least):
    """The names v0, v1, ... of a generated pattern."""
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool):
        raise TypeError(f"{argument}: expected an int, got {type(count).__name__}")
    if not least <= count <= MAX_VERTICES:
        raise PatternError(f"{argument}: a pattern of this kind has {least} to {MAX_VERTICES} vertices, got {count}")
    return [f"v{i}" for i in range(int(count))]


def check_pattern(names, edges, distinct):
    """Refuse a pattern that is empty, too large or disconnected, and pairs of a vertex with itself."""
    size = len(names)
    shown = [f"vertex {v + 1}" if name is None else repr(name) for v, name in enumerate(names)]
    if size == 0:
        raise PatternError("pattern: it has no vertices; give edges, or vertices=['a'] for a single vertex")
    if size > MAX_VERTICES:
        raise PatternError(f"pattern: it has {size} vertices; at most {MAX_VERTICES} are supported")
    for edge in edges:
        if edge.source == edge.target:
            raise PatternError(f"pattern: {shown[edge.source]} has an edge to itself; self loops are not matched")
    for a, b in distinct:
        if a == b:
            raise PatternError(f"distinct: {shown[a]} cannot differ from itself")
    neighbours = neighbour_sets(size, ((edge.source, edge.target) for edge in edges))
    reached = reachable_from(0, neighbours, range(size))
    if len(reached) < size:
        missing = ", ".join(shown[v] for v in range(size) if v not in reached)
        raise PatternError(
            f"pattern: it is disconnected: no path leads from {shown[0]} to {missing}; "
            "match each connected part by itself and combine the results"
        )


def check_parallel_edges(pattern, edges="any"):
    """Refuse two names for one edge, which no condition tells apart.

    With `edges` "each" they mean two rows, because every named edge is bound to a row of its own.
    """
    if edges != "any":
        return
    conditioned = pattern.conditioned_names
    names = {}
    for *key, name in pattern.edges:
        if name is not None and name not in conditioned:
            known = names.setdefault(tuple(key), name)
            if known != name:
                raise PatternError(
                    f"pattern: edges {known!r} and {name!r} have the same ends and labels; parallel edges never "
                    "multiply matches, and attach_edges gives one row for each of them"
                )
