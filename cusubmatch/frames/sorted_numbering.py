"""Numbering integers of any range by sorting, in little memory: for a GPU, where a hash table takes several times more.

The values come in slices. What a slice has that was not known is kept; now and then all that is known is sorted
together. Then each value is looked up by binary search. Values are read twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

__all__ = ["number_by_sorting"]

STEPS, LEAST_STEP = 64, 1 << 20  # slices of the values, of so many at least
NEW_SHARE = 4  # new values are sorted in when they are one in so many of those known


def number_by_sorting(xp: Any, columns: Sequence[Sequence], dtype: Any) -> tuple[list, Any]:
    """Codes of integers, and the distinct ones.

    Parameters
    ----------
    xp : module
        numpy or cupy.
    columns : list of lists of arrays
        Each column in arrays, or in what is read when it is sliced.
    dtype : dtype
        Of the distinct values.

    Returns
    -------
    codes : list of int32 arrays
        One a column.
    values : array
        Ascending.
    """
    total = sum(array.size for column in columns for array in column)
    step = max(LEAST_STEP, total // STEPS)
    runs, waiting = [xp.empty(0, dtype)], 0  # what is known, and then what is new
    for column in columns:
        for some in _slices(xp, column, step, dtype):
            found, known = _distinct(xp, some.copy()), runs[0]
            if len(known):
                places = xp.minimum(xp.searchsorted(known, found), len(known) - 1)
                found = found[known[places] != found]
            runs.append(found)
            waiting += len(found)
            if waiting > max(step, len(known) // NEW_SHARE):
                del known
                waiting = _join(xp, runs)
    _join(xp, runs)
    known, codes = runs[0], []
    for column in columns:
        of_column, filled = xp.empty(sum(array.size for array in column), np.int32), 0
        for some in _slices(xp, column, step, dtype):
            of_column[filled : filled + len(some)] = xp.searchsorted(known, some)
            filled += len(some)
        codes.append(of_column)
    return codes, known


def _slices(xp, column, step, dtype) -> Iterator[Any]:
    """The values, so many at a time at most."""
    for array in column:
        for begin in range(0, array.size, step):
            yield xp.asarray(array[begin : begin + step]).astype(dtype, copy=False)


def _join(xp, runs):
    """Make one array of the distinct values of all, in place of these; none is new then."""
    values = xp.concatenate(runs)
    runs.clear()
    runs.append(_distinct(xp, values))
    return 0


def _distinct(xp, values):
    """The values, which are sorted in place, each once."""
    values.sort()
    first = xp.ones(len(values), bool)
    xp.not_equal(values[1:], values[:-1], out=first[1:])
    return values[first]
