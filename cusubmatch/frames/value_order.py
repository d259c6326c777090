"""The order of a column's values: by Arrow where it has one, else by comparing Python objects."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["order_of_column", "order_of_objects"]


def order_of_column(column: Any) -> np.ndarray:
    """The positions that put the values of a `pyarrow.ChunkedArray` in order.

    Raises
    ------
    pyarrow.ArrowException
        If Arrow cannot compare values of the type.
    """
    import pyarrow as pa
    from pyarrow import compute

    values = column.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_string_view(values.type):  # of views Arrow can make plain values, but not sort them
        values = values.cast(pa.large_string())
    if pa.types.is_binary_view(values.type):
        values = values.cast(pa.large_binary())
    return compute.sort_indices(values).to_numpy()


def order_of_objects(values: list) -> np.ndarray:
    """The positions that put distinct Python objects in order.

    Raises
    ------
    ValueError
        If two of them cannot be compared, or are not one below the other, as with sets.
    """
    try:
        order = sorted(range(len(values)), key=values.__getitem__)
        ascending = all(values[a] < values[b] for a, b in pairwise(order))
    except TypeError as error:
        raise ValueError(str(error)) from None
    if not ascending:
        raise ValueError("of some two of them neither is below the other")
    return np.array(order, np.int64)
