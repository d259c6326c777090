"""What a dataframe library does for a graph, and what follows from it for every library alike.

A subclass reads and makes the columns of one library. Filters and joins are written once, on the numbers that
`Numbering` gives to values.
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cusubmatch.frames.numbering import Numbering
from cusubmatch.frames.value_order import order_of_column, order_of_objects

__all__ = ["Family", "present_columns"]


class Family(Numbering):
    """One dataframe library.

    A *column* is the library's own (a Series, a ChunkedArray); arrays are of `xp()`; codes are int32.
    """

    name: str
    strings_only: bool = True  # column names must be strings

    @abstractmethod
    def column_names(self, frame: Any) -> list:
        """The names of the columns, in order."""

    @abstractmethod
    def column(self, frame: Any, name: Hashable) -> Any:
        """The column of that name; KeyError or ValueError unless there is exactly one."""

    @abstractmethod
    def null_count(self, column: Any) -> int:
        """The number of nulls, NaN among them."""

    @abstractmethod
    def take(self, column: Any, positions: Any) -> Any:
        """The values at `positions`, an array of integers, as a column of the same dtype."""

    def plain(self, column: Any) -> Any:
        """The column as an array of integers of which `values` makes the same column; None for other kinds."""
        return None

    @abstractmethod
    def labels(self, column: Any) -> tuple[Any, list]:
        """An int32 array of codes with -1 for null, and the distinct labels as Python values."""

    @abstractmethod
    def python_values(self, column: Any) -> list:
        """The values as Python objects."""

    @abstractmethod
    def nullable(self, values: list, text: bool) -> Any:
        """A list of integers of 64 bits, or of text, and of None as a column that keeps them so."""

    @abstractmethod
    def with_nulls(self, column: Any, missing: Any) -> Any:
        """A column with nulls where a bool array in host memory says so; its type can hold nulls."""

    @abstractmethod
    def frame(self, columns: Mapping[Any, Any]) -> Any:
        """A dataframe of `{name: column}`."""

    def block(self, names: Sequence, columns: Any) -> Any:
        """A dataframe of arrays, or of the rows of a two-dimensional one, without a copy where the library can."""
        return self.frame({name: self.values(column) for name, column in zip(names, columns, strict=True)})

    @abstractmethod
    def concat(self, frames: Sequence) -> Any:
        """The rows of dataframes with columns of the same names and kinds, one after another."""

    @abstractmethod
    def to_arrow(self, frame: Any) -> Any:
        """The dataframe as a pyarrow Table."""

    @abstractmethod
    def from_arrow(self, table: Any) -> Any:
        """A pyarrow Table as a dataframe; the dtypes are those of the dataframe that `to_arrow` made it of."""

    def read_parquet(self, paths: Sequence[str], columns: Sequence[str] | None) -> Any:
        """Parquet files, one after another, as a dataframe; those of `columns` that they have, by default all."""
        from pyarrow import parquet

        return self.from_arrow(parquet.read_table(list(paths), columns=present_columns(paths, columns)))

    def order(self, column: Any) -> np.ndarray:
        """The positions, in host memory, that put distinct values in order; ValueError if they have none."""
        import pyarrow as pa

        if not self.mixes_types(column):
            with contextlib.suppress(pa.ArrowException, OverflowError, UnicodeEncodeError):
                return order_of_column(self.to_arrow(self.frame({"values": column})).column("values"))
        return order_of_objects(self.python_values(column))

    def mixes_types(self, column: Any) -> bool:
        """Whether the values may be Python objects of several types, which Arrow would make one type of."""
        return False

    def objects(self, values: list) -> Any:
        """A list of hashable Python objects as a column, where the library has columns of objects."""
        raise NotImplementedError

    def integers(self, array: Any) -> Any:
        """An array of integers as a column."""
        return self.values(array)

    def length(self, frame: Any) -> int:
        """The number of rows."""
        return len(frame)

    def select(self, frame: Any, names: Mapping[Any, Any]) -> Any:
        """The columns `{new name: old name}`, in that order."""
        return self.frame({new: self.column(frame, old) for new, old in names.items()})

    def filter_equal(self, frame: Any, name: Hashable, values: Iterable) -> Any:
        """The rows whose column `name` is one of `values`."""
        wanted, xp = set(values), self.xp()
        codes, labels = self.labels(self.column(frame, name))
        keep = xp.asarray([label in wanted for label in labels] + [False])  # the code of a null, -1, finds the last
        rows = xp.flatnonzero(keep[codes])
        return self.frame({name: self.take(self.column(frame, name), rows) for name in self.column_names(frame)})

    def join(self, left: Any, right: Any, on: Sequence[tuple]) -> Any:
        """Inner join on keys without nulls.

        Parameters
        ----------
        left, right : dataframes of this family
        on : list of (left name, right name)
            The keys, at least one; the two columns of a key are of one kind.

        Returns
        -------
        dataframe
            A row for each pair of rows that agree, in left's order and then right's; the columns of `left`, then those
            of `right` without its keys.

        Raises
        ------
        ValueError
            If both have a column of one name, the keys of `right` aside.
        """
        xp = self.xp()
        added = [name for name in self.column_names(right) if name not in {key for _, key in on}]
        if both := [name for name in self.column_names(left) if name in added]:
            raise ValueError(f"join: left and right both have the columns {both}; rename them in one of the two")
        left_keys, right_keys, distinct = self._join_keys(left, right, on)
        rows_of_key = xp.bincount(right_keys, minlength=distinct)
        first_of_key = xp.cumsum(rows_of_key) - rows_of_key
        partners = rows_of_key[left_keys]
        ends = xp.cumsum(partners)
        total = int(ends[-1]) if len(ends) else 0
        left_rows = xp.cumsum(xp.bincount(ends, minlength=total)[:total])  # how many left rows ended before
        right_rows = (first_of_key[left_keys] - (ends - partners))[left_rows]
        right_rows += xp.arange(total)
        right_rows = xp.argsort(right_keys, kind="stable")[right_rows]
        joined = {name: self.take(self.column(left, name), left_rows) for name in self.column_names(left)}
        return self.frame(joined | {name: self.take(self.column(right, name), right_rows) for name in added})

    def partners(self, left: Any, right: Any, on: Sequence[tuple]) -> Any:
        """How many rows of `right` each row of `left` is joined with by `join`."""
        left_keys, right_keys, distinct = self._join_keys(left, right, on)
        return self.xp().bincount(right_keys, minlength=distinct)[left_keys]

    def _join_keys(self, left, right, on):
        """One code for all keys of a row, in `left` and in `right`, and the number of codes."""
        keys: list = []
        distinct = 0
        for left_name, right_name in on:
            codes, ids = self.factorize([self.column(left, left_name), self.column(right, right_name)])
            if keys:  # made dense again, so that a further key cannot overflow
                codes = [key.astype(np.int64) * len(ids) + code for key, code in zip(keys, codes, strict=True)]
                codes, ids = self._factorize_integers([[code] for code in codes])
            keys, distinct = codes, len(ids)
        return *keys, distinct


def present_columns(paths: Sequence[str], columns: Sequence[str] | None) -> list[str] | None:
    """Those of the columns that Parquet files have, by the first of them."""
    from pyarrow import parquet

    return None if columns is None else [name for name in parquet.read_schema(paths[0]).names if name in columns]
