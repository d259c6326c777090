"""Tables in files, Parquet, CSV or TSV, read through Arrow."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cusubmatch.io.formats import FILE_SUFFIXES, format_of, suffix_of

__all__ = ["format_in", "read_table"]

DELIMITERS = {"csv": ",", "tsv": "\t"}
GZIP = b"\x1f\x8b"  # how a file of gzip begins
HEAD_BYTES = 4096


def format_in(content: bytes) -> str:
    """The format of the bytes of a file: Parquet has a mark; text is TSV if its first line has tabs and no comma."""
    if content[:4] == b"PAR1":
        return "parquet"
    with _opened(content) as stream:
        header = stream.read(HEAD_BYTES).partition(b"\n")[0]
    return "tsv" if b"\t" in header and b"," not in header else "csv"


def read_table(source: str | os.PathLike | bytes, form: str | None = None, text: Iterable[str] = ()) -> Any:
    """Read a Parquet, CSV or TSV file as a `pyarrow.Table`.

    Parameters
    ----------
    source : path, or the bytes of a file
        CSV and TSV may be gzipped. An empty cell is null, an empty text in quotes is not.
    form : {"parquet", "csv", "tsv"}, optional
        Default: by the suffix of the path, or by the bytes.
    text : names of columns
        Columns of CSV and TSV that are read as text, whatever they look like; a name that is no column is ignored.

    Raises
    ------
    ValueError
        If the suffix is another, or the file is not what the format says (`pyarrow.ArrowInvalid` is a ValueError).
    OSError
        If the file cannot be read.
    """
    form = form or (format_in(source) if isinstance(source, bytes) else format_of(source))
    if form is None:
        name = os.fsdecode(source)
        raise ValueError(f"{name!r}: unknown suffix {suffix_of(name)!r}; expected one of {', '.join(FILE_SUFFIXES)}")
    if form == "parquet":
        from pyarrow import BufferReader, parquet

        return parquet.read_table(BufferReader(source) if isinstance(source, bytes) else source)
    from pyarrow import csv, string

    with _opened(source) as stream:
        return csv.read_csv(
            stream,
            parse_options=csv.ParseOptions(delimiter=DELIMITERS[form]),
            convert_options=csv.ConvertOptions(
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                column_types=dict.fromkeys(text, string()),
            ),
        )


def _opened(source: str | os.PathLike | bytes) -> Any:
    """A stream of the bytes of a file, unpacked where they are gzipped."""
    import pyarrow as pa

    if isinstance(source, bytes):
        first = source[: len(GZIP)]
        stream = pa.BufferReader(source)
    else:
        with Path(source).open("rb") as file:
            first = file.read(len(GZIP))
        stream = pa.OSFile(os.fspath(source))
    return pa.CompressedInputStream(stream, "gzip") if first == GZIP else stream
