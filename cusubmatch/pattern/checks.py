"""What a pattern is made of, as a caller gives it: pairs, names, labels and directions, checked one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from cusubmatch.pattern.parser import PatternError

__all__ = [
    "MAX_VERTICES",
    "alternatives_of",
    "check_hashable",
    "checked_bools",
    "checked_list",
    "checked_pair",
    "labels_of_edges",
    "numbered_names",
]

MAX_VERTICES = 32


def checked_pair(argument, pair):
    if isinstance(pair, np.ndarray):
        pair = pair.tolist()
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise PatternError(f"{argument}: expected pairs such as ('a', 'b'), got {pair!r}")
    for name in pair:
        check_hashable(argument, name)
    return tuple(pair)


def checked_list(argument, values, what):
    if (isinstance(values, str) and argument == "vertices") or not isinstance(values, Iterable):
        raise TypeError(f"{argument}: expected {what}, got {values!r}")
    return list(values)


def checked_bools(directed):
    if isinstance(directed, str) or not isinstance(directed, Iterable):
        raise TypeError(f"directed: expected a bool or one bool an edge, got {directed!r}")
    arrows = list(directed)
    if not all(isinstance(arrow, (bool, np.bool_)) for arrow in arrows):
        raise TypeError(f"directed: expected a bool or one bool an edge, got {directed!r}")
    return [bool(arrow) for arrow in arrows]


def check_hashable(argument, value):
    try:
        hash(value)
    except TypeError:
        raise TypeError(f"{argument}: names and labels must be hashable, got {value!r}") from None


def alternatives_of(label, argument="labels"):
    """The set of labels that one entry stands for, or None for any."""
    if label is None:
        return None
    if not isinstance(label, (set, frozenset, list, tuple)):
        check_hashable(argument, label)
        return frozenset([label])
    for one in label:
        check_hashable(argument, one)
    some = frozenset(label)
    if not some or None in some:
        raise PatternError(f"{argument}: expected a label or a non-empty set of alternatives, got {label!r}")
    return some


def labels_of_edges(pairs, edge_labels):
    if edge_labels is None:
        return [None] * len(pairs)
    if isinstance(edge_labels, Mapping):
        for pair in edge_labels:
            if pair not in pairs:
                raise PatternError(f"edge_labels: {pair!r} is no edge of the pattern")
        return [alternatives_of(edge_labels.get(pair), "edge_labels") for pair in pairs]
    wanted = f"edge_labels: expected one entry an edge ({len(pairs)}) or a mapping of pairs to labels"
    if isinstance(edge_labels, (str, set, frozenset)) or not isinstance(edge_labels, Iterable):
        raise TypeError(f"{wanted}, got {edge_labels!r}")
    kinds = list(edge_labels)
    if len(kinds) != len(pairs):
        raise PatternError(f"{wanted}, got {len(kinds)}")
    return [alternatives_of(label, "edge_labels") for label in kinds]


def numbered_names(argument, count, least):
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool):
        raise TypeError(f"{argument}: expected an int, got {type(count).__name__}")
    if not least <= count <= MAX_VERTICES:
        raise PatternError(f"{argument}: a pattern of this kind has {least} to {MAX_VERTICES} vertices, got {count}")
    return [f"v{i}" for i in range(int(count))]
