"""Columns of every dataframe library, and what shall be said of them: their ids' dtype, their kind, their nulls."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cusubmatch.frames import family_named, family_of

NAMES = ("pandas", "polars", "arrow", pytest.param("cudf", marks=pytest.mark.gpu))
HOST_NAMES = ("pandas", "polars", "arrow")
DAYS = [dt.datetime(2024, 5, day, 12) for day in (3, 1, 2)]
SMALL = [[3, 1, 3, 7], [7, 3, 9]]
WIDE = [[-(2**62), 5, 2**62], [5, 11, 2**62]]
WORDS = [["b", "a", "b", "ü"], ["ü", "c"]]
NULS = [["a\0b", "a\0c", "a", "a\0b"], ["a\0c", "\0"]]  # text that differs after a NUL
SURROGATES = [["\ud800", "\udfff", "x"], ["\udfff"]]  # which UTF-8 cannot hold


def pandas_pair(dtype, values=SMALL, other=None):
    """Two pandas columns with an index that has nothing to say."""
    pairs = zip(values, (dtype, other or dtype), strict=True)
    return [pd.Series(part, dtype=kind, index=range(100, 100 + len(part))) for part, kind in pairs]


def category(values):
    return pd.CategoricalDtype(values)


def nul_category(values):
    return pd.CategoricalDtype(pd.Index(values, dtype=object))


PANDAS = {
    **{
        dtype: (pandas_pair(dtype), dtype, "integer")
        for dtype in ("int8", "uint16", "int32", "int64", "uint64", "Int32")
    },
    "negative": (pandas_pair("int16", [[-3, 5], [-3, -300]]), "int16", "integer"),
    "sparse": (pandas_pair("int64", WIDE), "int64", "integer"),
    "sparse nullable": (pandas_pair("Int64", WIDE), "Int64", "integer"),
    "beyond int64": (pandas_pair("uint64", [[2**64 - 1, 2**64 - 3], [2**64 - 1]]), "uint64", "integer"),
    "the whole of uint64": (pandas_pair("uint64", [[2**64 - 1, 0], [2**63]]), "uint64", "integer"),
    "int32 with int64": (pandas_pair("int32", other="int64"), "int64", "integer"),
    "int32 with uint32": (pandas_pair("int32", [[-1, 4], [2**32 - 1, 4]], "uint32"), "int64", "integer"),
    "int64 with uint64": (pandas_pair("int64", [[1, 4], [2**64 - 1, 4]], "uint64"), "uint64", "integer"),
    "negative int64 with uint64": (pandas_pair("int64", [[-1, 4], [2**62, 4]], "uint64"), "int64", "integer"),
    "plain with nullable": (pandas_pair("int64", other="Int64"), "Int64", "integer"),
    "Arrow integers": (pandas_pair("int32[pyarrow]"), "int32[pyarrow]", "integer"),
    "integers as objects": (pandas_pair(object, [[2**80, 1], [1, -5]]), "object", "integer"),
    "str": (pandas_pair("str", WORDS), "str", "string"),
    "string[python]": (pandas_pair("string[python]", WORDS), "string[python]", "string"),
    "string[pyarrow]": (pandas_pair("string[pyarrow]", WORDS), "string[pyarrow]", "string"),
    "large_string": (pandas_pair(pd.ArrowDtype(pa.large_string()), WORDS), "large_string[pyarrow]", "string"),
    "strings as objects": (pandas_pair(object, WORDS), "object", "string"),
    **{
        f"NUL in {dtype}": (pandas_pair(dtype, NULS), dtype, "string")
        for dtype in ("object", "str", "string[python]", "string[pyarrow]", "large_string[pyarrow]")
    },
    "surrogates as objects": (pandas_pair(object, SURROGATES), "object", "string"),
    "bool": (pandas_pair("bool", [[True, False], [True]]), "bool", "boolean"),
    "boolean": (pandas_pair("boolean", [[True, False], [True]]), "boolean", "boolean"),
    "datetime64[us]": (pandas_pair("datetime64[us]", [DAYS, DAYS[:2]]), "datetime64[us]", "temporal"),
    "time zone": (pandas_pair("datetime64[ns, UTC]", [DAYS, DAYS[:2]]), "datetime64[ns, UTC]", "temporal"),
    "timedelta": (pandas_pair("timedelta64[s]", [[3, 1], [1]]), "timedelta64[s]", "temporal"),
    "period": (pandas_pair("period[D]", [["2024-01-02"], ["2024-01-01"]]), "period[D]", "temporal"),
    "dates as objects": (pandas_pair(object, [[day.date() for day in DAYS]] * 2), "object", "temporal"),
    "category": (pandas_pair(category(list("zcbaü")), WORDS), category(list("zcbaü")), "categorical"),
    "other category": (
        pandas_pair(category(["b", "ü", "a", "x"]), WORDS, category(["c", "ü"])),
        category(["b", "ü", "a", "x", "c"]),
        "categorical",
    ),
    "NUL in categories": (
        pandas_pair(nul_category(["a\0c", "a", "a\0b", "\0"]), NULS),
        nul_category(["a\0c", "a", "a\0b", "\0"]),
        "categorical",
    ),
    "NUL in other categories": (
        pandas_pair(nul_category(["a\0c", "a", "a\0b"]), NULS, nul_category(["a\0c", "\0", "x"])),
        nul_category(["a\0c", "a", "a\0b", "\0", "x"]),
        "categorical",
    ),
    "category of integers": (pandas_pair(category([9, 3, 1, 7]), SMALL), category([9, 3, 1, 7]), "categorical"),
    "category with str": (pandas_pair(category(["b", "ü", "a"]), WORDS, "str"), "str", "categorical"),
    "tuples": (pandas_pair(object, [[(1, "a"), (2, "b")], [(1, "a")]]), "object", "other"),
    "mixed objects": (pandas_pair(object, [[(1, "a"), "b", 3], [3]]), "object", "other"),
    "decimals": (pandas_pair(object, [[decimal.Decimal("1.5")], [decimal.Decimal(2)]]), "object", "other"),
}


def arrow_pair(dtype, values=SMALL, other=None):
    """Two Arrow columns, the first in two chunks and one empty one."""
    first, second = pa.array(values[0], dtype), pa.array(values[1], other or dtype)
    return [pa.chunked_array([first[:2], first[:0], first[2:]]), pa.chunked_array([second])]


def encoded(*chunks, index=None):
    """A dictionary column whose chunks have a dictionary each."""
    index = index or pa.int8()
    return pa.chunked_array(
        [pa.array(chunk).dictionary_encode().cast(pa.dictionary(index, pa.string())) for chunk in chunks]
    )


MANY = [[f"v{i}" for i in range(start, start + 100)] for start in (0, 50, 120)]
ARROW = {
    **{str(t): (arrow_pair(t), t, "integer") for t in (pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64())},
    "sparse": (arrow_pair(pa.int64(), WIDE), pa.int64(), "integer"),
    "beyond int64": (arrow_pair(pa.uint64(), [[2**64 - 1, 0], [2**63]]), pa.uint64(), "integer"),
    "int32 with int64": (arrow_pair(pa.int32(), other=pa.int64()), pa.int64(), "integer"),
    **{str(t): (arrow_pair(t, WORDS), t, "string") for t in (pa.string(), pa.large_string(), pa.string_view())},
    "string with large_string": (arrow_pair(pa.string(), WORDS, pa.large_string()), pa.large_string(), "string"),
    **{f"NUL in {t}": (arrow_pair(t, NULS), t, "string") for t in (pa.string(), pa.large_string(), pa.string_view())},
    "bool": (arrow_pair(pa.bool_(), [[True, False], [True]]), pa.bool_(), "boolean"),
    "timestamp": (arrow_pair(pa.timestamp("us", "UTC"), [DAYS, DAYS]), pa.timestamp("us", "UTC"), "temporal"),
    "s with us": (arrow_pair(pa.timestamp("s"), [DAYS, DAYS], pa.timestamp("us")), pa.timestamp("us"), "temporal"),
    "date32": (arrow_pair(pa.date32(), [[3, 1], [1]]), pa.date32(), "temporal"),
    "binary": (arrow_pair(pa.binary(), [[b"x", b"y"], [b"y"]]), pa.binary(), "other"),
    "decimal": (arrow_pair(pa.decimal128(9, 2), [[decimal.Decimal("1.50")]] * 2), pa.decimal128(9, 2), "other"),
    "dictionary": ([encoded(["b", "a"], ["b"])] * 2, pa.dictionary(pa.int8(), pa.string()), "categorical"),
    "other dictionary": (
        [encoded(["b", "a"]), encoded(["a", "c"])],
        pa.dictionary(pa.int32(), pa.string()),
        "categorical",
    ),
    "dictionaries that outgrow their index": (
        [encoded(*MANY), encoded(MANY[0])],
        pa.dictionary(pa.int32(), pa.string()),
        "categorical",
    ),
    "dictionary with string": ([encoded(["b", "a"]), *arrow_pair(pa.string(), WORDS)], pa.string(), "categorical"),
}


ON_A_GPU = """int8 uint16 int32 int64 uint64 negative sparse str bool timedelta category datetime64[us]"""
ON_A_GPU_TOO = ("beyond int64", "the whole of uint64", "int32 with int64", "int64 with uint64", "other category")
CUDF = {case: PANDAS[case] for case in (*ON_A_GPU.split(), *ON_A_GPU_TOO, "category of integers", "category with str")}

NULLS = {
    "pandas": [
        (pd.Series([1.0, np.nan, None]), "float", 2),
        (pd.Series([1, None], dtype="Int64"), "integer", 1),
        (pd.Series([0.0, 1.0], dtype="Float64") / pd.Series([0.0, None], dtype="Float64"), "float", 2),
        (pd.Series([float("nan"), 1.5, None], dtype=pd.ArrowDtype(pa.float64())), "float", 2),
        (pd.Series(["a", None, pd.NA], dtype="str"), "string", 2),
        (pd.Series(["a", None, pd.NA, np.nan], dtype=object), "string", 3),
        (pd.Series([3, None, pd.NA, np.nan], dtype=object), "integer", 3),
        (pd.Series([1.5, 2], dtype=object), "float", 0),
        (pd.Series([pd.NaT, DAYS[0]]), "temporal", 1),
        (pd.Series([None, "a"], dtype=category(["a"])), "categorical", 1),
        (pd.Series([None, True], dtype=object), "boolean", 1),
        (pd.Series([None, None], dtype=object), "other", 2),
        (pd.Series([], dtype=object), "other", 0),
        (pd.DataFrame({"source": []})["source"], "other", 0),
        (pd.Series([1j]), "other", 0),
    ],
    "arrow": [
        (pa.chunked_array([[1.0, None], [float("nan")]]), "float", 2),
        (pa.chunked_array([pa.array([np.float16(1), None, np.float16("nan")], pa.float16())]), "float", 2),
        (pa.chunked_array([["a", None]]), "string", 1),
        (pa.chunked_array([pa.DictionaryArray.from_arrays([0, 1, None], ["a", None])]), "categorical", 2),
        (pa.chunked_array([pa.nulls(3)]), "other", 3),
        (pa.chunked_array([], pa.int64()), "integer", 0),
    ],
}


CASES = [
    pytest.param(name, case, id=f"{name}: {case}", marks=[pytest.mark.gpu] if name == "cudf" else [])
    for name, cases in {"pandas": PANDAS, "arrow": ARROW, "cudf": CUDF}.items()
    for case in cases
]


def case_of(name, case):
    """The columns of a case, the dtype that its ids shall have, and the kind of its first column."""
    columns, dtype, kind = {"pandas": PANDAS, "arrow": ARROW, "cudf": CUDF}[name][case]
    if name == "cudf":
        columns = [module("cudf").Series(column) for column in columns]
    return columns, dtype, kind


def plain(column):
    """The values of a column of any library, as Python objects."""
    if hasattr(column, "to_pylist"):
        return column.to_pylist()
    if type(column).__module__.startswith("cudf."):
        return column.to_arrow().to_pylist()
    return column.to_list()


def dtype_of(column):
    dtype = column.type if isinstance(column, pa.ChunkedArray) else column.dtype
    return dtype.to_pandas() if hasattr(dtype, "to_pandas") else dtype  # cuDF's own


def host(array):
    return array.get() if hasattr(array, "get") else array


def module(name):
    """A module that not every machine has, or the test is skipped."""
    return pytest.importorskip(name, reason=f"{name} is not installed")


def column(name, values):
    """A column of a library from Python values."""
    if name == "arrow":
        return pa.chunked_array([values])
    return pd.Series(values) if name == "pandas" else module(name).Series(values)


def frame(name, **columns):
    """A dataframe of a library from Python values."""
    return family_named(name).frame({key: column(name, values) for key, values in columns.items()})


def rows(frame):
    """The rows of a dataframe of any library, as tuples of Python values."""
    family = family_of(frame)
    return list(zip(*(plain(family.column(frame, name)) for name in family.column_names(frame)), strict=True))


def check_ids(family, columns, dtype):
    """The joint numbering of the columns gives their values back, in the dtype."""
    codes, ids = family.factorize(columns)
    assert [len(code) for code in codes] == [len(column) for column in columns]
    assert all(code.dtype == np.int32 for code in codes)
    assert dtype_of(ids) == dtype
    assert len(set(plain(ids))) == len(ids) == len({value for column in columns for value in plain(column)})
    assert {int(code) for part in codes for code in host(part)} == set(range(len(ids)))
    for code, values in zip(codes, columns, strict=True):
        taken = family.take(ids, code)
        assert dtype_of(taken) == dtype
        assert plain(taken) == plain(values)
        assert [type(value) for value in plain(taken)] == [type(value) for value in plain(values)]


def check_no_ids(family, columns):
    """The same columns without rows have no ids."""
    codes, ids = family.factorize([column[:0] for column in columns])
    assert [len(code) for code in codes] == [0] * len(columns)
    assert plain(family.take(ids, codes[0])) == plain(ids) == []
