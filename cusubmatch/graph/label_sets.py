"""Several labels a vertex: each set of labels that occurs has a code of its own, and a label stands for many codes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

__all__ = ["LabelSet", "codes_by_label", "codes_of_columns", "codes_of_lists", "single_labels"]


class LabelSet(frozenset):
    """The labels of a vertex that has several, or may have."""

    def __repr__(self) -> str:
        return " and ".join(sorted(map(str, self)))


def codes_of_columns(columns: Sequence[tuple[np.ndarray, list]]) -> tuple[np.ndarray, list[LabelSet]]:
    """The code of each row's set of labels, -1 for none, from the codes and the labels of several columns."""
    rows = np.stack([codes for codes, _ in columns], 1)
    combinations, places = np.unique(rows, axis=0, return_inverse=True)
    sets = [
        LabelSet(labels[code] for code, (_, labels) in zip(combination, columns, strict=True) if code >= 0)
        for combination in combinations.tolist()
    ]
    return _numbered(sets, places.reshape(-1))


def codes_of_lists(values: Iterable) -> tuple[np.ndarray, list[LabelSet]]:
    """The same from the values of a column of lists; TypeError if it is none."""
    places: dict[LabelSet, int] = {}
    rows = [places.setdefault(_label_set(value), len(places)) for value in values]
    return _numbered(list(places), np.array(rows, np.int64))


def codes_by_label(values: Sequence[LabelSet]) -> dict[Hashable, frozenset[int]]:
    """The codes that each label stands for, under its value and under its text, and the code of each set."""
    codes_of: dict[Hashable, set[int]] = {}
    for code, labels in enumerate(values):
        codes_of[labels] = {code}
        for name in {*labels, *map(str, labels)}:
            codes_of.setdefault(name, set()).add(code)
    return {label: frozenset(codes) for label, codes in codes_of.items()}


def single_labels(values: Iterable) -> list:
    """The labels that occur, those of sets one by one."""
    codes_of = dict.fromkeys(label for value in values for label in (value if isinstance(value, LabelSet) else [value]))
    return list(codes_of)


def _label_set(value: Any) -> LabelSet:
    if value is None or (isinstance(value, float) and value != value):  # noqa: PLR0124 - NaN
        return LabelSet()
    if not isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        raise TypeError(f"expected a list of labels in each row, got {type(value).__name__}")
    return LabelSet(
        label for label in (value.tolist() if isinstance(value, np.ndarray) else value) if label is not None
    )


def _numbered(sets, places):
    """Codes of the sets, in order of first mention; the empty one has none."""
    numbers: dict[LabelSet, int] = {}
    code_of = np.array([numbers.setdefault(some, len(numbers)) if some else -1 for some in sets] or [-1], np.int32)
    return code_of[places], list(numbers)
