"""Conditions of a row walk: the compiled interpreter says what the one on arrays says, and walks keep what they ask."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from program_strategies import conditioned, fulfils, programs
from row_cases import RowTable, all_matches
from row_strategies import masks_of, plans, row_patterns, tables, with_column_windows, written
from test_row_walk import SMALL
from tiers import examples

from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.engines.prepared import PreparedRows
from cusubmatch.pattern.elements import Element
from cusubmatch.plan.conditions.evaluate import holds
from cusubmatch.plan.rows.row_plan import RowCondition, RowEdge, RowPattern, RowPlan, RowStep
from cusubmatch.plan.rows.row_planner import plan_rows
from cusubmatch.plan.rows.row_statistics import RowStatistics


@examples(300)
@given(data=st.data())
def test_a_program_is_true_of_one_row_where_it_is_true_on_arrays(data):
    program = data.draw(programs((Element("vertex", 0), Element("edge", 0)), (2, 3)))
    table = RowTable(2, [0, 1, 0], [1, 0, 1], None, [True] * 3)
    condition = RowCondition((0,), (0,), program)
    pattern = RowPattern(2, (RowEdge(0, 1),), ((0,),), conditions=(condition,))
    plan = RowPlan(pattern, (RowStep("rows", (0,), 0, (0, 1)),), "rows")
    found = written(CpuEngine().walk_rows(plan, PreparedRows(table.relations, [None] * 2)))
    true = holds(program, np, (np.array(table.source), np.arange(3)), 3)
    assert sorted(rows[0] for _, rows in found) == np.flatnonzero(true).tolist()


@examples(100)
@given(data=st.data())
def test_walks_keep_what_conditions_across_elements_ask_in_any_order_of_steps(data):
    table = data.draw(tables())
    plain = data.draw(row_patterns(table.times is not None))
    pattern = data.draw(conditioned(plain, table))
    expected = Counter(all_matches(pattern, table, [None] * pattern.n_vertices, fulfils))
    plan_rows(pattern, RowStatistics(table.relations), count=True)  # samples the conditions
    prepared, engine = PreparedRows(table.relations, [None] * pattern.n_vertices), CpuEngine(Tunables(**SMALL))
    assert written(engine.walk_rows(data.draw(plans(pattern, count=False)), prepared)) == expected
    assert engine.walk_rows(data.draw(plans(pattern, count=True)), prepared).count() == expected.total()


@examples(200)
@given(data=st.data())
def test_windows_on_a_column_keep_what_they_bound_in_any_order_of_steps(data):
    table = data.draw(tables())
    plain = data.draw(row_patterns(table.times is not None))
    assume(len(plain.bound_edges) > 1)
    pattern, values = data.draw(with_column_windows(plain, table))

    def fulfilled(condition, _, row_of):
        a, b, margin = condition.program
        return values[row_of[b]] >= values[row_of[a]] + margin

    masks = masks_of(data, pattern, table.n)
    expected = Counter(all_matches(pattern, table, masks, fulfilled))
    prepared, engine = PreparedRows(table.relations, masks), CpuEngine(Tunables(**SMALL))
    assert written(engine.walk_rows(data.draw(plans(pattern.by_windows(), count=False)), prepared)) == expected
    counting = data.draw(plans(pattern.by_windows(), count=True))
    assert engine.walk_rows(counting, prepared).count() == expected.total()
    chosen = plan_rows(pattern.by_windows(), RowStatistics(table.relations), count=False)
    assert engine.walk_rows(chosen, prepared).count() == expected.total()
