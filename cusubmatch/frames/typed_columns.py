"""Columns as typed arrays: what conditions compute with, from a column of any dataframe library.

A column becomes numbers of 64 bits and a mask of the rows that have a value; NaN counts as null. Dates, time stamps and
durations become nanoseconds, decimals whole numbers of their smallest unit, and text its place among the distinct texts
in order. Integers without nulls are taken as they are; everything else goes by way of Arrow.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.frames.family import Family

__all__ = ["TypedColumn", "typed_column"]

UNIT = "ns"


class TypedColumn(NamedTuple):
    """The values of a column.

    Attributes
    ----------
    kind : str
        One of boolean, integer, decimal, float, text, time, duration, or null for a column without any value.
    values : array
        float64 for floats, else int64.
    valid : bool array or None
        Where there is a value; None: everywhere.
    texts : tuple of str
        Of text the distinct texts in order, whose places `values` are.
    scale : int
        Of decimals the digits behind the point: a value is `values / 10**scale`.
    """

    kind: str
    values: Any
    valid: Any = None
    texts: tuple[str, ...] = ()
    scale: int = 0


def typed_column(family: Family, column: Any) -> TypedColumn:
    """The typed arrays of a column, in host memory or where its dataframe lies.

    Raises
    ------
    TypeError
        If the column holds values that cannot be compared, such as lists or objects of several types.
    ValueError
        If values do not fit into 64 bits.
    """
    plain = family.plain(column)
    if plain is not None and plain.dtype != np.uint64:
        return TypedColumn("integer", plain.astype(np.int64, copy=False))
    kind = family.kind(column)
    if kind in ("string", "categorical"):
        codes, labels = family.labels(column)
        if all(isinstance(label, str) for label in labels):
            return _text(_on_host(codes), labels) if labels else _nothing(len(codes))
    if kind == "other" and family.null_count(column) == len(column):
        return _nothing(len(column))
    return _of_arrow(_arrow(family, column))


def _arrow(family, column):
    """A column as one of Arrow's, dictionaries decoded."""
    import pyarrow as pa

    try:
        table = family.to_arrow(family.frame({"values": column}))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"its values are not of one type that can be compared ({error})") from None
    values = table.column("values")
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _of_arrow(column):
    """The typed arrays of an Arrow column."""
    import pyarrow as pa

    kind, is_type = column.type, pa.types
    if is_type.is_null(kind):
        return _nothing(len(column))
    valid = np.asarray(column.is_valid()) if column.null_count else None
    if is_type.is_boolean(kind):
        return TypedColumn("boolean", np.asarray(_filled(column, value=False)).astype(np.int64), valid)
    if is_type.is_integer(kind):
        return TypedColumn("integer", np.asarray(_filled(_cast(column, pa.int64()), value=0)), valid)
    if is_type.is_floating(kind):
        return _floats(column)
    if is_type.is_decimal(kind):
        return TypedColumn("decimal", _unscaled(column), valid, scale=kind.scale)
    if is_type.is_timestamp(kind) or is_type.is_date(kind):
        return TypedColumn("time", _nanoseconds(column, pa.timestamp(UNIT, getattr(kind, "tz", None))), valid)
    if is_type.is_duration(kind):
        return TypedColumn("duration", _nanoseconds(column, pa.duration(UNIT)), valid)
    raise TypeError(f"values of type {kind} cannot be compared")


def _nothing(rows):
    return TypedColumn("null", np.zeros(rows, np.int64), np.zeros(rows, bool))


def _text(codes, labels):
    """Text from the number of each row's text, -1 for null, and the distinct texts."""
    order = sorted(range(len(labels)), key=labels.__getitem__)
    place = np.zeros(len(labels) + 1, np.int64)  # the last one is that of null
    place[order] = np.arange(len(labels))
    missing = codes < 0
    return TypedColumn("text", place[codes], ~missing if missing.any() else None, tuple(labels[i] for i in order))


def _floats(column):
    import pyarrow as pa

    values = np.array(_filled(column.cast(pa.float64()), value=float("nan")))
    missing = np.isnan(values)
    return TypedColumn("float", values, ~missing if missing.any() else None)


def _unscaled(column):
    """Decimals as whole numbers of their smallest unit."""
    import pyarrow as pa

    scale, parts = column.type.scale, [np.empty(0, np.int64)]
    for chunk in _cast(column, pa.decimal128(38, scale)).chunks:
        words = np.frombuffer(chunk.buffers()[1], np.int64)[2 * chunk.offset : 2 * (chunk.offset + len(chunk))]
        valid = np.asarray(chunk.is_valid())
        low, high = np.where(valid, words[0::2], 0), np.where(valid, words[1::2], 0)
        if (high != low >> 63).any():
            raise ValueError("its decimals do not fit into 64 bits; cast the column to fewer digits or to floats")
        parts.append(low)
    return np.concatenate(parts)


def _nanoseconds(column, dtype):
    import pyarrow as pa

    return np.asarray(_filled(_cast(column, dtype).cast(pa.int64()), value=0))


def _cast(column, dtype):
    import pyarrow as pa

    try:
        return column.cast(dtype)
    except pa.ArrowInvalid:
        raise ValueError(f"its values of type {column.type} do not fit into 64 bits ({dtype})") from None


def _filled(column, *, value):
    return column.fill_null(value).to_numpy() if column.null_count else column.to_numpy()


def _on_host(array):
    return array if isinstance(array, np.ndarray) else array.get()
