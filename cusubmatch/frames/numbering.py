"""The numbering of ids: codes 0..n-1 for the distinct values of several columns, written once for every library.

It works on `xp`, which is NumPy or CuPy: integers of a narrow range are numbered through a lookup table, categoricals
through their categories, everything else by the library's own hash. The temporaries of the lookup are made in steps, so
that 64-bit copies of long columns never exist whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from cusubmatch.frames.code_table import CodeTable

__all__ = ["MAX_DISTINCT", "Numbering", "split_codes", "text_codes"]

MAX_DISTINCT = 2**31 - 1  # codes are int32
STEP, HOST_STEP = 1 << 20, 1 << 16
STEPS = 64
GUESSED_REPEATS = 128  # of a value, for the first size of a hash table, which grows
TABLE_SHARE = 2  # a lookup table has an entry for so many values at least, beyond the first 2**20


class Numbering(ABC):
    """What numbers the values of columns; a library fills in the methods at the end."""

    def xp(self) -> Any:
        """The array module of codes and positions: `numpy`, or `cupy` where the frames lie on a GPU."""
        return np

    @abstractmethod
    def kind(self, column: Any) -> str:
        """One of integer, float, string, boolean, temporal, categorical, other.

        Where the dtype says only "object", the values decide; a column of which nothing is known, such as one made from
        an empty list, is "other".
        """

    @abstractmethod
    def values(self, array: Any) -> Any:
        """A one-dimensional array as a column."""

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

    def integer_arrays(self, column: Any) -> list | None:
        """The arrays that make up a column of machine integers; None for other columns."""
        return self._integers_of(column)

    def factorize_integers(self, columns: Sequence[Sequence], like: Sequence) -> tuple[list, Any]:
        """As `factorize`, of columns whose values come in arrays, or in what is read when it is sliced.

        Parameters
        ----------
        columns : list of lists of arrays
        like : list of columns
            Of the dtypes of these, with or without rows.
        """
        codes, values = self._factorize_integers(columns)
        return codes, self._integer_ids(values, like)

    def _factorize_integers(self, columns):
        """Codes and distinct values of integers; a column is a list of arrays here, and gets an array of its own."""
        xp = self.xp()
        arrays = [array for column in columns for array in column]
        used = [array for array in arrays if array.size]
        low = min((int(array.min()) for array in used), default=0)
        high = max((int(array.max()) for array in used), default=0)
        dtype = _joint_integer([array.dtype for array in arrays], low, high)
        rows = [sum(array.size for array in column) for column in columns]
        total = sum(rows)
        if high - low >= max(total // TABLE_SHARE, STEP):
            return self._hash_integers(columns, dtype)
        table = CodeTable(xp, high - low + 1)
        for array in used:
            for _, offsets in _offsets(xp, array, low):
                table.mark(offsets)
        values = table.number().view(np.uint64)
        codes = [xp.empty(row, np.int32) for row in rows]
        for array, places in zip(used, _parts_of(codes, columns), strict=True):
            for part, offsets in _offsets(xp, array, low):
                places[part] = table.codes(offsets)
        values += np.uint64(low % 2**64)
        values = values.view(dtype) if dtype.itemsize == 8 else values.astype(dtype)
        _check_distinct(len(values))
        return codes, values

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

    def _hash_integers(self, columns, dtype):
        """Codes of each column, a list of arrays of integers, and the distinct ones as an array."""
        try:  # measured: 2 to 5 times as fast as the dictionaries of Arrow
            from pandas._libs.hashtable import Int64HashTable

            kept = Int64HashTable.map_keys_to_values
        except (ImportError, AttributeError):  # a pandas that keeps its hash tables elsewhere
            import pandas as pd

            joined = np.concatenate([array for column in columns for array in column]).astype(dtype)
            codes, values = pd.factorize(joined)
            rows = [range(sum(array.size for array in column)) for column in columns]
            return split_codes(codes, rows, len(values)), values
        codes = [np.empty(sum(array.size for array in column), np.int32) for column in columns]
        wide = np.dtype(f"{dtype.kind}8")
        table, number, found = Int64HashTable(HOST_STEP // GUESSED_REPEATS), 0, []
        used = [array for column in columns for array in column if array.size]
        for array, places in zip(used, _parts_of(codes, columns), strict=True):
            for begin in range(0, array.size, HOST_STEP):
                part = np.ascontiguousarray(array[begin : begin + HOST_STEP], wide).view(np.int64)
                known = table.lookup(part)
                unknown = np.flatnonzero(known < 0)
                if len(unknown):
                    part = part[unknown]
                    new = Int64HashTable(len(part) // GUESSED_REPEATS).unique(part)
                    kept(table, new, np.arange(number, number + len(new)))
                    known[unknown] = table.lookup(part)
                    number += len(new)
                    found.append(new)
                places[begin : begin + len(known)] = known
        del table
        values = np.concatenate([np.empty(0, np.int64), *found]).view(wide)
        _check_distinct(len(values))
        return codes, values.astype(dtype, copy=False)

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


def split_codes(codes, columns, distinct):
    """The codes of joined columns, apart again, int32 and writable; OverflowError for more than these can number."""
    _check_distinct(distinct)
    writable = getattr(codes.flags, "writeable", True)  # an array of Arrow's is not; CuPy's always are
    codes, ends = codes.astype(np.int32, copy=not writable), np.cumsum([len(column) for column in columns])
    return [codes[int(end) - len(column) : int(end)] for end, column in zip(ends, columns, strict=True)]


def _check_distinct(distinct):
    if distinct > MAX_DISTINCT:
        raise OverflowError(f"{distinct:,} distinct ids; at most 2**31 - 1 = {MAX_DISTINCT:,} can be numbered")


def _parts_of(codes, columns):
    """For each array that has values the part of its column's codes, which is written in place."""
    parts = []
    for column_codes, column in zip(codes, columns, strict=True):
        start = 0
        for array in column:
            if array.size:
                parts.append(column_codes[start : start + array.size])
            start += array.size
    return parts


def _joint_integer(dtypes, low, high):
    """The common dtype of integer arrays; NumPy has none for int64 and uint64, so there the values decide."""
    dtype = np.result_type(*dtypes)
    if dtype.kind in "iu":
        return dtype
    if low < 0 and high > np.iinfo(np.int64).max:
        raise OverflowError(f"integer ids from {low} to {high} fit neither int64 nor uint64; make them strings")
    return np.dtype(np.int64 if low < 0 else np.uint64)


def _offsets(xp, array, low):
    """Step by step a range of an array, and its values less `low`, as int64."""
    base = np.uint64(low % 2**64)
    step = HOST_STEP if xp is np else max(STEP, array.size // STEPS)  # a GPU takes as long for a smaller one
    for begin in range(0, array.size, step):
        part = slice(begin, begin + step)
        offsets = array[part].astype(np.uint64)
        offsets -= base  # modulo 2**64, so exact for signed and unsigned alike
        yield part, offsets.view(np.int64)


def text_codes(values):
    """Codes of Python texts in an array, in order of first mention; -1 for what is no text."""
    import pyarrow as pa

    try:
        texts = pa.array(values, pa.large_string(), from_pandas=True)
    except UnicodeEncodeError:  # a lone surrogate
        encoded = (value.encode("utf-8", "surrogatepass") if isinstance(value, str) else None for value in values)
        texts = pa.array(encoded, pa.large_binary())
    return texts.dictionary_encode().indices.fill_null(-1).to_numpy()
