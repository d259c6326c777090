"""Formats of tables in files, by the suffix of a name; nothing heavy is imported for it."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["FILE_SUFFIXES", "format_of", "is_text", "suffix_of"]

FILE_SUFFIXES = (".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz")


def suffix_of(path: str | os.PathLike) -> str:
    """The suffix of a path in lower case; of gzipped text both suffixes, as in ``.csv.gz``."""
    both = "".join(Path(path).suffixes[-2:]).lower()
    return both if both in FILE_SUFFIXES else Path(path).suffix.lower()


def format_of(path: str | os.PathLike) -> str | None:
    """The format that the suffix of a path names: parquet, csv or tsv; None for other suffixes."""
    suffix = suffix_of(path)
    return suffix.removesuffix(".gz")[1:] if suffix in FILE_SUFFIXES else None


def is_text(suffix: str) -> bool:
    """Whether files of a suffix are CSV or TSV."""
    return suffix.startswith((".csv", ".tsv"))
