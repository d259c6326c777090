"""Rows of which one of each orbit is walked: the frame has all images, with every kind of id, and every limit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cusubmatch as csm
from cusubmatch.execution.collection.row_buffer import OrbitBuffer
from cusubmatch.execution.collection.row_collector import row_collector
from cusubmatch.execution.planned_call import make_query
from cusubmatch.execution.query_options import QueryOptions

SQUARE = csm.Pattern.cycle(4)


def squares_of(ids):
    """A graph whose vertices have such ids, and the rows of the embeddings of the square, by triangles of its pairs."""
    edges = np.array([(a, b) for a in range(7) for b in range(a) if (a * b) % 4 != 1])
    G = csm.Graph.from_edgelist(pd.DataFrame({"src": ids[edges[:, 0]], "dst": ids[edges[:, 1]]}))
    near = np.zeros((7, 7), bool)
    near[edges[:, 0], edges[:, 1]] = near[edges[:, 1], edges[:, 0]] = True
    grid = np.indices((7,) * 4).reshape(4, -1).T
    ring = np.logical_and.reduce([near[grid[:, i], grid[:, (i + 1) % 4]] for i in range(4)])
    apart = (grid[:, 0] != grid[:, 2]) & (grid[:, 1] != grid[:, 3])
    return G, {tuple(row) for row in ids[grid[ring & apart]].tolist()}


@pytest.mark.parametrize("at_once", [1 << 30, 0], ids=["small", "large"])
@pytest.mark.parametrize("ids", [np.arange(7) * 11 - 20, np.array(list("gfedcba"), object)], ids=["integers", "text"])
def test_a_frame_has_all_images_and_a_limit_is_met_exactly(ids, at_once, monkeypatch):
    monkeypatch.setattr("cusubmatch.execution.query.FRAME_AT_ONCE_BYTES", at_once)
    G, expected = squares_of(ids)
    query = make_query(G, SQUARE, QueryOptions(unique=False, engine="cpu"))
    assert query.plan.factor > 1
    assert isinstance(row_collector(query, None, None), OrbitBuffer)
    found = csm.subgraph_match(G, SQUARE, unique=False, engine="cpu")
    assert len(found) == len(expected)
    assert set(found.itertuples(index=False, name=None)) == expected
    for limit in (0, 1, 7, 8, 9, len(expected) - 1, len(expected), len(expected) + 5):
        some = csm.subgraph_match(G, SQUARE, unique=False, engine="cpu", limit=limit)
        rows = set(some.itertuples(index=False, name=None))
        assert len(some) == len(rows) == min(limit, len(expected))
        assert rows <= expected
        assert some.dtypes.tolist() == found.dtypes.tolist()
