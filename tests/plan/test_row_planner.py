"""Row plans: the order in which edges are bound, and how a count ends."""

from __future__ import annotations

import numpy as np
import pytest
from row_cases import pattern_of, relations_of

from cusubmatch.graph.masked_rows import masked_rows
from cusubmatch.plan.conditions.bounds import NO_BOUND
from cusubmatch.plan.rows.root_orders import other_order
from cusubmatch.plan.rows.row_planner import plan_rows
from cusubmatch.plan.rows.row_statistics import RowStatistics

BEFORE = "p.time < q.time AND q.time < r.time AND r.time - p.time <= $D"
PATH = "(a)-[p]->(b)-[q]->(c)-[r]->(d) WHERE " + BEFORE
FAN_OUT = "(a)-[p]->(b), (a)-[q]->(c), (a)-[r]->(d) WHERE " + BEFORE
RING = "(a)-[p]->(b)-[q]->(c)-[r]->(a) WHERE " + BEFORE


@pytest.fixture(scope="module")
def relations():
    random = np.random.default_rng(2)
    source, target = (random.zipf(1.7, (2, 20_000)) - 1) % 500
    return relations_of(500, source, target, random.integers(0, 100_000, 20_000))


@pytest.fixture(scope="module")
def statistics(relations):
    return RowStatistics(relations)


def test_a_path_is_begun_in_the_middle_and_its_ends_are_counted_as_pairs(statistics):
    plan = plan_rows(pattern_of(PATH, 5_000), statistics, count=True)
    assert plan.leaf == "pairs"
    assert plan.steps[0].edges == (1,)


def test_a_fan_out_ends_with_pairs(statistics):
    assert plan_rows(pattern_of(FAN_OUT, 5_000), statistics, count=True).leaf == "pairs"


def test_what_closes_a_ring_is_looked_up_among_kept_rows_and_rows_come_out_without_counting(statistics):
    for count in (True, False):
        plan = plan_rows(pattern_of(RING, 5_000), statistics, count)
        assert plan.meeting is not None
        assert plan.counting == count
        assert plan.without_meeting().meeting is None


@pytest.mark.parametrize("text", [PATH, FAN_OUT, RING])
def test_a_stepwise_plan_keeps_no_paths_and_counts_no_pairs(statistics, text):
    plan = plan_rows(pattern_of(text, 5_000), statistics, count=True, stepwise=True)
    assert plan.meeting is None
    assert plan.leaf == "count"
    assert plan_rows(pattern_of(text, 5_000), statistics, count=False, stepwise=True).leaf == "rows"


@pytest.mark.parametrize("text", [PATH, FAN_OUT])
def test_a_stepwise_count_begins_with_the_middle_edge_and_its_last_steps_may_change_places(statistics, text):
    plan = plan_rows(pattern_of(text, 5_000), statistics, count=True, stepwise=True)
    root, one, other = plan.steps
    assert root.edges == (1,)
    assert other_order(plan.pattern, plan.steps) == (root, other, one)
    assert other_order(pattern_of(RING, 5_000), plan.steps[:2]) is None


def test_the_share_of_a_window_grows_with_it_up_to_all(statistics):
    shares = [statistics.share_in_window(0, 0, 0, width) for width in (10, 1_000, 50_000, NO_BOUND - 1)]
    assert shares == sorted(shares)
    assert shares[0] < 0.05
    assert statistics.share_in_window(0, 0, -NO_BOUND, NO_BOUND) == 1.0


def test_a_vertex_reached_by_a_row_has_more_rows_than_the_mean(statistics):
    assert statistics.mean_degree(0, 0, [(0, 0)]) > 2 * statistics.mean_degree(0, 0, [])


def test_masked_rows_are_those_of_a_table_without_the_others(relations):
    mask = np.arange(20_000) % 3 == 0
    for directed, rows in zip((True, False), relations, strict=True):
        kept = masked_rows(rows, mask)
        table = np.flatnonzero(mask)
        assert set(kept.by_source.rows.tolist()) <= set(table.tolist())
        assert len(kept.by_source.rows) == mask[rows.by_source.rows].sum()
        assert len(kept.arc_targets) == len(kept.by_arc.offsets) - 1
        assert (np.diff(kept.by_arc.offsets) > 0).all()
        assert kept.arc_offsets[-1] == len(kept.arc_targets)
        if not directed:
            assert (kept.by_source.offsets == kept.by_target.offsets).all()
