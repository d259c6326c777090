"""Walking rows on an emulated device: what trying all rows finds, from any order of steps."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from row_cases import all_matches
from row_strategies import masks_of, plans, row_patterns, tables, written
from targets import emulator, one_lane
from tiers import examples

from cusubmatch.engines.base import PreparedRows, RunOptions
from cusubmatch.engines.gpu import GpuEngine
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.tunables import Tunables

SHARED = 228 << 10


def lanes(seed=0, **changes):
    """An engine on the lane emulator."""
    return GpuEngine(Device(emulator(seed), 2, SHARED, tunables=Tunables(grid=(1, 2), slice_s=1.0, **changes)))


def native(**changes):
    """An engine whose warps have one lane, compiled for the CPU."""
    return GpuEngine(Device(one_lane(), 1, SHARED, tunables=Tunables(grid=(1, 1), **changes)))


def compare(data, engine, options):
    table = data.draw(tables())
    pattern = data.draw(row_patterns(table.times is not None))
    prepared = PreparedRows(table.relations, masks_of(data, pattern, table.n))
    expected = Counter(all_matches(pattern, table, prepared.vertex_masks))
    plan = data.draw(plans(pattern, count=False))
    assert written(engine.walk_rows(plan, prepared, options)) == expected
    assert engine.walk_rows(plan, prepared, options).count() == expected.total()
    assert engine.walk_rows(data.draw(plans(pattern, count=True)), prepared).count() == expected.total()


@examples(100)
@given(data=st.data())
def test_one_lane_finds_what_trying_all_rows_finds(data):
    compare(data, native(), RunOptions(block_rows=data.draw(st.sampled_from((1, 5, None)))))


@examples(25)
@given(data=st.data())
def test_lanes_find_what_trying_all_rows_finds(data):
    compare(data, lanes(data.draw(st.integers(0, 9))), RunOptions(block_rows=data.draw(st.sampled_from((1, None)))))
