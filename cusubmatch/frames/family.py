"""What a dataframe library does for a graph, and what follows from it for every library alike.

A subclass reads and makes the columns of one library. Here are the numbering of ids and the join, written once against
`xp`, which is NumPy or CuPy: integers of a narrow range are numbered through a lookup table, categoricals through their
categories, everything else by the library's own hash. The temporaries of the lookup are made in steps, so that 64-bit
copies of long columns never exist whole.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cusubmatch.frames.value_order import order_of_column, order_of_objects

__all__ = ["MAX_DISTINCT", "Family", "present_columns", "split_codes"]

MAX_DISTINCT = 2**31 - 1  # codes are int32
STEP = 1 << 20
LONGEST_TABLE = 4  # entries of the lookup table a value, beyond the first 2**20


class Family(ABC):
    """One dataframe library.

    A *column* is the library's own (a Series, a ChunkedArray); arrays are of `xp()`; codes are int32.
    """

    name: str
    strings_only: bool = True  # column names must be strings

    def xp(self) -> Any:
        """The array module of codes and positions: `numpy`, or `cupy` where the frames lie on a GPU."""
        return np

    @abstractmethod
    def column_names(self, frame: Any) -> list:
        """The names of the columns, in order."""

    @abstractmethod
    def column(self, frame: Any, name: Hashable) -> Any:
        """The column of that name; KeyError or ValueError unless there is exactly one."""

    @abstractmethod
    def kind(self, column: Any) -> str:
        """One of integer, float, string, boolean, temporal, categorical, other.

        Where the dtype says only "object", the values decide; a column of which nothing is known, such as one made from
        an empty list, is "other".
        """

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
    def values(self, array: Any) -> Any:
        """A one-dimensional array as a column."""

    @abstractmethod
    def nullable(self, values: list, text: bool) -> Any:
        """A list of integers of 64 bits, or of text, and of None as a column that keeps them so."""

    @abstractmethod
    def with_nulls(self, column: Any, missing: Any) -> Any:
        """A column with nulls where a bool array in host memory says so; its type can hold nulls."""

    @abstractmethod
    def frame(self, columns: Mapping[Any, Any]) -> Any:
        """A dataframe of `{name: column}`."""

    def block(self, names: Sequence, array: Any) -> Any:
        """A dataframe whose columns are the rows of a two-dimensional array, without a copy where the library can."""
        return self.frame({name: self.values(column) for name, column in zip(names, array, strict=True)})

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

    def factorize(self, columns: Sequence) -> tuple[list, Any]:
        """Number the distinct values of several columns together.

        Parameters
        ----------
        columns : list of columns
            Of one kind, categoricals counting as what their categories are, and without nulls: `kind` and `null_count`
            tell.

        Returns
        -------
        codes : list of int32 arrays
            One a column, with values 0..n-1.
        ids : column of n rows
            `ids[code]` is the value, in the caller's dtype (the common one where the columns differ, those without
            rows aside). Categoricals keep the caller's categories where all columns have the same, else get the union;
            a category that no row has is no id.

        Raises
        ------
        OverflowError
            More than 2**31 - 1 distinct values; or negative ones beside some beyond int64.
        TypeError
            Categories of another kind than the rest.
        """
        filled = [column for column in columns if len(column)]
        if filled and len(filled) < len(columns):
            codes, ids = self.factorize(filled)
            numbered = iter(codes)
            return [next(numbered) if len(column) else codes[0][:0] for column in columns], ids
        integers = [self._integers_of(column) for column in columns]
        if all(arrays is not None for arrays in integers):
            codes, values = self._factorize_integers(integers)
            return codes, self._integer_ids(values, columns)
        categorical = [self._is_categorical(column) for column in columns]
        if all(categorical):
            return self._factorize_categories(columns)
        if any(categorical):
            columns = [self._decoded(column) for column in columns]
            self._check_kinds(columns)
        codes, ids = self._hash(columns)
        return split_codes(codes, columns, len(ids)), ids

    def _factorize_integers(self, columns):
        """Codes and distinct values of integers; a column is a list of arrays here."""
        xp = self.xp()
        arrays = [array for column in columns for array in column]
        rows = [range(sum(array.size for array in column)) for column in columns]
        used = [array for array in arrays if array.size]
        low = min((int(array.min()) for array in used), default=0)
        high = max((int(array.max()) for array in used), default=0)
        dtype = _joint_integer([array.dtype for array in arrays], low, high)
        total = sum(map(len, rows))
        if high - low > LONGEST_TABLE * total + STEP:
            codes, values = self._hash_integers(xp.concatenate([array.astype(dtype, copy=False) for array in used]))
            return split_codes(codes, rows, len(values)), values
        table = xp.zeros(high - low + 1, np.int32)
        for offsets, _ in _offsets(used, low):
            table[offsets] = 1
        xp.cumsum(table, dtype=np.int32, out=table)
        table -= 1  # now the code of each value that occurs
        codes = xp.empty(total, np.int32)
        for offsets, start in _offsets(used, low):
            codes[start : start + len(offsets)] = table[offsets]
        occurs = xp.full(len(table), bool(used))
        xp.not_equal(table[1:], table[:-1], out=occurs[1:])
        del table
        values = xp.flatnonzero(occurs).view(np.uint64)
        values += np.uint64(low % 2**64)
        values = values.view(dtype) if dtype.itemsize == 8 else values.astype(dtype)
        return split_codes(codes, rows, len(values)), values

    def _factorize_categories(self, columns):
        """By the categories, so that no value of a row is looked at."""
        xp = self.xp()
        categories = [self._categories(column) for column in columns]
        self._check_kinds(categories)
        renumbered, union = self.factorize(categories)
        codes = [code[self._positions(column)] for code, column in zip(renumbered, columns, strict=True)]
        occurs = xp.zeros(len(union), np.int32)
        for array in codes:
            occurs[array] = 1
        dense = xp.cumsum(occurs, dtype=np.int32) - np.int32(1)
        return [dense[array] for array in codes], self._categorical(xp.flatnonzero(occurs), union, renumbered, columns)

    def _check_kinds(self, columns):
        kinds = sorted({self.kind(column) for column in columns if len(column)})
        if len(kinds) > 1:
            raise TypeError(f"ids must be of one kind, their categories included; got {' and '.join(kinds)}")

    # What a library fills in for `factorize`; the last four only where it has categoricals of its own.

    def _integers_of(self, column):
        """The arrays that make up a column of machine integers, if possible without a copy; None for other columns."""
        raise NotImplementedError

    def _integer_ids(self, values, columns):
        """An array of integers as a column in the common dtype of `columns`."""
        return self.values(values)

    def _hash(self, columns):
        """Codes of all columns in one array, and the distinct values as a column."""
        raise NotImplementedError

    def _hash_integers(self, values):
        """Codes of an array of integers, and the distinct ones as an array."""
        import pandas  # measured: 2 to 5 times as fast as the dictionaries of Arrow

        return pandas.factorize(values)

    def _is_categorical(self, column):
        return self.kind(column) == "categorical"

    def _decoded(self, column):
        """A categorical as a column of its values; other columns as they are."""
        raise NotImplementedError

    def _categories(self, column):
        """The categories, as a column."""
        raise NotImplementedError

    def _positions(self, column):
        """For each row the position of its category, as an array."""
        raise NotImplementedError

    def _categorical(self, used, union, renumbered, columns):
        """`union[used]` as a categorical; `renumbered` has the places in `union` of each column's categories."""
        raise NotImplementedError


