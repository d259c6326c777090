"""Few rows by the order that finds them soonest: which one is walked, and that its rows are those of the pattern."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from test_candidate_graph import QUERY, rows_of, skewed_graph

import cusubmatch as csm
from cusubmatch import Pattern
from cusubmatch.engines.cpu.search import order_race
from cusubmatch.engines.cpu.search.order_race import FIRST_TURN, TRIAL_UNITS, run_for_few_rows
from cusubmatch.engines.runs import RunOptions
from cusubmatch.pattern.connectivity import neighbour_sets
from cusubmatch.plan.greedy_orders import greedy_order, rival_orders

pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

ENOUGH = 1000.0


class Walk:
    """A run that takes so much work for all rows, the first of which comes after a part of it."""

    def __init__(self, whole, before=0.0):
        self.whole, self.before, self.work, self.is_left = whole, before, 0.0, False

    def turn(self, units):
        self.work = min(self.work + units, self.whole)
        return self.work < self.whole

    def leave(self):
        self.is_left = True

    @property
    def work_left(self):
        matches = ENOUGH * (self.work - self.before) / (self.whole - self.before)
        return self.work * (ENOUGH / matches - 1) if matches > 0 else math.inf


def chosen(first, *rivals):
    """The walk that is chosen, and what all walks have done until then."""
    walks = []

    def run_by(plan, options):
        assert options.enough == ENOUGH
        walks.append(Walk(*plan))
        return walks[-1]

    run = run_for_few_rows(run_by, first, RunOptions(enough=ENOUGH), lambda: rivals)
    assert [walk for walk in walks if not walk.is_left] == [run]
    return (run.whole, run.before), sum(walk.work for walk in walks)


def test_an_order_that_finds_rows_is_walked_alone():
    first = 1.9 * FIRST_TURN, 0.0
    assert chosen(first, (1.0, 0.0)) == (first, FIRST_TURN)


def test_a_better_order_is_gone_over_to():
    first, other, best = (100.0 * FIRST_TURN, 0.0), (50.0 * FIRST_TURN, 0.0), (10.0 * FIRST_TURN, 0.0)
    assert chosen(first, other, best)[0] == best
    assert chosen(first, first, other)[0] == other


def test_one_that_is_done_sooner_is_known_by_its_end():
    first, short = (8.0 * FIRST_TURN, 0.0), (TRIAL_UNITS / 2.0, 0.0)
    assert chosen(first, short)[0] == short


def test_without_a_better_one_the_first_goes_on():
    first, worse = (6.0 * FIRST_TURN, 0.0), (100.0 * FIRST_TURN, 0.0)
    walk, work = chosen(first, worse, worse)
    assert walk == first
    assert work == FIRST_TURN + 2 * TRIAL_UNITS


def test_where_no_order_has_found_a_row_the_first_goes_on():
    first, late = (1000.0 * FIRST_TURN, 900.0 * FIRST_TURN), (80.0 * FIRST_TURN, 20.0 * FIRST_TURN)
    assert chosen(first, late)[0] == first
    assert chosen(first)[0] == first


@pytest.mark.parametrize("pattern", [QUERY, "(a)--(b)--(c)--(d)--(a), (c)--(e)", "(a)"])
def test_rivals_are_other_connected_orders(pattern):
    pattern = Pattern.parse(pattern)
    neighbours = neighbour_sets(len(pattern), [(edge.source, edge.target) for edge in pattern.edges])
    sizes = [7.0, 3.0, 9.0, 2.0, 5.0, 4.0, 8.0][: len(neighbours)]
    orders = rival_orders(neighbours, sizes)
    assert greedy_order(neighbours, sizes) not in orders
    assert len({*orders}) == len(orders) >= min(len(neighbours) - 1, 2)
    for order in orders:
        assert sorted(order) == list(range(len(neighbours)))
        assert all(neighbours[v] & {*order[:place]} for place, v in enumerate(order) if place)


@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize("turn", [1, 1 << 8, 1 << 30])
def test_rows_are_different_matches_and_enough(monkeypatch, turn, unique):
    monkeypatch.setattr(order_race, "FIRST_TURN", turn)
    monkeypatch.setattr(order_race, "TRIAL_UNITS", turn)
    graph = skewed_graph()
    every = rows_of(csm.subgraph_match(graph, QUERY, unique=unique, engine="cpu"))
    for limit in (1, 100, len(every) - 1, len(every) + 1):
        found = rows_of(csm.subgraph_match(graph, QUERY, unique=unique, engine="cpu", limit=limit))
        assert sum(found.values()) == min(limit, sum(every.values()))
        assert found <= every or unique
        assert max(found.values()) == 1
        batches = csm.iter_matches(graph, QUERY, unique=unique, engine="cpu", limit=limit, batch_rows=64)
        assert sum((rows_of(batch) for batch in batches), Counter()).total() == min(limit, every.total())


@pytest.mark.parametrize("turn", [1, 1 << 30])
@pytest.mark.parametrize(("text", "has"), [("(:A)--(:B)--(:D)--(:A)", True), ("(:A)--(:Z)--(:A)", False)])
def test_a_match_of_vertices_without_names_is_one(monkeypatch, turn, text, has):
    monkeypatch.setattr(order_race, "FIRST_TURN", turn)
    assert csm.has_match(skewed_graph(), text, engine="cpu") == has
