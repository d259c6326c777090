"""Arrow tables and Polars dataframes; Polars' columns go by way of Arrow where they are not integers."""

from __future__ import annotations

import numpy as np

from cusubmatch.frames.family import Family
from cusubmatch.frames.numbering import MAX_DISTINCT

__all__ = ["ArrowFamily", "PolarsFamily", "arrow_kind"]


class ArrowFamily(Family):
    """`pyarrow.Table`; a column is a ChunkedArray."""

    name = "arrow"

    def column_names(self, frame):
        return frame.column_names

    def column(self, frame, name):
        return frame.column(name)

    def kind(self, column):
        return arrow_kind(column.type)

    def null_count(self, column):
        column = self._decoded(column)  # a dictionary may itself hold a null
        floats = column.drop_null().to_numpy() if self.kind(column) == "float" else np.empty(0)
        return column.null_count + int(np.isnan(floats).sum())

    def take(self, column, positions):
        import pyarrow as pa
        import pyarrow.compute as pc

        views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
        if column.type in views:  # which Arrow cannot take from
            return self.take(column.cast(views[column.type]), positions).cast(column.type)
        rows = max(len(positions), 1)
        if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
            # A chunk holds at most 2 GiB of text, and Arrow raises where it would have to make a second one.
            rows = max(MAX_DISTINCT // (pc.max(pc.binary_length(column)).as_py() or 1), 1)
        parts = [column.take(pa.array(positions[at : at + rows])) for at in range(0, len(positions), rows)]
        return pa.chunked_array([chunk for part in parts for chunk in part.chunks], column.type)

    def labels(self, column):
        chunks = self._decoded(column).dictionary_encode().chunks
        codes = np.concatenate([np.empty(0, np.int32), *(chunk.indices.fill_null(-1).to_numpy() for chunk in chunks)])
        labels: list = []
        code_of = []
        for label in chunks[0].dictionary.to_pylist() if chunks else []:
            real = label is not None and label == label  # NaN differs from itself
            code_of.append(len(labels) if real else -1)
            labels += [label] * real
        return np.array([*code_of, -1], np.int32)[codes], labels

    def python_values(self, column):
        return column.to_pylist()

    def values(self, array):
        import pyarrow

        return pyarrow.chunked_array([pyarrow.array(array)])

    def nullable(self, values, text):
        import pyarrow

        return pyarrow.chunked_array([pyarrow.array(values, pyarrow.string() if text else pyarrow.int64())])

    def frame(self, columns):
        import pyarrow

        return pyarrow.table(dict(columns))

    def concat(self, frames):
        import pyarrow

        return pyarrow.concat_tables(frames, promote_options="permissive")

    def to_arrow(self, frame):
        return frame

    def from_arrow(self, table):
        return table

    def _integers_of(self, column):
        if self.kind(column) != "integer":
            return None
        return [chunk.to_numpy() for chunk in column.chunks] or [np.empty(0, column.type.to_pandas_dtype())]

    def _hash(self, columns):
        import pyarrow as pa

        joint = _joint_type([column.type for column in columns])
        joined = pa.chunked_array([chunk for column in columns for chunk in column.cast(joint).chunks], joint)
        if not len(joined):
            return np.empty(0, np.int32), joined
        try:
            chunks = joined.dictionary_encode().chunks
        except pa.ArrowNotImplementedError:
            raise TypeError(f"columns of type {joint} cannot be ids; make them strings or integers") from None
        return np.concatenate([chunk.indices.to_numpy() for chunk in chunks]), pa.chunked_array([chunks[0].dictionary])

    def _decoded(self, column):
        return column.cast(column.type.value_type) if self._is_categorical(column) else column

    def _categories(self, column):
        import pyarrow

        return pyarrow.chunked_array([chunk.dictionary for chunk in self._unified(column)[:1]], column.type.value_type)

    def _positions(self, column):
        return np.concatenate([np.empty(0, np.int8), *(chunk.indices.to_numpy() for chunk in self._unified(column))])

    def _unified(self, column):
        """The chunks of a dictionary column, with one dictionary for all."""
        import pyarrow as pa

        if column.num_chunks > 1:  # the union may exceed the index type
            column = column.cast(pa.dictionary(pa.int32(), column.type.value_type, column.type.ordered))
        return column.unify_dictionaries().chunks

    def _categorical(self, used, union, renumbered, columns):
        import pyarrow as pa

        first, categories, index_type = columns[0].type, self._categories(columns[0]), pa.int32()
        if all(column.type == first and self._categories(column).equals(categories) for column in columns):
            place = np.empty(len(union), np.int64)
            place[renumbered[0]] = np.arange(len(categories))
            used, union, index_type = place[used], categories, first.index_type
        indices, dictionary = pa.array(used).cast(index_type), union.combine_chunks()
        return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, dictionary, ordered=first.ordered)])


