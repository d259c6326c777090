"""Dataframes in files, Parquet or CSV by their suffix, read and written through Arrow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from cusubmatch.frames.recognise import family_of

__all__ = ["read_table", "write_table"]

SUFFIXES = (".parquet", ".csv")


def read_table(path: str | os.PathLike) -> Any:
    """Read a Parquet or CSV file as a `pyarrow.Table`; an empty cell of a CSV file is null.

    Raises
    ------
    ValueError
        If the suffix is another, or the file is not what the suffix says (`pyarrow.ArrowInvalid` is a ValueError).
    OSError
        If the file cannot be read.
    """
    path = Path(path)
    if _suffix(path) == ".csv":
        from pyarrow import csv

        empty = csv.ConvertOptions(null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False)
        return csv.read_csv(path, convert_options=empty)
    from pyarrow import parquet

    return parquet.read_table(path)


def write_table(frame: Any, path: str | os.PathLike) -> None:
    """Write a dataframe of any library as Parquet or CSV; a write that fails leaves no file, or the older one.

    Raises
    ------
    ValueError
        If the suffix is another, or a column holds what the format cannot (`pyarrow.ArrowInvalid` is a ValueError).
    TypeError
        If `frame` is no dataframe.
    OSError
        If the file cannot be written.
    """
    path, family = Path(path), family_of(frame)
    suffix = _suffix(path)
    if family is None:
        raise TypeError(f"frame: expected a dataframe, got {type(frame).__name__}")
    table = family.to_arrow(frame)
    partial = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")  # beside it: the last step is one rename
    try:
        if suffix == ".csv":
            _write_csv(table, partial)
        else:
            from pyarrow import parquet

            parquet.write_table(table, partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _write_csv(table, path):
    from pyarrow import csv, types

    for place, field in enumerate(table.schema):
        if types.is_dictionary(field.type):  # CSV knows values only
            table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    csv.write_csv(table, path)


def _suffix(path):
    if (suffix := path.suffix.lower()) not in SUFFIXES:
        raise ValueError(f"{path}: unknown suffix {path.suffix!r}; expected {' or '.join(SUFFIXES)}")
    return suffix
