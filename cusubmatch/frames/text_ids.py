"""Ids that were read as text become integers where nothing is lost by it, and all id columns get one kind.

Text is lost where two ids would become one: `001` and `1`, `+5` and `5`. So a column of text is one of integers only
if each of its values is what its integer prints as, in 64 bits; spaces around it are ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from cusubmatch.frames.columnar import arrow_kind

__all__ = ["settle_ids"]

NUMBER = r"^[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"  # without leading zeros
INTEGER = r"^[+-]?[0-9]+$"


def settle_ids(columns: Mapping[str, Any], read_as_text: Collection[str], wanted: str | None) -> dict[str, Any]:
    """Decide together whether columns of ids are text or integers.

    Parameters
    ----------
    columns : mapping of an argument's name to a `pyarrow.ChunkedArray`
    read_as_text : names
        Those from CSV or TSV, as text; the type of the others is known.
    wanted : {"text", "int"}, optional
        What all become. Default: integers, if all are integers or text that nothing is lost of; text, if one column
        needs it; where no column was read as text all stay as they are.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If ids look like floats, or ``wanted="int"`` cannot be had.
    """
    if wanted == "text":
        return {name: _as_text(column) for name, column in columns.items()}
    if wanted == "int":
        return {name: _as_integers(name, column) for name, column in columns.items()}
    kinds = {arrow_kind(column.type) for name, column in columns.items() if name not in read_as_text}
    if not read_as_text or not kinds <= {"integer", "string", "categorical"}:
        return dict(columns)
    if kinds <= {"integer"}:
        integers = _same_integers(columns)
        if integers is not None:
            return {name: integers[name] if name in read_as_text else column for name, column in columns.items()}
        _refuse_floats({name: columns[name] for name in read_as_text})
    return {name: _as_text(column) for name, column in columns.items()}


def _same_integers(columns):
    """All columns as integers of one type that print as the text; None if there is no such type."""
    import pyarrow as pa

    for dtype in (pa.int64(), pa.uint64()):
        try:
            integers = {name: _printed_alike(column, dtype) for name, column in columns.items()}
        except pa.ArrowInvalid:  # no number, or not within this type
            continue
        return None if any(column is None for column in integers.values()) else integers
    return None


def _printed_alike(column, dtype):
    """A column of text or integers as integers; None if they print otherwise. ArrowInvalid if there are none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if arrow_kind(column.type) == "integer":
        return column.cast(dtype)
    chunks = []
    for chunk in column.chunks:
        trimmed = pc.ascii_trim_whitespace(chunk)
        chunks.append(trimmed.cast(dtype))
        if not chunks[-1].cast(trimmed.type).equals(trimmed):
            return None
    return pa.chunked_array(chunks, dtype)


def _refuse_floats(columns):
    """ValueError if all values of all columns are numbers, some of them with a fraction or an exponent."""
    import pyarrow.compute as pc

    floats = {}
    for name, column in columns.items():
        trimmed = pc.ascii_trim_whitespace(column)
        if not pc.all(pc.match_substring_regex(trimmed, NUMBER), min_count=0).as_py():
            return
        fractions = trimmed.filter(pc.match_substring_regex(trimmed, "[.eE]"))
        if len(fractions):
            floats[name] = fractions[0].as_py()
    for name, example in floats.items():
        raise ValueError(f"{name}: ids are floats such as {example!r}; write integers, or say ids='text'")


def _as_text(column):
    import pyarrow as pa

    kind = arrow_kind(column.type)
    if kind == "categorical":
        return (
            column if arrow_kind(column.type.value_type) == "string" else _as_text(column.cast(column.type.value_type))
        )
    return column if kind == "string" else column.cast(pa.string())


def _as_integers(name, column):
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = arrow_kind(column.type)
    if kind == "integer":
        return column
    if kind == "categorical":
        return _as_integers(name, column.cast(column.type.value_type))
    if kind == "string":
        column = pc.ascii_trim_whitespace(column)
        odd = column.filter(pc.invert(pc.match_substring_regex(column, INTEGER)))
        if len(odd):
            raise ValueError(f"{name}: {odd[0].as_py()!r} is no integer; leave ids='int' out to keep the text")
        column = pc.replace_substring_regex(column, r"^\+", "")
    for dtype in (pa.int64(), pa.uint64()):
        try:
            return column.cast(dtype)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            reason = error
    raise ValueError(f"{name}: ids cannot be integers of 64 bits ({reason!s:.100}); leave ids='int' out")
