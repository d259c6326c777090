"""The cuDF family where there is no GPU: a stand-in made of pandas and NumPy shows that it is found and what it calls.

This says nothing of what cuDF answers: with cuDF the tests of the other families run on it (marker gpu).
"""

from __future__ import annotations

import sys
import types

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_cases import plain, rows

from cusubmatch.frames import family_named, family_of


class StandInIndex:
    """What `factorize` of cuDF gives beside the codes."""

    def __init__(self, ids):
        self.ids, self.values = ids, np.asarray(ids)

    def to_arrow(self):
        return pa.array(self.ids)


class StandInSeries(pd.Series):
    """`cudf.Series` as far as pandas has not the same: the number of nulls, an index out of `factorize`."""

    _constructor = property(lambda self: StandInSeries)
    null_count = property(lambda self: int(self.isna().sum()))

    def __init__(self, data=None, *args, **kwargs):
        super().__init__(data.ids if isinstance(data, StandInIndex) else data, *args, **kwargs)

    def factorize(self):
        codes, ids = pd.factorize(self.array)
        return codes, StandInIndex(ids)


class StandInFrame(pd.DataFrame):
    __module__, __qualname__ = "cudf.core.dataframe", "DataFrame"
    _constructor = property(lambda self: StandInFrame)
    _constructor_sliced = property(lambda self: StandInSeries)

    def to_arrow(self, preserve_index):
        return pa.Table.from_pandas(self, preserve_index=preserve_index)


class Proxy:
    """A dataframe of `cudf.pandas`, which holds a cuDF dataframe or cannot."""

    def __init__(self, held):
        self.held = held

    def as_gpu_object(self):
        if self.held is None:
            raise pa.ArrowInvalid("mixed objects")
        return self.held


@pytest.fixture
def standing_in_for_cudf(monkeypatch):
    """The modules cudf, cudf.pandas and cupy, made of pandas and NumPy."""
    cudf = types.ModuleType("cudf")
    cudf.Series, cudf.DataFrame, cudf.concat = StandInSeries, StandInFrame, pd.concat
    cudf.Index, cudf.CategoricalDtype = pd.Index, pd.CategoricalDtype
    proxies = types.ModuleType("cudf.pandas")
    proxies.is_proxy_object = lambda frame: isinstance(frame, Proxy)
    for name, module in {"cudf": cudf, "cudf.pandas": proxies, "cupy": np}.items():
        monkeypatch.setitem(sys.modules, name, module)
    return cudf


@pytest.mark.usefixtures("standing_in_for_cudf")
@pytest.mark.parametrize("proxied", [False, True])
def test_the_cudf_family_makes_calls_that_pandas_understands(proxied):
    source = StandInFrame(
        {
            "small": [3, -1, 3],
            "sparse": [2**60, 1, 2**60],
            "word": ["u", "v", "u"],
            "kind": pd.Series(["A", None, "B"], dtype="category"),
        }
    ).set_axis([4, 4, 9])
    wrapped = Proxy(source) if proxied else source
    library = family_of(wrapped)
    assert library is family_named("cudf")
    assert library.column_names(wrapped) == ["small", "sparse", "word", "kind"]
    assert [library.kind(library.column(wrapped, name)) for name in source] == ["integer"] * 2 + [
        "string",
        "categorical",
    ]
    assert [library.null_count(library.column(wrapped, name)) for name in source] == [0, 0, 0, 1]
    for name in ("small", "sparse", "word"):
        part = library.column(wrapped, name)
        (left, right), ids = library.factorize([part, part[1:]])
        assert plain(library.take(ids, left)) == plain(part)
        assert plain(library.take(ids, right)) == plain(part)[1:]
        assert ids.dtype == part.dtype
    codes, labels = library.labels(library.column(wrapped, "kind"))
    assert (codes.tolist(), labels) == ([0, -1, 1], ["A", "B"])
    kinds = library.column(wrapped, "kind").dropna()
    assert plain(library.factorize([kinds, kinds])[1]) == ["A", "B"]
    chosen = library.select(wrapped, {"n": "small", "w": "word"})
    assert type(chosen) is StandInFrame
    assert library.to_arrow(library.concat([wrapped, wrapped])).num_rows == 6
    result = library.join(chosen, library.select(wrapped, {"m": "small", "s": "sparse"}), [("n", "m")])
    assert rows(result) == [(3, "u", 2**60)] * 2 + [(-1, "v", 1)] + [(3, "u", 2**60)] * 2


@pytest.mark.usefixtures("standing_in_for_cudf")
def test_a_cudf_pandas_dataframe_that_cudf_cannot_hold_is_an_error_that_says_why():
    with pytest.raises(TypeError, match=r"cuDF cannot hold .* Proxy: mixed objects"):
        family_of(Proxy(None))
    assert family_of(Proxy(StandInSeries([1]))) is None
    assert family_of(pd.DataFrame({"a": [1]})) is family_named("pandas")