def present_columns(paths: Sequence[str], columns: Sequence[str] | None) -> list[str] | None:
    """Those of the columns that Parquet files have, by the first of them."""
    from pyarrow import parquet

    return None if columns is None else [name for name in parquet.read_schema(paths[0]).names if name in columns]


def split_codes(codes, columns, distinct):
    """The codes of joined columns, apart again and as int32; OverflowError for more than these can number."""
    if distinct > MAX_DISTINCT:
        raise OverflowError(f"{distinct:,} distinct ids; at most 2**31 - 1 = {MAX_DISTINCT:,} can be numbered")
    codes, ends = codes.astype(np.int32, copy=False), np.cumsum([len(column) for column in columns])
    return [codes[int(end) - len(column) : int(end)] for end, column in zip(ends, columns, strict=True)]


def _joint_integer(dtypes, low, high):
    """The common dtype of integer arrays; NumPy has none for int64 and uint64, so there the values decide."""
    dtype = np.result_type(*dtypes)
    if dtype.kind in "iu":
        return dtype
    if low < 0 and high > np.iinfo(np.int64).max:
        raise OverflowError(f"integer ids from {low} to {high} fit neither int64 nor uint64; make them strings")
    return np.dtype(np.int64 if low < 0 else np.uint64)


def _offsets(arrays, low):
    """Step by step the values less `low`, as int64, and the place of the first among all values."""
    start, base = 0, np.uint64(low % 2**64)
    for array in arrays:
        step = max(STEP, array.size >> 4)
        for at in range(0, array.size, step):
            offsets = array[at : at + step].astype(np.uint64)
            offsets -= base  # modulo 2**64, so exact for signed and unsigned alike
            yield offsets.view(np.int64), start + at
        start += array.size
