"""Windows on a column: which comparisons are recognised, and that they keep what the programs are true of."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cusubmatch as csm
from cusubmatch import Graph, Pattern
from cusubmatch.plan.conditions.across import across_conditions
from cusubmatch.plan.conditions.environment import Environment
from cusubmatch.plan.conditions.evaluate import holds
from cusubmatch.plan.conditions.split import split_conditions

LARGE = 2**62 - 1
DECIMAL = pd.ArrowDtype(pa.decimal128(10, 2))
COLUMNS = {
    "whole": pd.array([3, 1, None, 5, 10, 9, LARGE, -LARGE - 9], "Int64"),
    "near": pd.array([3, 1, None, 5, 10, 9, 7, -4], "Int64"),
    "real": [0.3, 0.1, np.nan, 1e308, 0.1 * 3, -0.0, 0.0, -5.5],
    "price": pd.array([Decimal(x) / 100 for x in (90, 100, 81, 99, 111, 1, 0, -90)], DECIMAL),
    "day": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-02-01", None] * 2),
    "word": pd.array(["a", "b", None, "b", "c", "", "a", "zz"], "str"),
    "endless": [np.inf, 1.0, 2.0, -np.inf, 0.0, 1.0, 2.0, 3.0],
}
PATTERN = "(a)-[p]->(b)-[q]->(c)-[r]->(a) WHERE "


def across(where):
    table = pd.DataFrame({"src": [0, 1, 2, 0, 1, 2, 0, 1], "dst": [1, 2, 0, 1, 2, 0, 2, 0], "t": range(8), **COLUMNS})
    graph = Graph.from_edgelist(table, directed=True, time="t")
    pattern = Pattern.parse(PATTERN + where)
    environment = Environment(graph, pattern.elements, {})
    return across_conditions(pattern, split_conditions(pattern.conditions, environment), environment, "t")


@pytest.mark.parametrize(
    "where",
    [
        "q.whole >= 0.9 * p.whole",
        "q.whole * 2.5 < p.whole + 1 AND p.whole <= q.whole",
        "q.real = p.real",
        "q.real / 3 > 0.1 * p.real - 2",
        "q.price >= 0.9 * p.price AND q.price <= p.price",
        "q.day < p.day + duration('P3D')",
        "q.word >= p.word",
        "q.near - p.near <= 3",
        "2 < q.near - p.near AND p.near - q.near > -7.5",
        "abs(p.near - q.near) < 4",
        "q.real - p.real <= 0.2",
        "abs(q.price - p.price) <= 0.1 AND q.price - p.price > -0.095",
        "q.day - p.day = duration('P1D')",
    ],
)
def test_a_window_keeps_what_the_programs_are_true_of(where):
    found = across(where)
    windows = found.column_windows
    assert windows.decided == set(range(len(found.programs)))
    p, q = (ranks.ravel() for ranks in np.meshgrid(np.arange(8), np.arange(8)))
    true = np.ones(64, bool)
    for program in found.programs:
        true &= holds(program, np, [(p, q)[element.index] for element in program.elements], 64)
    ranks = windows.order.ranks
    kept = (ranks[p] >= 0) & (ranks[q] >= 0)
    for (e, f), least in windows.least.items():
        of = (p, q)[e], (p, q)[f]
        kept &= least[ranks[of[0]]] <= ranks[of[1]]
        most = windows.most(f, e)
        both = kept & (ranks[p] >= 0) & (ranks[q] >= 0)
        assert (ranks[of[0]] <= most[ranks[of[1]]])[both].all()
    assert (kept == true).all()


@pytest.mark.parametrize(
    "where",
    [
        "q.whole >= -2 * p.whole",
        "q.whole + p.whole >= 3",
        "q.whole >= 4 * p.whole",  # overflows
        "q.whole <> p.whole",
        "q.whole >= p.real",
        "q.endless > p.endless",
        "q.whole > p.whole OR q.real > p.real",
        "q.whole - p.whole <= 3",  # may overflow
        "q.near - p.near > r.near",
        "q.near - p.near <> 2",
        "abs(q.near - p.near) > 2",
        "q.near + p.near < 9",
    ],
)
def test_what_does_not_rise_with_the_column_is_a_program(where):
    assert across(where).column_windows is None


def test_windows_on_a_column_are_closed_and_those_that_others_imply_are_left_out():
    windows = across("q.whole <= p.whole AND r.whole <= q.whole AND r.real < p.real").column_windows
    assert windows.column == "whole"
    assert len(windows.decided) == 2
    assert windows.most(0, 2) is not None
    assert [b for b, _, _ in windows.needed(2, [0, 1])] == [1]


def test_explain_says_what_rows_are_sorted_by_and_how_a_window_is_applied():
    random = np.random.default_rng(1)
    table = pd.DataFrame(random.integers(0, 50, (2_000, 2)), columns=["src", "dst"])
    table = table.assign(t=np.arange(2_000), amount=random.integers(1, 10**6, 2_000))
    graph = Graph.from_edgelist(table, directed=True, time="t")
    where = "p.t < q.t AND q.amount <= p.amount AND q.amount >= 0.99 * p.amount AND q.amount % 7 <> p.amount"
    text = str(csm.explain(graph, "(a)-[p]->(b)-[q]->(c) WHERE " + where, edges="each", engine="cpu"))
    assert "in order of amount" in text
    assert "WHERE q.amount >= 0.99 * p.amount: cuts the window of amount" in text
    assert "WHERE p.t < q.t: a window of time, tested here" in text
    assert "WHERE q.amount % 7 <> p.amount: tested here" in text
