"""pandas and cuDF: one idea, since cuDF's calls agree with pandas' but for those that its subclass replaces.

cuDF differs in where arrays lie (CuPy), in aligning columns by their index (so a column leaves its index behind), and
in having no columns of Python objects. A dataframe of `cudf.pandas` counts as the cuDF dataframe that it holds.
"""

from __future__ import annotations

import sys

import numpy as np

from cusubmatch.frames.columnar import arrow_kind
from cusubmatch.frames.family import Family, present_columns
from cusubmatch.frames.numbering import split_codes, text_codes
from cusubmatch.frames.sorted_numbering import number_by_sorting

__all__ = ["CudfFamily", "PandasFamily", "unproxied"]

MOST_HASHED = 1 << 27  # integers that cuDF numbers at once: it takes 40 bytes each, and 2**31 at most
KIND_OF_DTYPE = {"i": "integer", "u": "integer", "f": "float", "b": "boolean", "M": "temporal", "m": "temporal"}
KIND_OF_OBJECTS = {
    "integer": "integer",
    "floating": "float",
    "mixed-integer-float": "float",
    "string": "string",
    "boolean": "boolean",
    **dict.fromkeys(["date", "datetime", "datetime64", "time", "timedelta", "timedelta64", "period"], "temporal"),
}


class PandasFamily(Family):
    """pandas dataframes, with NumPy, nullable and Arrow-backed columns and columns of Python objects."""

    name = "pandas"
    strings_only = False

    def _library(self):
        import pandas

        return pandas

    def column_names(self, frame):
        return list(frame.columns)

    def column(self, frame, name):
        names = list(frame.columns)
        if (count := names.count(name)) != 1:
            raise ValueError(f"the dataframe has {count} columns named {name!r}; exactly one is wanted")
        return frame.iloc[:, names.index(name)]

    def kind(self, column):
        dtype = column.dtype
        if self._is_categorical(column):
            return "categorical"
        if hasattr(dtype, "pyarrow_dtype"):
            return arrow_kind(dtype.pyarrow_dtype)
        if dtype.kind == "O":
            return self._kind_of_objects(column)
        # An empty list makes a column of floats, which says nothing of its ids.
        return KIND_OF_DTYPE.get(dtype.kind, "other") if len(column) or dtype.kind != "f" else "other"

    def _kind_of_objects(self, column):
        types = self._library().api.types
        if column.dtype != object and types.is_string_dtype(column.dtype):
            return "string"
        return KIND_OF_OBJECTS.get(types.infer_dtype(column, skipna=True), "other")

    def null_count(self, column):
        if column.dtype.kind == "f":  # nullable floats may hold NaN beside NA
            return int(np.isnan(column.to_numpy(dtype=np.float64, na_value=np.nan)).sum())
        return int(column.isna().sum())

    def take(self, column, positions):
        return self._library().Series(column.array.take(positions), dtype=column.dtype, copy=False)

    def plain(self, column):
        return column.to_numpy() if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu" else None

    def labels(self, column):
        codes, labels = self._numbered(column)
        return codes.astype(np.int32), labels.tolist()

    def _numbered(self, column):
        """Codes, -1 for null, and the distinct values as a column."""
        values = _plain_values(column)
        if self.kind(column) != "string" or not _holds_objects(column):
            codes, distinct = self._library().factorize(values)
            return codes, self._library().Series(distinct, dtype=column.dtype, copy=False)
        codes = text_codes(column.to_numpy(dtype=object))  # the table of pandas takes text to end at a NUL
        first = np.empty(codes.max(initial=-1) + 1, np.int64)
        rows = np.flatnonzero(codes >= 0)[::-1]
        first[codes[rows]] = rows
        return codes, self.take(column, first)

    def python_values(self, column):
        return column.tolist()

    def mixes_types(self, column):
        return column.dtype == object and self.kind(column) == "other"

    def values(self, array):
        return self._library().Series(array, dtype=object if array.dtype == object else None, copy=False)

    def nullable(self, values, text):
        return self._library().Series(values, dtype=None if text else "Int64")

    def with_nulls(self, column, missing):
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu":
            column = column.astype(f"{'U' if column.dtype.kind == 'u' else ''}Int{8 * column.dtype.itemsize}")
        return column.mask(missing)

    def objects(self, values):
        """A list of hashable Python objects as a column, of objects where they are not all of one type."""
        objects = self._library().Series(np.fromiter(values, object, len(values)), dtype=object)
        return objects.infer_objects() if len({type(value) for value in values}) == 1 else objects

    def frame(self, columns):
        aligned = {place: column.reset_index(drop=True) for place, column in enumerate(columns.values())}
        frame = self._library().DataFrame(aligned, copy=False)
        frame.columns = self._library().Index(list(columns), tupleize_cols=False)  # a name may be a tuple
        return frame

    def block(self, names, columns):
        if not isinstance(columns, np.ndarray):
            return super().block(names, columns)
        frame = self._library().DataFrame(columns.T, copy=False)
        frame.columns = self._library().Index(list(names), tupleize_cols=False)
        return frame

    def concat(self, frames):
        return self._library().concat(frames, ignore_index=True)

    def to_arrow(self, frame):
        import pyarrow

        return pyarrow.Table.from_pandas(frame, preserve_index=False)

    def from_arrow(self, table):
        frame = table.to_pandas()
        columns = (table.schema.pandas_metadata or {}).get("columns", [])
        objects = [some["name"] for some in columns if some["numpy_type"] == "object" and some["name"] in frame]
        return frame.astype(dict.fromkeys(objects, object))

    def _integers_of(self, column):
        return [np.asarray(column)] if column.dtype.kind in "iu" else None

    def _integer_ids(self, values, columns):
        dtype = self._library().concat([column.iloc[:0] for column in columns]).dtype  # nullable or not
        return self.values(values).astype(
            dtype if dtype.kind in "iu" else values.dtype
        )  # int64 with uint64: as they are

    def _hash(self, columns):
        joined = self._library().concat(columns, ignore_index=True)
        return self._numbered(joined)

    def _is_categorical(self, column):
        return str(column.dtype) == "category"

    def _decoded(self, column):
        return column.astype(column.cat.categories.dtype) if self._is_categorical(column) else column

    def _categories(self, column):
        return self._library().Series(column.cat.categories)

    def _positions(self, column):
        return column.cat.codes.to_numpy()

    def _categorical(self, used, union, renumbered, columns):
        dtype = columns[0].dtype
        if any(column.dtype != dtype for column in columns):
            dtype = self._library().CategoricalDtype(self._category_index(union))
        return self.take(union, used).astype(dtype)

    def _category_index(self, values):
        return self._library().Index(values, tupleize_cols=False)


