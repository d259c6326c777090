"""Dataframes of every library: recognised, joined and filtered alike, and no library is imported before it is needed.

cuDF runs the same tests where it is installed (marker gpu).
"""

from __future__ import annotations

import subprocess
import sys
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_cases import HOST_NAMES, NAMES, column, frame, module, plain, rows
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples, thorough

from cusubmatch.frames import family_named, family_of


@pytest.mark.parametrize("name", NAMES)
def test_a_frame_is_of_the_family_that_made_it(name):
    made = frame(name, a=[1, 2], b=["x", "y"])
    library = family_of(made)
    assert library is family_named(name)
    assert library.name == name
    assert library.column_names(made) == ["a", "b"]
    assert library.length(made) == 2
    assert rows(made) == [(1, "x"), (2, "y")]


def test_what_is_no_dataframe_has_no_family():
    for other in (None, 3, "edges", [1], np.zeros((2, 2)), pd.Series([1]), pa.array([1]), object):
        assert family_of(other) is None


def test_a_dataframe_that_extends_another_counts_as_it():
    class GeoFrame(pd.DataFrame):
        pass

    assert family_of(GeoFrame()) is family_named("pandas")


def test_an_unknown_library_is_an_error_that_lists_the_known():
    with pytest.raises(ValueError, match="'dask'; there are pandas, polars, arrow, cudf"):
        family_named("dask")


