"""Walking rows of the edge table: every order of steps finds what trying all rows finds."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from row_cases import RowTable, all_matches, pattern_of
from row_strategies import masks_of, plans, row_patterns, tables, written
from tiers import examples

from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.engines.cpu.search.run_progress import RunProgress
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.engines.prepared import PreparedRows
from cusubmatch.engines.runs import RunOptions, TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.plan.rows.row_planner import plan_rows
from cusubmatch.plan.rows.row_statistics import RowStatistics

SMALL = {"work_units": 50, "block_rows": 3, "first_tasks": 3, "alone_s": 0.0, "threads": 2}
RING = "(a)-[p]->(b)-[q]->(c)-[r]->(a) WHERE p.time < q.time AND q.time < r.time AND r.time - p.time <= $D"


@examples(300)
@given(data=st.data())
def test_any_order_of_steps_finds_what_trying_all_rows_finds(data):
    table = data.draw(tables())
    pattern = data.draw(row_patterns(table.times is not None))
    masks = masks_of(data, pattern, table.n)
    expected = Counter(all_matches(pattern, table, masks))
    prepared = PreparedRows(table.relations, masks)
    kept = data.draw(st.sampled_from((1, 2, 1 << 20)))
    engine = CpuEngine(Tunables(**SMALL, max_kept_paths=kept))
    plan = data.draw(plans(pattern, count=False))
    assert written(engine.walk_rows(plan, prepared)) == expected
    assert engine.walk_rows(plan, prepared).count() == expected.total()
    assert engine.walk_rows(data.draw(plans(pattern, count=True)), prepared).count() == expected.total()


@examples(60)
@given(data=st.data())
def test_the_planner_binds_every_edge_and_its_plan_finds_the_same(data):
    table = data.draw(tables())
    pattern = data.draw(row_patterns(table.times is not None))
    expected = Counter(all_matches(pattern, table, [None] * pattern.n_vertices))
    prepared, statistics = PreparedRows(table.relations, [None] * pattern.n_vertices), RowStatistics(table.relations)
    for count in (False, True):
        plan = plan_rows(pattern, statistics, count)
        assert sorted(e for step in plan.steps for e in step.edges) == list(range(len(pattern.edges)))
        assert CpuEngine().walk_rows(plan, prepared).count() == expected.total()


@examples(30)
@given(data=st.data())
def test_counts_and_rows_of_ranges_of_tasks_add_up(data):
    table = data.draw(tables())
    pattern = data.draw(row_patterns(table.times is not None))
    prepared, engine = PreparedRows(table.relations, [None] * pattern.n_vertices), CpuEngine(Tunables(**SMALL))
    plan, counting = data.draw(plans(pattern, count=False)), data.draw(plans(pattern, count=True))
    for one in (counting, plan):
        tasks = engine.number_of_row_tasks(one, prepared)
        cuts = sorted([0, tasks, *data.draw(st.lists(st.integers(0, tasks), max_size=2))])
        ranges = [TaskRange(*ends) for ends in pairwise(cuts)]
        totals = [engine.walk_rows(one, prepared, tasks=part).total() for part in ranges]
        assert sum(totals) == engine.walk_rows(one, prepared).count()
    parts = [written(engine.walk_rows(plan, prepared, tasks=part)) for part in ranges]
    assert sum(parts, Counter()) == written(engine.walk_rows(plan, prepared))


SQUARE = "(a)-[p]->(b)-[q]->(c)-[r]->(d)-[s]->(a)"
SCATTER_GATHER = "(a)-[p]->(x)-[q]->(b), (a)-[r]->(y)-[s]->(b) WHERE p.time < q.time AND r.time < s.time"
MOTIFS = (
    RING,
    SQUARE + " WHERE p.time < q.time AND q.time < r.time AND r.time < s.time AND s.time - p.time <= $D",
    SCATTER_GATHER + " AND q.time - p.time <= $D AND s.time - p.time <= $D AND q.time - r.time <= $D AND id(x) < id(y)",
    "(a)-[p]->(x)-[q]->(b), (a)-[r]->(y)-[s]->(b)",
    "(a)-[p]->(b), (a)-[q]->(c), (a)-[r]->(d) WHERE p.time < q.time AND q.time < r.time AND r.time - p.time <= $D",
    "(a)-[p]->(b)-[q]->(c)-[r]->(d) WHERE p.time < q.time AND q.time < r.time AND r.time - p.time <= $D",
    "(a)-[p]->(b)-[q]->(a)-[r]->(b) WHERE p.time < q.time AND q.time < r.time AND r.time - p.time <= $D",
    "(a)-[p]-(b)-[q]-(c)-[r]-(a) WHERE r.time - p.time <= $D",
)


@examples(60)
@given(data=st.data())
def test_motifs_in_dense_tables_are_found_in_any_order_of_steps(data):
    n, size = data.draw(st.integers(3, 5)), data.draw(st.integers(12, 24))
    random = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
    source, target = random.integers(0, n, (2, size)).tolist()
    table = RowTable(n, source, target, random.integers(0, 8, size).tolist(), [True] * size)
    pattern = pattern_of(data.draw(st.sampled_from(MOTIFS)), data.draw(st.integers(0, 8)))
    expected = Counter(all_matches(pattern, table, [None] * pattern.n_vertices))
    prepared, engine = PreparedRows(table.relations, [None] * pattern.n_vertices), CpuEngine(Tunables(**SMALL))
    assert written(engine.walk_rows(data.draw(plans(pattern, count=False)), prepared)) == expected
    for _ in range(2):
        assert engine.walk_rows(data.draw(plans(pattern, count=True)), prepared).count() == expected.total()


def payments(n=200, rows=4000, seed=1):
    random = np.random.default_rng(seed)
    ends = (random.zipf(1.6, (2, rows)) - 1) % n
    return RowTable(n, *ends.tolist(), random.integers(0, 50_000, rows).tolist(), [True] * rows)


@pytest.fixture(scope="module")
def table():
    return payments()


def planned(table, pattern, count):
    return plan_rows(pattern, RowStatistics(table.relations), count)


def test_a_ring_is_counted_alike_with_kept_paths_and_without_and_on_several_threads(table):
    pattern = pattern_of(RING, 5_000)
    prepared = PreparedRows(table.relations, [None] * 3)
    plan = planned(table, pattern, count=True)
    assert plan.meeting is not None
    expected = CpuEngine().walk_rows(plan.without_meeting(), prepared).count()
    assert expected > 1000
    for tunables in (Tunables(), Tunables(max_kept_paths=64), Tunables(threads=4, alone_s=0.0, work_units=1000)):
        assert CpuEngine(tunables).walk_rows(plan, prepared).count() == expected


def test_blocks_are_no_longer_than_asked_for_and_enough_ends_a_run(table):
    prepared, plan = PreparedRows(table.relations, [None] * 3), planned(table, pattern_of(RING, 5_000), count=False)
    run = CpuEngine().walk_rows(plan, prepared, RunOptions(block_rows=100))
    assert max(block.rows.shape[1] for block in run.blocks()) == 100
    run = CpuEngine().walk_rows(plan, prepared, RunOptions(enough=150))
    assert sum(block.rows.shape[1] for block in run.blocks()) >= 150
    assert run.matches < CpuEngine().walk_rows(plan, prepared).count()


def test_a_run_stops_at_its_deadline_and_reports_progress(table):
    prepared, plan = PreparedRows(table.relations, [None] * 3), planned(table, pattern_of(RING, 10_000), count=False)
    with pytest.raises(DeadlinePassed):
        CpuEngine(Tunables(work_units=100)).walk_rows(plan, prepared, RunOptions(deadline=0.0)).count()
    reports = []
    engine = CpuEngine(Tunables(work_units=100, report_s=0.0))
    count = engine.walk_rows(plan, prepared, RunOptions(progress=lambda *report: reports.append(report))).count()
    fractions = [fraction for fraction, _ in reports]
    assert reports[-1] == (1.0, count)
    assert fractions == sorted(fractions)
    assert len(fractions) > 3


def test_progress_does_not_go_back_where_its_sum_does():
    reports = []
    progress = RunProgress(lambda done, _: reports.append(done), lambda: 0, report_s=-1.0)
    for weight in (0.5, -0.25, 0.5):  # the sum falls between the end of a task and its addition
        progress.finish_task(weight)
        progress.report_if_due()
    assert reports == [0.5, 0.5, 0.75]


def test_a_plan_that_counts_writes_no_rows(table):
    prepared, plan = PreparedRows(table.relations, [None] * 3), planned(table, pattern_of(RING, 5_000), count=True)
    with pytest.raises(ValueError, match="plan: expected one with leaf 'rows'"):
        CpuEngine().walk_rows(plan, prepared).blocks()
