"""Walking rows on an emulated device: what trying all rows finds, from any order of steps."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_strategies import conditioned, fulfils
from row_cases import RowTable, all_matches, pattern_of
from row_strategies import masks_of, plans, row_patterns, tables, written
from targets import emulator, one_lane
from tiers import examples, is_thorough, thorough

from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.engines.gpu import GpuEngine
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.tunables import Tunables
from cusubmatch.engines.prepared import PreparedRows
from cusubmatch.engines.runs import RunOptions, TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.plan.rows.row_planner import plan_rows
from cusubmatch.plan.rows.row_statistics import RowStatistics

SHARED = 228 << 10
ORDERED = "p.time < q.time AND q.time < r.time AND r.time - p.time <= $D"
MOTIFS = {
    "ring": f"(a)-[p]->(b)-[q]->(c)-[r]->(a) WHERE {ORDERED}",
    "path": f"(a)-[p]->(b)-[q]->(c)-[r]->(d) WHERE {ORDERED}",
    "fan": f"(a)-[p]->(b), (a)-[q]->(c), (a)-[r]->(d) WHERE {ORDERED}",
}


def lanes(seed=0, **changes):
    """An engine on the lane emulator."""
    tunables = Tunables(**({"grid": (1, 2), "slice_s": 1.0} | changes))
    return GpuEngine(Device(emulator(seed), 2, SHARED, tunables=tunables))


def native(**changes):
    """An engine whose warps have one lane, compiled for the CPU."""
    return GpuEngine(Device(one_lane(), 1, SHARED, tunables=Tunables(grid=(1, 1), **changes)))


def compare(data, engine, options=None):
    """Hold a random plan's rows and counts against all combinations of rows."""
    options = options or RunOptions()
    table = data.draw(tables())
    pattern = data.draw(row_patterns(table.times is not None))
    prepared = PreparedRows(table.relations, masks_of(data, pattern, table.n))
    expected = Counter(all_matches(pattern, table, prepared.vertex_masks))
    plan = data.draw(plans(pattern, count=False))
    assert written(engine.walk_rows(plan, prepared, options)) == expected
    assert engine.walk_rows(plan, prepared, options).count() == expected.total()
    assert engine.walk_rows(data.draw(plans(pattern, count=True)), prepared).count() == expected.total()


@pytest.mark.thorough
@examples(300)
@given(data=st.data())
def test_one_lane_finds_what_trying_all_rows_finds(data):
    compare(data, native(), RunOptions(block_rows=data.draw(st.sampled_from((1, 5, None)))))


@examples(25)
@given(data=st.data())
def test_lanes_find_what_trying_all_rows_finds(data):
    compare(data, lanes(data.draw(st.integers(0, 9))), RunOptions(block_rows=data.draw(st.sampled_from((1, None)))))


@examples(30)
@given(data=st.data())
def test_lanes_keep_what_conditions_ask(data):
    table = data.draw(tables())
    pattern = data.draw(conditioned(data.draw(row_patterns(table.times is not None)), table))
    expected = Counter(all_matches(pattern, table, [None] * pattern.n_vertices, fulfils))
    prepared, engine = PreparedRows(table.relations, [None] * pattern.n_vertices), lanes()
    assert written(engine.walk_rows(data.draw(plans(pattern, count=False)), prepared)) == expected
    assert engine.walk_rows(data.draw(plans(pattern, count=True)), prepared).count() == expected.total()


@pytest.mark.thorough
@examples(10)
@given(data=st.data())
def test_launches_that_pause_all_the_time_find_the_same(data):
    seed, ticks = data.draw(st.integers(0, 9)), data.draw(st.integers(1, 5))
    compare(data, lanes(seed, slice_s=ticks * 1e-9, steps_between_polls=1))


@examples(10)
@given(data=st.data())
def test_ranges_of_tasks_add_up(data):
    table, engine = data.draw(tables()), lanes()
    pattern = data.draw(row_patterns(table.times is not None))
    prepared = PreparedRows(table.relations, [None] * pattern.n_vertices)
    plan = data.draw(plans(pattern, count=False))
    n = engine.number_of_row_tasks(plan, prepared)
    cut = data.draw(st.integers(0, n))
    parts = [written(engine.walk_rows(plan, prepared, tasks=TaskRange(*r))) for r in ((0, cut), (cut, n))]
    assert parts[0] + parts[1] == written(engine.walk_rows(plan, prepared))


@pytest.fixture(scope="module")
def payments():
    random, rows = np.random.default_rng(1), 300 if is_thorough() else 200
    ends = (random.zipf(1.6, (2, rows)) - 1) % 40
    return RowTable(40, *ends.tolist(), random.integers(0, 5_000, rows).tolist(), [True] * rows)


@pytest.mark.parametrize("motif", ["ring", *thorough("path", "fan")])
def test_counts_are_those_of_the_cpu_engine(payments, motif):
    pattern = pattern_of(MOTIFS[motif], 500)
    prepared, statistics = (
        PreparedRows(payments.relations, [None] * pattern.n_vertices),
        RowStatistics(payments.relations),
    )
    expected = CpuEngine().walk_rows(plan_rows(pattern, statistics, count=True), prepared).count()
    assert expected > 0
    plan = plan_rows(pattern, statistics, count=True, stepwise=True)
    assert plan.leaf == "count"
    assert lanes().walk_rows(plan, prepared).count() == expected


def test_blocks_are_no_longer_than_asked_for_and_enough_ends_a_run(payments):
    pattern = pattern_of(MOTIFS["path"], 500)
    prepared, statistics = PreparedRows(payments.relations, [None] * 4), RowStatistics(payments.relations)
    plan = plan_rows(pattern, statistics, count=False, stepwise=True)
    whole = lanes().walk_rows(plan, prepared).count()
    run = lanes().walk_rows(plan, prepared, RunOptions(block_rows=64))
    assert max(block.rows.shape[1] for block in run.blocks()) <= 64
    run = lanes().walk_rows(plan, prepared, RunOptions(enough=40))
    assert 40 <= sum(block.rows.shape[1] for block in run.blocks()) < whole


def test_a_run_stops_at_its_deadline_and_reports_progress(payments):
    pattern = pattern_of(MOTIFS["path"], 500)
    prepared, statistics = PreparedRows(payments.relations, [None] * 4), RowStatistics(payments.relations)
    plan, reports = plan_rows(pattern, statistics, count=True, stepwise=True), []
    hasty = lanes(slice_s=2e-9, steps_between_polls=1)
    with pytest.raises(DeadlinePassed):
        hasty.walk_rows(plan, prepared, RunOptions(deadline=0.0)).count()
    count = hasty.walk_rows(plan, prepared, RunOptions(progress=lambda *report: reports.append(report))).count()
    assert reports[-1] == (1.0, count)
    assert len(reports) > 2
    assert [fraction for fraction, _ in reports] == sorted(fraction for fraction, _ in reports)
    with pytest.raises(ValueError, match="plan: expected one with leaf 'rows'"):
        hasty.walk_rows(plan, prepared).blocks()


def test_times_that_32_bits_cannot_hold_stay_exact():
    times = [0, 1 << 40, (1 << 40) + 5, (1 << 40) + 9]
    table = RowTable(4, [0, 0, 1, 2], [1, 1, 2, 0], times, [True] * 4)
    pattern = pattern_of(MOTIFS["ring"], 9)
    prepared = PreparedRows(table.relations, [None] * 3)
    plan = plan_rows(pattern, RowStatistics(table.relations), count=False, stepwise=True)
    assert written(lanes().walk_rows(plan, prepared)) == Counter(all_matches(pattern, table, [None] * 3))
