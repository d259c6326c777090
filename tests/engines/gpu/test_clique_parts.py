"""Parts of a count of cliques: any ranges of them add up to the whole, and each has about its share of the items."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from targets import one_lane
from tiers import examples, is_thorough, thorough

from cusubmatch import Graph
from cusubmatch.engines.gpu.cliques.cliques import Cliques, Limits
from cusubmatch.engines.gpu.cliques.interleaved import PARTS, dealt, interleaved, stretch
from cusubmatch.engines.gpu.cliques.orientation import orient
from cusubmatch.engines.gpu.cliques.triangles import Triangles
from cusubmatch.engines.runs import TaskRange
from cusubmatch.generators import rmat

TINY = {"processors": 1, "threads": 1}


def ranges(parts):
    return [TaskRange(*ends) for ends in pairwise(sorted({0, *parts, PARTS}))]


@given(items=st.integers(0, 300), cuts=st.lists(st.integers(0, PARTS), max_size=6), piece=st.floats(0.01, 2))
def test_each_item_is_dealt_out_once(items, cuts, piece):
    arrays = interleaved(np, (np.arange(items), -np.arange(items)), 1.0)
    found = [arrays.arrays[0][start:stop] for parts in ranges(cuts) for start, stop, _ in arrays.pieces(parts, piece)]
    assert sorted(np.concatenate([np.zeros(0, int), *found]).tolist()) == list(range(items))
    assert sorted(np.concatenate([dealt(np, items, parts) for parts in ranges(cuts)]).tolist()) == list(range(items))
    assert sum(end - begin for begin, end in (stretch(items, parts) for parts in ranges(cuts))) == items


def test_all_parts_have_as_many_items_and_the_most_work_comes_first():
    arrays = interleaved(np, (np.arange(10 * PARTS),), 1.0)
    pieces = [arrays.arrays[0][start:stop] for start, stop, _ in arrays.pieces(TaskRange(0, PARTS), 1e-9)]
    assert {len(piece) for piece in pieces} == {10}
    assert [piece[0] for piece in pieces] == list(range(PARTS))
    assert all((np.diff(piece) > 0).all() for piece in pieces)


@pytest.fixture(scope="module")
def counters():
    """Counters whose classes all have vertices: words, warps, blocks and matrices."""
    graph = Graph.from_edgelist(rmat(*((9, 10) if is_thorough() else (6, 6)), seed=1))
    oriented = orient(np, graph.offsets, graph.targets, None)
    limits = Limits(word=4, warp=7, block=12)
    cliques = {k: Cliques(one_lane(), np, oriented, k, **TINY, limits=limits) for k in (4, 5)}
    return {3: Triangles(one_lane(), np, oriented, **TINY, window=64, long=4)} | cliques


@examples(30)
@given(cuts=st.lists(st.integers(0, PARTS), max_size=5), piece_s=st.sampled_from([1e-9, 1e-5, 1.0]))
@pytest.mark.parametrize("k", [3, *thorough(4, 5)])
def test_any_parts_add_up_to_the_count(counters, k, cuts, piece_s):
    whole = counters[k].count()
    heard = []
    parts = [
        counters[k].count(lambda *said: heard.append(said), piece_s, parts=TaskRange(*one)) for one in ranges(cuts)
    ]
    assert sum(parts) == whole > 0
    assert counters[k].count() == whole
    assert all(0 <= done <= 1 for done, _ in heard)


def test_what_is_dealt_out_on_a_device_is_finished_before_it_is_kept():
    waited = []
    stream = SimpleNamespace(synchronize=lambda: waited.append("for all"))
    cuda = SimpleNamespace(get_current_stream=lambda: stream)
    device = SimpleNamespace(arange=np.arange, concatenate=np.concatenate, cuda=cuda)
    items = np.arange(3 * PARTS)
    assert (interleaved(device, (items,), 1.0).arrays[0] == interleaved(np, (items,), 1.0).arrays[0]).all()
    assert waited == ["for all"]