class CudfFamily(PandasFamily):
    """cuDF dataframes."""

    name = "cudf"
    strings_only = True

    def _library(self):
        import cudf

        return cudf

    def xp(self):
        import cupy

        return cupy

    def column_names(self, frame):
        return list(unproxied(frame).columns)

    def column(self, frame, name):
        return unproxied(frame)[name].reset_index(drop=True)

    def _kind_of_objects(self, column):
        # Decimals, intervals, lists and structs have names of their own.
        return "string" if str(column.dtype).partition("[")[0] in ("object", "str", "string") else "other"

    def null_count(self, column):
        return int(column.isna().sum())

    def take(self, column, positions):
        plain = self.plain(column)  # to gather no index
        return column.take(positions).reset_index(drop=True) if plain is None else self.values(plain[positions])

    def plain(self, column):
        plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu" and not column.null_count
        return column.values if plain else None

    def labels(self, column):
        codes, labels = self._decoded(column).factorize()
        return codes.astype(np.int32), self.python_values(labels)

    def python_values(self, column):
        return column.to_arrow().to_pylist()

    def values(self, array):
        return self._library().Series(array)

    def nullable(self, values, text):
        return self._library().Series(values, dtype="str" if text else "int64")  # a mask beside it has the nulls

    def with_nulls(self, column, missing):
        return column.where(self.values(self.xp.asarray(~missing)))

    def frame(self, columns):
        return self._library().DataFrame(dict(columns))

    def block(self, names, columns):
        import pylibcudf

        columns = map(pylibcudf.Column.from_cuda_array_interface, columns)
        return self._library().DataFrame.from_pylibcudf(pylibcudf.Table(list(columns)), {"columns": list(names)})

    def concat(self, frames):
        return self._library().concat([unproxied(frame) for frame in frames], ignore_index=True)

    def to_arrow(self, frame):
        return unproxied(frame).to_arrow(preserve_index=False)

    def from_arrow(self, table):
        return self._library().DataFrame.from_arrow(table)

    def read_parquet(self, paths, columns):
        return self._library().read_parquet(list(paths), columns=present_columns(paths, columns))

    def _integers_of(self, column):
        return [column.values] if column.dtype.kind in "iu" else None

    def _integer_ids(self, values, columns):
        dtype = columns[0].dtype  # not of a concatenation, which for columns without rows is the first, fitting or not
        return self.values(values).astype(dtype if all(column.dtype == dtype for column in columns) else values.dtype)

    def _hash(self, columns):
        codes, ids = self._library().concat(columns, ignore_index=True).factorize()
        return codes, self._library().Series(ids)

    def _hash_integers(self, columns, dtype):
        arrays = [array for column in columns for array in column]
        if sum(array.size for array in arrays) > MOST_HASHED:
            return number_by_sorting(self.xp(), columns, dtype)
        joined = self.xp().concatenate([array.astype(dtype, copy=False) for array in arrays])
        codes, ids = self.values(joined).factorize()
        rows, values = [range(sum(array.size for array in column)) for column in columns], ids.values
        return split_codes(codes, rows, len(values)), values

    def _positions(self, column):
        return column.cat.codes.values

    def _category_index(self, values):
        return self._library().Index(values)


def unproxied(frame):
    """The cuDF object in an object of `cudf.pandas`, any other object as it is."""
    proxies = sys.modules.get("cudf.pandas")
    if proxies is None or not proxies.is_proxy_object(frame):
        return frame
    try:
        return frame.as_gpu_object()
    except Exception as error:
        raise TypeError(f"cuDF cannot hold the columns of this cudf.pandas {type(frame).__name__}: {error}") from error


def _holds_objects(column):
    """Whether the values of a column are Python objects."""
    return column.dtype == object or getattr(column.dtype, "storage", None) == "python"


def _plain_values(column):
    """What `factorize` takes: tuples stay tuples in a NumPy array, time stamps keep their type in pandas' own."""
    plain = isinstance(column.dtype, np.dtype) and column.dtype.kind not in "mM"
    return column.to_numpy() if plain else column.array
