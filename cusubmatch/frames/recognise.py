"""Which library a dataframe is of, by the name of its type, so that no library is imported to find out."""

from __future__ import annotations

from typing import Any

from cusubmatch.frames.columnar import ArrowFamily, PolarsFamily
from cusubmatch.frames.dataframe import CudfFamily, PandasFamily, unproxied
from cusubmatch.frames.family import Family

__all__ = ["family_named", "family_of"]

FAMILIES = {family.name: family for family in (PandasFamily(), PolarsFamily(), ArrowFamily(), CudfFamily())}
FRAME_TYPES = {
    ("pandas", "DataFrame"): "pandas",
    ("polars", "DataFrame"): "polars",
    ("pyarrow", "Table"): "arrow",
    ("cudf", "DataFrame"): "cudf",
}


def family_of(frame: Any) -> Family | None:
    """The family of a dataframe; None for what is no dataframe.

    A dataframe of `cudf.pandas` is of cuDF's family. A Polars LazyFrame is a TypeError that says to collect it.
    """
    for cls in type(unproxied(frame)).__mro__:  # subclasses, such as GeoDataFrame, count as what they extend
        kind = cls.__module__.partition(".")[0], cls.__qualname__
        if kind in FRAME_TYPES:
            return FAMILIES[FRAME_TYPES[kind]]
        if kind == ("polars", "LazyFrame"):
            raise TypeError("expected a dataframe, got a Polars LazyFrame; call its collect() first")
    return None


def family_named(name: str) -> Family:
    """The family of that name: pandas, polars, arrow or cudf."""
    if name not in FAMILIES:
        raise ValueError(f"name: unknown dataframe library {name!r}; there are {', '.join(FAMILIES)}")
    return FAMILIES[name]
