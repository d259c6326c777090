"""Ordered motifs in windows of time: recorded counts of an independent backtracking counter, and joins of DuckDB."""

from __future__ import annotations

import pytest
from row_cases import pattern_of
from temporal_data import temporal_counts, temporal_rows, temporal_table
from tiers import thorough

from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.engines.prepared import PreparedRows
from cusubmatch.plan.rows.row_planner import plan_rows
from cusubmatch.plan.rows.row_statistics import RowStatistics

RINGS_BY_JOINS = """
    select p.row, q.row, r.row
    from rows p join rows q on p.dst = q.src join rows r on r.src = q.dst and r.dst = p.src
    where p.time < q.time and q.time < r.time and r.time - p.time <= {delta}
      and p.src <> p.dst and q.src <> q.dst and r.src <> r.dst
"""
RING = "(a)-[p]->(b)-[q]->(c)-[r]->(a) WHERE p.time < q.time AND q.time < r.time AND r.time - p.time <= $D"


def prepared(name, pattern):
    return PreparedRows((temporal_rows(name),), [None] * pattern.n_vertices)


@pytest.mark.parametrize("name", ["CollegeMsg", *thorough("email-Eu-core-temporal", "payments-1M")])
def test_recorded_counts_of_motifs_come_out(name, data_path):
    statistics, wrong = RowStatistics((temporal_rows(name),)), []
    counts = temporal_counts(name).dropna(subset="count")
    assert len(counts) >= 14
    for row in counts.itertuples(index=False):
        pattern = pattern_of(row.pattern, row.delta)
        found = CpuEngine().walk_rows(plan_rows(pattern, statistics, count=True), prepared(name, pattern)).count()
        if found != row.count:
            wrong.append((row.name, row.delta, row.count, found))
    assert wrong == []


@pytest.mark.thorough
def test_rows_of_rings_are_those_of_joins(data_path):
    duckdb = pytest.importorskip("duckdb")
    table, delta = temporal_table("CollegeMsg"), 86_400
    rows = table.assign(row=range(len(table)))  # noqa: F841 - read by the join
    expected = duckdb.sql(RINGS_BY_JOINS.format(delta=delta)).fetchall()
    pattern = pattern_of(RING, delta)
    plan = plan_rows(pattern, RowStatistics((temporal_rows("CollegeMsg"),)), count=False)
    run = CpuEngine().walk_rows(plan, prepared("CollegeMsg", pattern))
    found = [tuple(match) for block in run.blocks() for match in block.rows.T.tolist()]
    assert len(expected) == 9_850
    assert sorted(found) == sorted(expected)
