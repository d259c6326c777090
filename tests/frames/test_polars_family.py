"""Polars alone: its columns, categoricals above all, do as those of the other libraries."""

from __future__ import annotations

import decimal

import pytest
from frame_cases import DAYS, SMALL, WIDE, WORDS, check_ids, check_no_ids, plain

from cusubmatch.frames import as_frame, family_named, family_of

pl = pytest.importorskip("polars", reason="Polars is not installed")
FAMILY = family_named("polars")


def polars_pair(dtype, values=SMALL, other=None):
    """Two Polars columns, the first in two chunks."""
    first = pl.Series(values[0], dtype=dtype)
    return [first[:2].append(first[2:]), pl.Series(values[1], dtype=other or dtype)]


POLARS = {
    **{str(t): (polars_pair(t), t, "integer") for t in (pl.Int8, pl.UInt16, pl.Int32, pl.Int64, pl.UInt64)},
    "sparse": (polars_pair(pl.Int64, WIDE), pl.Int64, "integer"),
    "Int32 with Int64": (polars_pair(pl.Int32, other=pl.Int64), pl.Int64, "integer"),
    "String": (polars_pair(pl.String, WORDS), pl.String, "string"),
    "Boolean": (polars_pair(pl.Boolean, [[True, False], [True]]), pl.Boolean, "boolean"),
    "Datetime": (polars_pair(pl.Datetime("ms", "UTC"), [DAYS, DAYS]), pl.Datetime("ms", "UTC"), "temporal"),
    "Date": (polars_pair(pl.Date, [[day.date() for day in DAYS]] * 2), pl.Date, "temporal"),
    "Binary": (polars_pair(pl.Binary, [[b"x", b"y"], [b"y"]]), pl.Binary, "other"),
    "Categorical": (polars_pair(pl.Categorical, WORDS), pl.Categorical, "categorical"),
    "Enum": (polars_pair(pl.Enum(list("zcbaü")), WORDS), pl.Enum(list("zcbaü")), "categorical"),
    "other Enum": (polars_pair(pl.Enum(list("aübx")), WORDS, pl.Enum(["ü", "c"])), pl.Categorical, "categorical"),
    "Categorical with String": (polars_pair(pl.Categorical, WORDS, pl.String), pl.String, "categorical"),
}

NULLS = [
    (pl.Series([1.0, None, float("nan")]), "float", 2),
    (pl.Series(["a", None]), "string", 1),
    (pl.Series(["a", None], dtype=pl.Categorical), "categorical", 1),
    (pl.Series([None, None]), "other", 2),
    (pl.Series([decimal.Decimal(1)]), "other", 0),
    (pl.Series([], dtype=pl.Int64), "integer", 0),
]


@pytest.mark.parametrize("case", POLARS)
def test_ids_come_back_as_they_were_and_in_their_dtype(case):
    columns, dtype, kind = POLARS[case]
    assert FAMILY.kind(columns[0]) == kind
    check_ids(FAMILY, columns, dtype)
    check_no_ids(FAMILY, columns)


@pytest.mark.parametrize(("column", "kind", "nulls"), NULLS)
def test_nulls_and_nan_are_counted_alike(column, kind, nulls):
    assert FAMILY.kind(column) == kind
    assert FAMILY.null_count(column) == nulls


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["a", "b"])])
def test_labels_of_categoricals_are_those_that_occur(dtype):
    codes, labels = FAMILY.labels(pl.Series(["b", None, "b"], dtype=dtype))
    assert codes.tolist() == [0, -1, 0]
    assert labels == ["b"]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (pl.Series([1, 5, 1], dtype=pl.Int32), pl.Series([5, 1], dtype=pl.UInt8)),
        (pl.Series(["u", "v", "u"], dtype=pl.Enum(["u", "v"])), pl.Series(["v", "u"], dtype=pl.Categorical)),
    ],
)
def test_keys_of_different_dtypes_join_by_their_values(left, right):
    result = FAMILY.join(pl.DataFrame({"a": left}), pl.DataFrame({"b": right, "n": right}), [("a", "b")])
    assert plain(result["a"]) == plain(result["n"]) == plain(left)
    assert result["a"].dtype == left.dtype


def test_wide_integers_as_ids_are_an_error_that_says_what_to_do():
    with pytest.raises(TypeError, match="cast the column"):
        FAMILY.factorize([pl.Series([1], dtype=pl.Int128)])


def test_a_lazy_frame_is_a_dataframe_when_it_is_collected():
    lazy = pl.LazyFrame({"a": [1]})
    assert family_of(lazy) is None
    assert as_frame(lazy).equals(lazy.collect())
