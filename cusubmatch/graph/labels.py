"""Codes of labels, and warnings of labels that occur nowhere, which name the most similar ones.

A label written as text also means the value that prints so.
"""

from __future__ import annotations

import difflib
import inspect
import itertools
import os
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cusubmatch.errors import AbsentLabelWarning
from cusubmatch.graph.label_sets import single_labels

__all__ = ["absent", "absent_in", "codes_of_labels", "labels_by_code", "warn_absent"]

PACKAGE = str(Path(__file__).parents[1]) + os.sep
MAX_NAMED = 5  # labels, or patterns, that a message names
MAX_COMPARED = 20_000  # labels among which the most similar are looked for


def labels_by_code(values: Iterable) -> dict[Hashable, int]:
    """The code of each label, under its value and under its text."""
    values = list(values)
    return {str(value): code for code, value in enumerate(values)} | {value: code for code, value in enumerate(values)}


def codes_of_labels(known: Mapping[Hashable, int], labels: Iterable) -> frozenset[int]:
    """The codes of labels; one that occurs nowhere has none."""
    return frozenset(known[label] for label in labels if label in known)


def absent_in(graph, pattern) -> str | None:
    """What a graph lacks of the labels of a pattern and its parts, as part of a sentence; None if it has them all."""
    values, parts = graph.vertex_label_values, list[str]()
    if values is None and graph.edge_label_values is None:  # that labels are asked for is an error of its own
        return None
    for one in (pattern, *pattern.parts):
        parts += absent("vertex", one.labels, graph.vertex_codes, values)
        parts += absent("edge", (edge.labels for edge in one.edges), graph.edge_codes, graph.edge_label_values)
    parts = list(dict.fromkeys(parts))
    return f"the graph has {_listed(parts)}" if parts else None


def absent(kind: str, wanted: Iterable, known: Mapping[Hashable, int], values: Sequence | None) -> list[str]:
    """Sets of labels (or None for any) compared with those that there are: what to say of each that is not there."""
    if values is None:  # there are no labels at all, which is an error of its own
        return []
    missing = {label for some in wanted if some is not None for label in some if label not in known}
    if not missing:
        return []
    singles = single_labels(values)
    return [f"no {kind} label {label!r} ({_nearest(label, singles)})" for label in sorted(missing, key=str)]


def warn_absent(lacking: Mapping[str, str | None]) -> None:
    """Warn, at the line that called the package, of the labels that patterns ask for in vain, by their argument."""
    parts = [f"{argument}: {what}" for argument, what in lacking.items() if what]
    if parts:
        warnings.warn(f"{_listed(parts, '; ')}; nothing has such a label", AbsentLabelWarning, stacklevel=_level())


def _nearest(label, values):
    texts: dict[str, Any] = {}
    for value in itertools.islice(values, MAX_COMPARED):
        texts.setdefault(str(value).casefold(), value)
    close = difflib.get_close_matches(str(label).casefold(), texts, n=3)
    if close:
        return f"nearest: {', '.join(repr(texts[text]) for text in close)}"
    if len(values) <= MAX_NAMED:
        return f"there are {', '.join(map(repr, values))}" if values else "there are none"
    return f"there are {len(values):,}, such as {', '.join(map(repr, values[:3]))}"


def _listed(parts, separator=", "):
    more = [f"{len(parts) - MAX_NAMED:,} more"] if len(parts) > MAX_NAMED else []
    return separator.join([*parts[:MAX_NAMED], *more])


def _level():
    """How many calls above `warn_absent` the package was called."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    return level
