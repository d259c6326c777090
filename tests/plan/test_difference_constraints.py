"""Conditions on the times of edges as difference constraints, and their closure."""

from __future__ import annotations

import datetime as dt
import itertools

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cusubmatch import Graph, Pattern
from cusubmatch.plan.conditions.across import across_conditions
from cusubmatch.plan.conditions.bounds import NO_BOUND
from cusubmatch.plan.conditions.differences import Difference, closure_of, differences_in
from cusubmatch.plan.conditions.environment import Environment
from cusubmatch.plan.conditions.split import split_conditions

EDGES = pd.DataFrame(
    {"src": [1, 2], "dst": [2, 1], "t": [5, 6], "other": [1, 2], "day": pd.to_datetime(["2024-01-01", "2024-02-01"])}
)
DAY = 86_400 * 10**9


def differences(text, time="t", **parameters):
    """The constraints of a condition on the edges p and q, by their names."""
    pattern = Pattern.parse(f"(a)-[p]->(b)-[q]->(c) WHERE {text}")
    graph = Graph.from_edgelist(EDGES, directed=True, time=time)
    environment = Environment(graph, pattern.elements, parameters)
    found = [differences_in(condition, environment, time) for condition in pattern.conditions]
    return None if None in found else [("pq"[e] + "pq"[f], bound) for some in found for e, f, bound in some]


CASES = {
    "p.t < q.t": [("qp", -1)],
    "p.t <= q.t": [("qp", 0)],
    "q.t - p.t <= $w": [("pq", 7)],
    "q.t - p.t < $w": [("pq", 6)],
    "p.t + 5 < q.t": [("qp", -6)],
    "$w >= q.t - p.t": [("pq", 7)],
    "abs(p.t - q.t) <= 5": [("qp", 5), ("pq", 5)],
    "5 > abs(p.t - q.t)": [("qp", 4), ("pq", 4)],
    "p.t = q.t": [("qp", 0), ("pq", 0)],
    "q.t < p.t + 5 + $w": [("pq", 11)],
    "-p.t < 3 - q.t": [("pq", 2)],
    "q.t - p.t <= 2.5": [("pq", 2)],
    "q.t - p.t < 2.5": [("pq", 2)],
    "q.t - p.t >= 2.5": [("qp", -3)],
    "p.t <> q.t": None,
    "abs(p.t - q.t) >= 5": None,
    "p.t * 2 < q.t": None,
    "p.t + q.t < 3": None,
    "p.t < q.other": None,
    "p.t < q.t OR p.t > 3": None,
}


@pytest.mark.parametrize("text", CASES)
def test_conditions_that_bound_a_difference_of_times_are_recognised(text):
    parameters = {"w": 7} if "$w" in text else {}
    found = differences(text, **parameters)
    assert found == CASES[text] if CASES[text] is None else sorted(found) == sorted(CASES[text])


def test_dates_are_bounded_by_durations():
    assert differences("q.day - p.day <= duration('P30D')", "day") == [("pq", 30 * DAY)]
    assert differences("q.day - p.day <= $w", "day", w=dt.timedelta(days=2)) == [("pq", 2 * DAY)]
    assert differences("q.day < p.day + $w", "day", w=dt.timedelta(days=2)) == [("pq", 2 * DAY - 1)]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(-3, 3)), max_size=6))
def test_the_closure_has_the_tightest_bounds(constraints):
    constraints = [Difference(*one) for one in constraints if one[0] != one[1]]
    times = [
        t for t in itertools.product(range(-9, 10), repeat=2)
        if all((0, *t)[f] - (0, *t)[e] <= w for e, f, w in constraints)
    ]  # fmt: skip
    closure = closure_of(3, constraints)
    if closure is None:
        assert not times
        return
    for e, f in itertools.permutations(range(3), 2):
        most = max((0, *t)[f] - (0, *t)[e] for t in times)
        assert closure[e][f] == most or closure[e][f] == NO_BOUND
        assert closure[e][f] >= most


def test_what_is_no_difference_is_a_program():
    pattern = Pattern.parse(
        "(a)-[p]->(b)-[q]->(c)-[r]->(a) WHERE p.t < q.t AND q.t < r.t AND p.other > r.other AND p.t > 1"
    )
    graph = Graph.from_edgelist(EDGES, directed=True, time="t")
    environment = Environment(graph, pattern.elements, {})
    split = split_conditions(pattern.conditions, environment)
    windows, programs, _, kinds = across_conditions(pattern, split, environment, "t")
    assert windows == ((0, NO_BOUND, NO_BOUND), (-1, 0, NO_BOUND), (-2, -1, 0))
    assert kinds == ("column", "time", "time")
    assert [sorted(element.index for element in program.elements) for program in programs] == [[0, 2]]
    contradiction = pattern.where("r.t < p.t")
    environment = Environment(graph, contradiction.elements, {})
    split = split_conditions(contradiction.conditions, environment)
    assert across_conditions(contradiction, split, environment, "t").windows is None