class PolarsFamily(Family):
    """`polars.DataFrame`; a column is a Series."""

    name = "polars"

    def column_names(self, frame):
        return frame.columns

    def column(self, frame, name):
        return frame.get_column(name)

    def kind(self, column):
        dtype = column.dtype
        if dtype.is_numeric():
            return "integer" if dtype.is_integer() else "float" if dtype.is_float() else "other"
        names = {"String": "string", "Boolean": "boolean", "Categorical": "categorical", "Enum": "categorical"}
        return "temporal" if dtype.is_temporal() else names.get(str(dtype.base_type()), "other")

    def null_count(self, column):
        return column.null_count() + (int(column.is_nan().sum()) if column.dtype.is_float() else 0)

    def take(self, column, positions):
        return column.gather(positions)

    def labels(self, column):
        return ArrowFamily().labels(_arrow_column(column))

    def python_values(self, column):
        return column.to_list()

    def values(self, array):
        import polars

        return polars.Series(array)

    def nullable(self, values, text):
        import polars

        return polars.Series(values, dtype=polars.String if text else polars.Int64)

    def frame(self, columns):
        import polars

        return polars.DataFrame(dict(columns))

    def concat(self, frames):
        import polars

        return polars.concat(frames, how="vertical_relaxed")

    def to_arrow(self, frame):
        return frame.to_arrow()

    def from_arrow(self, table):
        import polars

        return polars.from_arrow(table)

    def _integers_of(self, column):
        if not column.dtype.is_integer():
            return None
        if "128" in str(column.dtype):
            raise TypeError(f"ids of type {column.dtype} are too wide; cast the column to Int64 or String")
        return [chunk.to_numpy() for chunk in column.get_chunks()]

    def _is_categorical(self, column):
        return False  # left to Arrow

    def _hash(self, columns):
        import polars

        arrow = ArrowFamily()
        codes, ids = arrow.factorize([_arrow_column(column) for column in columns])
        ids, dtype = polars.Series(arrow._decoded(ids)), columns[0].dtype
        if any(column.dtype != dtype for column in columns):
            dtype = polars.Categorical if all(self.kind(column) == "categorical" for column in columns) else ids.dtype
        return np.concatenate(codes), ids.cast(dtype)


def arrow_kind(dtype) -> str:
    """What `Family.kind` says of an Arrow type."""
    from pyarrow import types

    tests = {
        "integer": [types.is_integer],
        "float": [types.is_floating],
        "string": [types.is_string, types.is_large_string, types.is_string_view],
        "boolean": [types.is_boolean],
        "temporal": [types.is_temporal],
        "categorical": [types.is_dictionary],
    }
    return next((kind for kind, applies in tests.items() if any(test(dtype) for test in applies)), "other")


def _joint_type(dtypes):
    """A type that holds the values of all the types."""
    import pyarrow as pa

    if all(dtype == dtypes[0] for dtype in dtypes):
        return dtypes[0]
    if all(arrow_kind(dtype) == "string" for dtype in dtypes):
        return pa.large_string()
    schemas = [pa.schema([("ids", dtype)]) for dtype in dtypes]
    return pa.unify_schemas(schemas, promote_options="permissive").field(0).type


def _arrow_column(series):
    import pyarrow

    array = series.to_arrow()
    return array if isinstance(array, pyarrow.ChunkedArray) else pyarrow.chunked_array([array])
