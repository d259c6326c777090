"""Dataframes in and out: the only package that knows cuDF, pandas, Polars or Arrow by name; it knows nothing of graphs.

A `Family` is one library behind the few operations that a graph needs; `family_of` finds it for a dataframe.
"""

from cusubmatch.frames.family import Family
from cusubmatch.frames.recognise import as_column, as_frame, family_named, family_of, is_dask_frame
from cusubmatch.frames.text_ids import settle_ids
from cusubmatch.frames.typed_columns import TypedColumn, typed_column

__all__ = [
    "Family",
    "TypedColumn",
    "as_column",
    "as_frame",
    "family_named",
    "family_of",
    "is_dask_frame",
    "settle_ids",
    "typed_column",
]