@pytest.mark.parametrize(
    ("library", "unwanted"), [("polars", "pandas"), *thorough(("pandas", "polars"), ("pyarrow", "polars"))]
)
def test_no_library_is_imported_to_recognise_a_frame(library, unwanted):
    module(library)
    make = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}[library]
    script = f"""
import sys, cusubmatch.frames as frames
assert not {{"pandas", "polars", "pyarrow", "cudf", "cupy"}} & set(sys.modules)
import {library}
family = frames.family_of({library}.{make}({{"a": [1, 2], "b": [2, 3]}}))
family.frame({{"ids": family.factorize([family.column({library}.{make}({{"a": [1, 2]}}), "a")])[1]}})
assert not {{"{unwanted}", "cudf", "cupy"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, timeout=60)


def test_pandas_names_may_be_any_objects_and_its_index_says_nothing():
    library = family_named("pandas")
    source = pd.DataFrame({0: [1, 2, 3], 1: ["x", "y", "z"]}, index=[5, 5, 9])
    source.columns = pd.Index([("a", 1), 7], tupleize_cols=False)
    made = library.frame({name: library.column(source, name) for name in library.column_names(source)})
    assert library.column_names(made) == [("a", 1), 7]
    assert made.index.tolist() == [0, 1, 2]
    assert rows(library.concat([made, made])) == [(1, "x"), (2, "y"), (3, "z")] * 2
    assert rows(library.filter_equal(source, ("a", 1), [3, 1])) == [(1, "x"), (3, "z")]
    assert library.column(library.frame({"a": pd.Series(["x"], dtype=object)}), "a").dtype == object


def test_a_column_name_that_is_missing_or_twice_there_is_an_error():
    source = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(ValueError, match="2 columns named 'a'"):
        family_named("pandas").column(source, "a")
    for name in ("pandas", "arrow"):
        with pytest.raises((KeyError, ValueError), match="nowhere"):
            family_named(name).column(frame(name, a=[1]), "nowhere")


@pytest.mark.parametrize("name", NAMES)
def test_columns_are_selected_and_renamed_in_the_order_asked_for(name):
    library = family_named(name)
    chosen = library.select(frame(name, a=[1, 2], b=["x", "y"]), {"second": "b", "first": "a", "again": "b"})
    assert library.column_names(chosen) == ["second", "first", "again"]
    assert rows(chosen) == [("x", 1, "x"), ("y", 2, "y")]


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_filtered_by_the_values_of_a_column(name):
    library = family_named(name)
    edges = frame(name, kind=["PAYS", None, "OWNS", "PAYS"], row=[0, 1, 2, 3])
    for values, kept in {("PAYS",): [0, 3], ("OWNS", "PAYS"): [0, 2, 3], (): [], ("NONE",): []}.items():
        assert [row for _, row in rows(library.filter_equal(edges, "kind", values))] == kept


@pytest.mark.parametrize("name", NAMES)
def test_frames_are_put_one_after_another(name):
    library = family_named(name)
    parts = [frame(name, a=[1], b=["x"]), frame(name, a=[3, 2], b=["y", "z"])]
    assert rows(library.concat(parts)) == [(1, "x"), (3, "y"), (2, "z")]
    assert rows(library.concat(parts[:1])) == [(1, "x")]
    narrow = library.frame({"a": library.values(library.xp().asarray([4], np.int32)), "b": column(name, ["u"])})
    assert rows(library.concat([narrow, parts[0]])) == [(4, "u"), (1, "x")]


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_integers_and_of_text_become_columns(name):
    library = family_of(frame(name, a=[1]))
    numbers, words = library.xp().asarray([3, 1]), np.array(["x", "ü"])
    made = library.frame({"n": library.integers(numbers), "t": library.values(words)})
    assert rows(made) == [(3, "x"), (1, "ü")]
    assert library.kind(library.column(made, "t")) == "string"


def pairs(left, right):
    """What `join` of rows (a, b, value) on the first two columns shall give, by comparing all rows with all."""
    return [(*row, other[2]) for row, other in product(left, right) if row[:2] == other[:2]]


ROWS = st.lists(st.tuples(st.integers(-2, 3), st.sampled_from(["x", "y", "ü"]), st.integers(0, 99)), max_size=12)
SCHEMA = pa.schema({"a": pa.int64(), "b": pa.string(), "value": pa.int64()})


@pytest.mark.parametrize("name", HOST_NAMES)
@examples(150)
@given(left=ROWS, right=ROWS)
def test_a_join_gives_every_pair_of_rows_that_agree_in_the_order_of_left(name, left, right):
    library = family_named(name)
    convert = {
        "pandas": pa.Table.to_pandas,
        "polars": lambda table: module("polars").from_arrow(table),
        "arrow": lambda table: table,
    }[name]
    lists = [[dict(zip(SCHEMA.names, row, strict=True)) for row in part] for part in (left, right)]
    left_frame, right_frame = (convert(pa.Table.from_pylist(part, SCHEMA)) for part in lists)
    right_frame = library.select(right_frame, {"p": "a", "q": "b", "amount": "value"})
    result = library.join(left_frame, right_frame, [("a", "p"), ("b", "q")])
    assert library.column_names(result) == ["a", "b", "value", "amount"]
    assert rows(result) == pairs(left, right)


@pytest.mark.parametrize("name", NAMES)
def test_parallel_edges_multiply_the_rows_that_they_are_joined_to(name):
    matches = frame(name, a=[7, 2**40, 7], b=[1, 2, 9], c=["x", "y", "y"])
    edges = frame(name, a=[7, 7, 2**40, 5], target=[1, 1, 2, 9], kind=["x", "x", "y", "y"], amount=[10, 20, 30, 40])
    result = family_named(name).join(matches, edges, [("a", "a"), ("b", "target"), ("c", "kind")])
    assert rows(result) == [(7, 1, "x", 10), (7, 1, "x", 20), (2**40, 2, "y", 30)]


@pytest.mark.parametrize("name", NAMES)
def test_a_join_without_agreeing_rows_is_an_empty_frame_with_all_columns(name):
    library = family_named(name)
    result = library.join(frame(name, a=[1, 2]), frame(name, b=[3], value=["x"]), [("a", "b")])
    assert library.column_names(result) == ["a", "value"]
    assert library.length(result) == 0


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (pd.Series([1, 5, 1], dtype="int32"), pd.Series([5, 1], dtype="int64")),
        (pd.Series(["u", "v", "u"], dtype="category"), pd.Series(["v", "u"], dtype="category")),
        (pd.Series(["u", "v", "u"], dtype="category"), pd.Series(["v", "u"], dtype="str")),
        (pd.Series([(1, 2), "v", (1, 2)]), pd.Series(["v", (1, 2)])),
        (pa.chunked_array([["u", "v", "u"]]), pa.chunked_array([pa.array(["v", "u"], pa.large_string())])),
        (pa.chunked_array([pa.array(["u", "v", "u"]).dictionary_encode()]), pa.chunked_array([["v", "u"]])),
    ],
)
def test_keys_of_different_dtypes_join_by_their_values(left, right):
    library = family_named(
        {"pandas": "pandas", "polars": "polars", "pyarrow": "arrow"}[type(left).__module__.split(".")[0]]
    )
    result = library.join(library.frame({"a": left}), library.frame({"b": right, "n": right}), [("a", "b")])
    assert plain(library.column(result, "a")) == plain(library.column(result, "n")) == plain(left)
    assert type(library.column(result, "a")) is type(library.column(library.frame({"a": left}), "a"))


@pytest.mark.parametrize("name", NAMES)
def test_columns_of_one_name_on_both_sides_of_a_join_are_an_error_that_names_them(name):
    with pytest.raises(ValueError, match=r"both have the columns \['value'\]"):
        family_named(name).join(frame(name, a=[1], value=[2]), frame(name, b=[1], value=[2]), [("a", "b")])
