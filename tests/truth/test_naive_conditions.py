"""The oracle of conditions, checked by counts worked out by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from condition_strategies import column_graphs, conditions
from hypothesis import given
from hypothesis import strategies as st
from naive import NaiveGraph, automorphisms, matches
from tiers import examples

from cusubmatch import Pattern
from cusubmatch.pattern.expressions import IsNull, Not

# Payments: 0 pays 1 at 1, 5 and 5, 1 pays 2 at 3 and 6, 2 pays 0 at 4 and 9, 1 pays 0 at 2; amounts; two nulls.
ROWS = [(0, 1), (0, 1), (0, 1), (1, 2), (1, 2), (2, 0), (2, 0), (1, 0), (2, 2)]
TIMES = [1, 5, 5, 3, 6, 4, 9, 2, 1]
AMOUNTS = [10, 20, None, 9, 20, 8, 20, 10, 99]
COLUMNS = [{"time": time, "amount": amount} for time, amount in zip(TIMES, AMOUNTS, strict=True)]
PROPERTIES = {0: {"country": "DE", "risk": 1}, 1: {"country": "DK", "risk": None}, 2: {"country": "DE", "risk": 3}}
PAYMENTS = NaiveGraph(ROWS, directed=True, columns=COLUMNS, properties=PROPERTIES)

RING = "(a)-[p]->(b)-[q]->(c)-[r]->(a)"
COUNTED = [
    # text, matches of edges="any", matches of edges="each"
    (RING, 1, 12),  # 3 * 2 * 2 rows
    (f"{RING} WHERE p.time < q.time < r.time", 3, 5 + 2 + 2),  # 1-3-4 1-3-9 1-6-9 5-6-9 5-6-9, 3-4-5 3-4-5, 4-5-6 4-5-6
    ("(a)-[p]->(b) WHERE p.amount > 9", 4, 5),  # unknown for the null
    ("(a)-[p]->(b) WHERE NOT p.amount > 9", 2, 2),
    ("(a)-[p]->(b) WHERE p.amount IS NULL", 1, 1),
    ("(a)-[p]->(b) WHERE p.amount IS NULL OR p.time = 4", 2, 2),
    ("(a)-[p]->(b) WHERE p.amount = null", 0, 0),
    ("(a)-[p]->(b) WHERE p.amount IN [10, 8, null]", 3, 3),
    ("(a)-[p]->(b) WHERE p.amount NOT IN [10, 8, null]", 0, 0),
    ("(a)-[p]->(b) WHERE p.amount NOT IN [10, 8]", 3, 4),
    ("(a)-[p]->(b) WHERE p.amount IN $list", 2, 2),
    ("(a)-[p]->(b) WHERE p.amount % 3 = 2", 3, 4),
    ("(a)-[p]->(b) WHERE p.amount / 3 = 3", 3, 3),
    ("(a)-[p]->(b) WHERE p.amount / (p.time - 4) < 0", 3, 3),  # unknown at 4
    ("(a)-->(b) WHERE a.country = b.country", 1, 1),
    ("(a)-->(b) WHERE a.country <> b.country", 3, 3),
    ("(a)-->(b) WHERE a.country STARTS WITH 'D' AND b.country STARTS WITH 'DK'", 1, 1),
    ("(a)-->(b) WHERE a.risk < b.risk", 0, 0),
    ("(a)-->(b) WHERE NOT a.risk < b.risk", 1, 1),
    ("(a)-->(b) WHERE NOT (b)-->(a)", 2, 2),
    ("(a)-->(b)-->(c) WHERE NOT (a)-->(c)", 2, 2),
    ("(a)-->(b)-->(c) WHERE NOT (a)--(c)", 0, 0),
    ("(a)-->(b) WHERE id(a) = 0", 1, 1),
    ("(a {country: 'DE'})-->({country: 'DE'})", 1, 1),
    ("(a)-[{time: 5}]->(b)", 1, 1),
    ("(a)-[p]->(b), (a)-[q]->(b) WHERE p.time < q.time", 3, 2 + 1 + 1),
    ("(a)-[p]->(b), (a)-[q]->(b) WHERE p.time = q.time", 4, 1),  # with "any" both may be one row
    ("(a)-[p]->(b)-[q]->(a) WHERE p.time < q.time", 2, 3),
    ("(a)-[p]->(b)-[q]->(a) WHERE abs(p.time - q.time) <= 1", 1, 1),
    ("(a)-[p]-(b) WHERE p.time <= 2", 1, 2),
]


@pytest.mark.parametrize(("text", "any_row", "each_row"), COUNTED, ids=[text for text, *_ in COUNTED])
def test_what_was_counted_by_hand(text, any_row, each_row):
    pattern, params = Pattern.parse(text), {"list": [10, 11]}
    assert len(matches(PAYMENTS, pattern, "monomorphism", params=params)) == any_row
    assert len(matches(PAYMENTS, pattern, "monomorphism", edges="each", params=params)) == each_row


def test_times_dates_and_texts_compare_as_they_are():
    days = [np.datetime64(day, "ns") for day in ("2024-01-31", "2024-02-29", "NaT")]
    graph = NaiveGraph([(0, 1), (0, 1), (0, 1)], directed=True, columns=[{"day": day, "name": "b"} for day in days])

    def rows(condition):
        pattern = Pattern.parse(f"(a)-[p]->(b) WHERE {condition}")
        return [row[2] for row in matches(graph, pattern, "induced", edges="each")]

    assert rows("p.day < date('2024-02-29')") == [0]
    assert rows("p.day + duration('P29D') >= datetime('2024-02-29T00:00:00')") == [0, 1]
    assert rows("p.day IS NULL") == [2]
    assert rows("'a' < p.name AND p.name <= 'b'") == [0, 1, 2]
    with pytest.raises(TypeError):
        rows("p.name > 3")


@examples(200)
@given(st.data())
def test_orbits_sum_up_and_any_is_what_each_has_without_rows(data):
    graph = data.draw(column_graphs(max_vertices=4, max_rows=7, directed=True))
    text = data.draw(st.sampled_from(("(a)-[p]->(b)-[q]->(c)", "(a)-[p]->(b), (b)-[q]->(a)", "(a)-[p]-(b)-[q]-(c)")))
    pattern = Pattern.parse(text)
    pattern = pattern.where(data.draw(conditions(pattern, params=("n",))))
    semantics, params = data.draw(st.sampled_from(("monomorphism", "induced"))), {"n": 1}
    for edges in ("any", "each"):
        embeddings = matches(graph, pattern, semantics, unique=False, edges=edges, params=params)
        unique = matches(graph, pattern, semantics, unique=True, edges=edges, params=params)
        assert len(embeddings) == len(set(embeddings))
        if len(automorphisms(pattern, edges)) == 1:
            assert len(embeddings) == len(unique)
        assert len(embeddings) == len(unique) * len(automorphisms(pattern, edges))
    some = matches(graph, pattern, semantics, unique=False, params=params)
    each = matches(graph, pattern, semantics, unique=False, edges="each", params=params)
    assert set(some) == {row[:3] if len(pattern) == 3 else row[:2] for row in each}


@examples(200)
@given(st.data())
def test_a_condition_its_negation_and_its_being_unknown_share_the_matches(data):
    graph = data.draw(column_graphs(max_vertices=3, max_rows=6))
    pattern = Pattern.parse("(a)-[p]-(b)")
    condition = data.draw(conditions(pattern))
    shares = [
        Counter(matches(graph, pattern.where(one), "homomorphism", edges="each"))
        for one in (condition, Not(condition), IsNull(condition))
    ]
    assert sum(shares, Counter()) == Counter(matches(graph, pattern, "homomorphism", edges="each"))
