"""The columns of every dataframe library: ids keep their dtype, kinds and nulls are told, labels are Python values.

cuDF runs the same cases where it is installed (marker gpu).
"""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_cases import (
    CASES,
    NAMES,
    NULLS,
    case_of,
    category,
    check_ids,
    check_no_ids,
    column,
    host,
    pandas_pair,
    plain,
)

from cusubmatch.frames import columnar, family_named, numbering


@pytest.mark.parametrize(("name", "case"), CASES)
def test_ids_come_back_as_they_were_and_in_their_dtype(name, case):
    columns, dtype, _ = case_of(name, case)
    check_ids(family_named(name), columns, dtype)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_columns_without_rows_have_no_ids(name, case):
    check_no_ids(family_named(name), case_of(name, case)[0])


@pytest.mark.parametrize(("name", "case"), CASES)
def test_kinds_are_told_apart_and_full_columns_have_no_nulls(name, case):
    columns, _, kind = case_of(name, case)
    assert family_named(name).kind(columns[0]) == kind
    assert all(family_named(name).null_count(column) == 0 for column in columns)


@pytest.mark.parametrize("name", NAMES)
def test_integers_of_a_narrow_range_are_numbered_in_order(name):
    codes, ids = family_named(name).factorize([column(name, [5, -2, 5]), column(name, [40, -2])])
    assert plain(ids) == [-2, 5, 40]
    assert [host(code).tolist() for code in codes] == [[1, 0, 1], [2, 0]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("values", [[3, 1, 2, 1], [2**40, 1, 2**50, 1], ["c", "a", "b", "a"]])
def test_more_distinct_ids_than_codes_is_an_error_that_counts_them(name, values, monkeypatch):
    monkeypatch.setattr(numbering, "MAX_DISTINCT", 2)
    with pytest.raises(OverflowError, match="3 distinct ids"):
        family_named(name).factorize([column(name, values)])


def test_a_pandas_without_its_hash_tables_numbers_the_same(monkeypatch):
    columns = pandas_pair("int64", [[7, 2**50, 7], [2**40, 7]], "int64")
    codes, ids = family_named("pandas").factorize(columns)
    monkeypatch.setitem(sys.modules, "pandas._libs.hashtable", None)
    again, ids_again = family_named("pandas").factorize(columns)
    assert [code.tolist() for code in codes] == [code.tolist() for code in again] == [[0, 1, 0], [2, 0]]
    assert plain(ids) == plain(ids_again) == [7, 2**50, 2**40]


def test_integers_without_a_common_dtype_are_an_error_that_names_them():
    columns = pandas_pair("int64", [[-1], [2**63]], "uint64")
    with pytest.raises(OverflowError, match="from -1 to 9223372036854775808"):
        family_named("pandas").factorize(columns)


def test_categories_of_another_kind_are_an_error():
    with pytest.raises(TypeError, match="integer and string"):
        family_named("pandas").factorize(pandas_pair(category([3, 1, 7, 9]), [[3], ["a"]], category(["a"])))
    with pytest.raises(TypeError, match="integer and string"):
        family_named("pandas").factorize(pandas_pair(category([3, 1, 7]), [[3], ["a"]], "str"))


def test_lists_as_ids_are_an_error_that_says_what_to_do():
    with pytest.raises(TypeError, match="make them strings"):
        family_named("arrow").factorize([pa.chunked_array([[[1], [2]]])])


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_edges_factorize_within_forty_bytes_each(dtype):
    edges = 2_700_000
    columns = [pd.Series(np.random.default_rng(seed).integers(0, 300_000, edges, dtype)) for seed in (1, 2)]
    tracemalloc.start()
    try:
        family_named("pandas").factorize(columns)
        assert tracemalloc.get_traced_memory()[1] < 40 * edges
    finally:
        tracemalloc.stop()


@pytest.mark.one_each
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ids", [[7, 5, -2], ["seven", "five", "ü"]], ids=["integers", "strings"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_millions_of_positions_are_taken(name, ids, dtype):
    library = family_named(name)
    positions = np.random.default_rng(0).integers(0, 3, 2_000_000).astype(dtype)
    taken = library.take(column(name, ids), library.xp().asarray(positions))
    assert len(taken) == len(positions)
    codes, labels = library.labels(taken)
    assert sorted(labels, key=str) == sorted(ids, key=str)
    assert (np.array([ids.index(label) for label in labels])[host(codes)] == positions).all()


@pytest.mark.parametrize("dtype", [pa.string(), pa.binary()])
def test_text_beyond_the_offsets_of_a_chunk_is_taken_in_chunks(dtype, monkeypatch):
    monkeypatch.setattr(columnar, "MAX_DISTINCT", 10)
    taken = family_named("arrow").take(pa.chunked_array([pa.array(["abcde", "x"], dtype)]), np.array([0, 1, 0, 0, 1]))
    assert [chunk.cast(pa.string()).to_pylist() for chunk in taken.chunks] == [["abcde", "x"], ["abcde"] * 2, ["x"]]
    assert taken.type == dtype


@pytest.mark.parametrize(("name", "place"), [(name, i) for name, cases in NULLS.items() for i in range(len(cases))])
def test_nulls_and_nan_are_counted_alike(name, place):
    values, kind, nulls = NULLS[name][place]
    assert family_named(name).kind(values) == kind
    assert family_named(name).null_count(values) == nulls


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("values", [["b", None, "a", "b"], [2, 1, 1], [True, None, False], [1.5, None, 2.5]])
def test_labels_are_python_values_and_null_is_minus_one(name, values):
    codes, labels = family_named(name).labels(column(name, values))
    assert codes.dtype == np.int32
    assert [labels[code] if code >= 0 else None for code in host(codes).tolist()] == values
    assert all(type(label) in (str, int, bool, float) for label in labels)
    assert len(labels) == len(set(values) - {None})


@pytest.mark.parametrize("dtype", [object, "str", "string[python]", "string[pyarrow]"])
@pytest.mark.parametrize("values", [["a\0b", "a\0c", "a"], ["a\0b", None, "a\0c"], ["a\0b", "a\0c", None, "a\0b"]])
def test_labels_that_differ_after_a_nul_are_different(dtype, values):
    codes, labels = family_named("pandas").labels(pd.Series(values, dtype=dtype))
    assert [labels[code] if code >= 0 else None for code in codes.tolist()] == values
    assert len(labels) == len(set(values) - {None})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("pandas", pd.Series(["b", None, "b"], dtype=category(["a", "b"]))),
        ("arrow", pa.chunked_array([pa.array(["b", None]).dictionary_encode(), pa.array(["b"]).dictionary_encode()])),
    ],
)
def test_labels_of_categoricals_are_those_that_occur(name, values):
    codes, labels = family_named(name).labels(values)
    assert codes.tolist() == [0, -1, 0]
    assert labels == ["b"]


def test_nan_is_no_label():
    values = pa.chunked_array([[float("nan"), 2.0], [None, float("nan"), 1.0, 2.0]])
    codes, labels = family_named("arrow").labels(values)
    assert labels == [2.0, 1.0]
    assert codes.tolist() == [-1, 0, -1, -1, 1, 0]
    assert family_named("arrow").labels(pa.chunked_array([], pa.string()))[1] == []


def test_python_objects_become_a_column_of_their_own_type_or_of_objects():
    library = family_named("pandas")
    assert library.objects([3, 1]).dtype == "int64"
    assert library.objects(["a", "b"]).dtype == "str"
    assert library.objects([]).dtype == object
    for values in ([(1, 2), (3, 4)], [1, 2.5], [True, 1], [1, "a"], [2**80, 1]):
        assert library.objects(values).tolist() == values
        assert library.objects(values).dtype == object
