"""Dataframes of counts: a row a pattern, with its name and its count of any size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cusubmatch.frames.family import Family

__all__ = ["count_table"]

COLUMN_TYPES = {"attempts": np.int64, "count": np.int64, "seconds": np.float64}  # the others are text
OVERFLOW = 2**63


def count_table(family: Family, columns: Mapping[str, list[Any]], nullable: bool = False) -> Any:
    """A dataframe of lists of text, counts and seconds; counts that pass 64 bits become text, all of them."""
    return family.frame({name: _column(family, name, values, nullable) for name, values in columns.items()})


def _column(family: Family, name: str, values: list[Any], nullable: bool) -> Any:
    kind: type = COLUMN_TYPES.get(name, str)
    if name == "count" and any(count is not None and count >= OVERFLOW for count in values):
        kind, values = str, [None if count is None else str(count) for count in values]
    if name == "count" and nullable:
        return family.nullable(values, text=kind is str)
    array: Any = np.array(values, kind)
    return family.values(array if kind is str else family.xp().asarray(array))
