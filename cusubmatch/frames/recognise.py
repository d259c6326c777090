"""Which library a dataframe is of, by the name of its type, so that no library is imported to find out."""

from __future__ import annotations

from typing import Any

from cusubmatch.frames.columnar import ArrowFamily, PolarsFamily
from cusubmatch.frames.dataframe import CudfFamily, PandasFamily, unproxied
from cusubmatch.frames.family import Family

__all__ = ["as_column", "as_frame", "family_named", "family_of", "is_dask_frame"]

FAMILIES = {family.name: family for family in (PandasFamily(), PolarsFamily(), ArrowFamily(), CudfFamily())}
FRAME_TYPES = {
    ("pandas", "DataFrame"): "pandas",
    ("polars", "DataFrame"): "polars",
    ("pyarrow", "Table"): "arrow",
    ("cudf", "DataFrame"): "cudf",
}
LAZY = ("polars", "LazyFrame")
DASK = ("dask", "dask_expr", "dask_cudf")


def family_of(frame: Any) -> Family | None:
    """The family of a dataframe; None for what is no dataframe.

    A dataframe of `cudf.pandas` is of cuDF's family.
    """
    for cls in type(unproxied(frame)).__mro__:  # subclasses, such as GeoDataFrame, count as what they extend
        kind = cls.__module__.partition(".")[0], cls.__qualname__
        if kind in FRAME_TYPES:
            return FAMILIES[FRAME_TYPES[kind]]
    return None


def as_frame(table: Any) -> Any:
    """The dataframe that a table is or can be read as; what is no table as it is.

    A Polars LazyFrame is collected. Of anything that has Arrow's C stream interface (Arrow's readers and record
    batches, DuckDB's relations, Ibis' tables) an Arrow table is made; a reader can be read once. A Dask dataframe is
    refused: its rows are not here.
    """
    if isinstance(table, type) or family_of(table) is not None:
        return table
    if is_dask_frame(table):
        raise TypeError(
            "edges: a Dask dataframe lies on a cluster; ask the functions of cusubmatch.dask, or give its .compute()"
        )
    if any((cls.__module__.partition(".")[0], cls.__qualname__) == LAZY for cls in type(table).__mro__):
        return table.collect()
    if hasattr(table, "__arrow_c_stream__"):
        import pyarrow

        try:
            return pyarrow.table(table)
        except pyarrow.ArrowInvalid:  # a column rather than a table
            return table
    return table


def is_dask_frame(table: Any) -> bool:
    """Whether this is a dataframe of Dask's."""
    return type(table).__module__.partition(".")[0] in DASK and hasattr(table, "npartitions")


def family_named(name: str) -> Family:
    """The family of that name: pandas, polars, arrow or cudf."""
    if name not in FAMILIES:
        raise ValueError(f"name: unknown dataframe library {name!r}; there are {', '.join(FAMILIES)}")
    return FAMILIES[name]


def as_column(values: Any) -> tuple[Family, Any] | None:
    """A column of any library, or an array, with its family; None for what is neither.

    Arrays of NumPy are columns of pandas, those of CuPy of cuDF.
    """
    package = type(values).__module__.partition(".")[0]
    if package == "pandas" and type(values).__name__.endswith("Index"):
        return FAMILIES["pandas"], values.to_series(index=range(len(values)))
    if package == "pandas" and type(values).__name__ == "Series":
        return FAMILIES["pandas"], values
    if package == "polars" and type(values).__name__ == "Series":
        return FAMILIES["polars"], values
    if package == "pyarrow" and hasattr(values, "type"):
        import pyarrow

        return FAMILIES["arrow"], values if hasattr(values, "chunks") else pyarrow.chunked_array([values])
    if package == "cudf" and type(values).__name__ == "Series":
        return FAMILIES["cudf"], values
    if package in ("numpy", "cupy") and getattr(values, "ndim", None) == 1:
        family = FAMILIES["pandas" if package == "numpy" else "cudf"]
        return family, family.values(values)
    return None
