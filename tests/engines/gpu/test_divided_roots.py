"""Rows of the first step that are divided between two orders of steps, on an emulated device."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from row_cases import RowTable, all_matches, pattern_of
from row_strategies import masks_of, tables
from targets import emulator
from tiers import examples, thorough

from cusubmatch.engines.gpu import GpuEngine
from cusubmatch.engines.gpu.row_walk import divided_roots
from cusubmatch.engines.gpu.row_walk.device_row_plan import device_row_plans
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.tunables import Tunables
from cusubmatch.engines.prepared import PreparedRows
from cusubmatch.engines.runs import TaskRange
from cusubmatch.plan.rows.root_orders import other_order
from cusubmatch.plan.rows.row_plan import RowPlan
from cusubmatch.plan.rows.row_planner import plan_rows
from cusubmatch.plan.rows.row_statistics import RowStatistics
from cusubmatch.plan.rows.row_steps import first_steps, next_steps

ORDERED = "p.time < q.time AND q.time < r.time AND r.time - p.time <= $D"
MOTIFS = {
    "path": f"(a)-[p]->(b)-[q]->(c)-[r]->(d) WHERE {ORDERED}",
    "fan": f"(a)-[p]->(b), (a)-[q]->(c), (a)-[r]->(d) WHERE {ORDERED}",
    "scatter-gather": "(a)-[p]->(x)-[q]->(b), (a)-[r]->(y)-[s]->(b) WHERE p.time < q.time AND r.time < s.time AND "
    "q.time - p.time <= $D AND s.time - p.time <= $D AND q.time - r.time <= $D AND s.time - r.time <= $D AND "
    "id(x) < id(y)",
}


def dividing(seed=0, **changes):
    """An engine on the lane emulator that divides whatever may be divided."""
    tunables = Tunables(**({"grid": (1, 2), "slice_s": 1.0, "min_divided_tasks": 0} | changes))
    return GpuEngine(Device(emulator(seed), 2, 228 << 10, tunables=tunables))


def divisible(pattern):
    """Plans with another order that begins alike."""
    orders = [(step,) for step in first_steps(pattern) if step.kind == "rows"]
    for _ in pattern.edges[1:]:
        orders = [(*steps, step) for steps in orders for step in next_steps(pattern, steps) if step.kind != "meet"]
    return [RowPlan(pattern, steps, "count") for steps in orders if other_order(pattern, steps)]


@examples(12)
@given(data=st.data())
@pytest.mark.parametrize("motif", ["path", *thorough("fan", "scatter-gather")])
def test_divided_rows_have_all_matches_together(motif, data):
    table = data.draw(tables().filter(lambda table: table.times is not None))
    pattern = pattern_of(MOTIFS[motif], data.draw(st.integers(1, 6)))
    prepared = PreparedRows(table.relations, masks_of(data, pattern, table.n))
    expected = len(all_matches(pattern, table, prepared.vertex_masks))
    plan, engine = data.draw(st.sampled_from(divisible(pattern))), dividing(data.draw(st.integers(0, 3)))
    with mock.patch.object(divided_roots, "WORTH", 0):
        assert engine.walk_rows(plan, prepared).count() == expected
        n = engine.number_of_row_tasks(plan, prepared)
        cut = data.draw(st.integers(0, n))
        parts = (engine.walk_rows(plan, prepared, tasks=TaskRange(*r)).count() for r in ((0, cut), (cut, n)))
        assert sum(parts) == expected


@pytest.mark.thorough
@pytest.mark.parametrize("motif", ["scatter-gather", "path", "fan"])
def test_rows_are_divided_where_each_order_is_long_for_some(motif):
    """Vertices 0 and 1 have many rows in and out, at opposite sides of single rows."""
    random, many = np.random.default_rng(2), 40
    ends = random.integers(0, 12, (2, 3 * many))
    ends[0, :many], ends[1, many : 2 * many] = 0, 1
    table = RowTable(12, *ends.tolist(), random.integers(0, 400, 3 * many).tolist(), [True] * 3 * many)
    pattern = pattern_of(MOTIFS[motif], 200)
    prepared = PreparedRows(table.relations, [None] * pattern.n_vertices)
    plan = plan_rows(pattern, RowStatistics(table.relations), count=True, stepwise=True)
    engine, plain = dividing(), dividing(min_divided_tasks=1 << 60)
    with mock.patch.object(divided_roots, "WORTH", 1):
        orders = device_row_plans(engine.gpu, np, plan, prepared, None, counting=True)
    assert len(orders) == 2
    assert all(order.n_tasks for order in orders)
    with mock.patch.object(divided_roots, "WORTH", 1):
        count = engine.walk_rows(plan, prepared).count()
    assert count == plain.walk_rows(plan, prepared).count() > 0
    assert len(device_row_plans(plain.gpu, np, plan, prepared, None, counting=True)) == 1
