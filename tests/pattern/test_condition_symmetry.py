"""Automorphisms keep conditions: the group found by refinement is the one found by trying every permutation."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from condition_strategies import conditions
from hypothesis import given
from hypothesis import strategies as st
from naive import automorphisms
from tiers import examples

from cusubmatch import Pattern, PatternError
from cusubmatch.pattern.expressions import rebuilt

# Text, automorphisms of the vertices, automorphisms of the vertices and named edges.
COUNTS = [
    ("(a)--(b)", 2, 2),
    ("(a)--(b) WHERE a.x > 3", 1, 1),
    ("(a)--(b) WHERE a.x > 3 AND b.x > 3", 2, 2),
    ("(a)--(b) WHERE a.x > 3 AND 3 < b.x", 2, 2),
    ("(a)--(b) WHERE a.x > 3 AND b.x > 3.0", 1, 1),
    ("(a)--(b) WHERE a.x > 3 AND b.y > 3", 1, 1),
    ("(a)--(b) WHERE a.x > $p AND b.x > $p", 2, 2),
    ("(a)--(b) WHERE a.x > $p AND b.x > $q", 1, 1),
    ("(a)--(b) WHERE a.x = b.x", 2, 2),
    ("(a)--(b) WHERE a.x <> b.x", 2, 2),
    ("(a)--(b) WHERE a.x < b.x", 1, 1),
    ("(a)--(b) WHERE a.x < b.x AND b.x < a.x", 2, 2),
    ("(a)--(b) WHERE a.x + b.x > 3", 2, 2),
    ("(a)--(b) WHERE a.x - b.x > 3", 1, 1),
    ("(a)--(b) WHERE abs(a.x - b.x) > 3", 2, 2),
    ("(a)--(b) WHERE a.x * b.y = b.x * a.y", 2, 2),
    ("(a)--(b) WHERE a.x > 3 OR b.x > 3", 2, 2),
    ("(a)--(b) WHERE a.x IN [1, b.x]", 1, 1),
    ("(a)--(b) WHERE a.x IN [1, 2] AND b.x IN [2, 1, 1]", 2, 2),
    ("(a {k: 'x'})--(b {k: 'x'})", 2, 2),
    ("({k: 'x'})--({k: 'x'})", 2, 2),
    ("({k: 'x'})--({k: 'y'})", 1, 1),
    ("(a)--(b)--(c)--(a)", 6, 6),
    ("(a)--(b)--(c)--(a) WHERE a.x = b.x AND b.x = c.x", 2, 2),
    ("(a)--(b)--(c)--(a) WHERE a.x = b.x AND b.x = c.x AND c.x = a.x", 6, 6),
    ("(a)-->(b)-->(c)-->(a) WHERE a.x < b.x AND b.x < c.x AND c.x < a.x", 3, 3),
    ("(a)-[p]->(b)-[q]->(c)-[r]->(a)", 3, 3),
    ("(a)-[p]->(b)-[q]->(c)-[r]->(a) WHERE p.time < q.time < r.time", 1, 1),
    ("(a)-[p]->(b)-[q]->(c)-[r]->(a) WHERE p.k = 1 AND q.k = 1 AND r.k = 1", 3, 3),
    ("(a)-[{k: 1}]->(b)-[{k: 1}]->(c)-[{k: 1}]->(a)", 3, 3),
    ("(a)-[p]-(b)-[q]-(c)", 2, 2),
    ("(a)-[p]-(b)-[q]-(c) WHERE p.time < q.time", 1, 1),
    ("(a)-[p]-(b)-[q]-(c) WHERE abs(q.time - p.time) < 5", 2, 2),
    ("(a)-[p]->(b), (a)-[q]->(b)", 1, 2),
    ("(a)-[p]->(b), (a)-[q]->(b) WHERE p.time < q.time", 1, 1),
    ("(a)-[p]->(b), (a)-[q]->(b) WHERE p.time = q.time", 1, 2),
    ("(a)-[p]->(b), (b)-[q]->(a) WHERE p.time < q.time", 1, 1),
    ("(a)-[p]-(b), (a)-[q]-(b) WHERE p.time < q.time", 2, 2),
    ("(a)-[p]-(b), (a)-[q]-(b)", 2, 4),
    ("(a)-[p]-(b), (a)-[{k: 1}]-(b)", 2, 2),
    ("(a)-[p]->(b), (a)-[q]->(b), (b)-[r]->(a)", 2, 2),
    ("(a)-[p]->(b), (a)-[q]->(b), (b)-[r]->(a) WHERE p.x = 1 AND r.x = 1", 2, 1),
    ("(a)-[p]->(b), (a)-[q]->(b), (b)-[r]->(a) WHERE p.x = 1 AND q.x = 1 AND r.x = 1", 1, 2),
    ("(a)-->(b)-->(c), (a)-->(d)-->(c) WHERE NOT (b)--(d)", 2, 2),
    ("(a)-->(b)-->(c), (a)-->(d)-->(c) WHERE NOT (b)-->(d)", 1, 1),
    ("(a)-->(b)-->(c), (a)-->(d)-->(c) WHERE NOT (b)-->(d) AND NOT (d)-->(b)", 2, 2),
    ("(a)-->(b)-->(c), (a)-->(d)-->(c) WHERE NOT (b)-[:X]->(d) AND NOT (d)-[:Y]->(b)", 1, 1),
    ("(a)-->(b)-->(c), (a)-->(d)-->(c) WHERE id(b) <> id(d)", 2, 2),
    ("(a)--(b)--(c) WHERE id(a) = 3 OR id(c) = 3", 2, 2),
]


@pytest.mark.parametrize(("text", "vertices", "edges"), COUNTS, ids=[text for text, *_ in COUNTS])
def test_symmetry_is_what_conditions_leave_of_it(text, vertices, edges):
    pattern = Pattern.parse(text)
    assert pattern.automorphism_count() == vertices == len(automorphisms(pattern))
    assert pattern.edge_automorphisms.order == edges == len(automorphisms(pattern, "each"))


TEXTS = (
    "(a)-[p]->(b)-[q]->(c)-[r]->(a)",
    "(a)-[p]-(b)-[q]-(c)-[r]-(a)",
    "(a)-[p]->(b), (a)-[q]->(b), (b)-[r]->(a)",
    "(a)-[p]-(b), (a)-[q]-(b), (b)--(c)",
    "(a)-[p:X]->(b)<-[q:X]-(c), (b)-->(d)",
    "(a)--(b)--(c)--(d)--(a)",
)


@examples(200)
@given(st.data())
def test_the_group_is_that_of_all_permutations_that_keep_everything(data):
    pattern = Pattern.parse(data.draw(st.sampled_from(TEXTS)))
    drawn = data.draw(st.lists(conditions(pattern, max_leaves=2), min_size=1, max_size=2))
    for condition in drawn:
        pattern = pattern.where(condition)
        if data.draw(st.booleans()):  # the same with names exchanged, so that there is some symmetry
            pattern = pattern.where(_exchanged(condition))
    for group, truth in (
        (pattern.automorphisms, automorphisms(pattern)),
        (pattern.edge_automorphisms, automorphisms(pattern, "each")),
    ):
        assert group.order == len(truth)
        assert sorted(tuple(group.element(index)) for index in range(group.order)) == sorted(truth)
        orbits = [min(s[v] for s in truth) for v in range(group.size)]
        assert list(group.orbits()) == orbits


def _exchanged(condition):
    other = {"a": "b", "b": "a", "p": "q", "q": "p"}

    def change(part):
        ends = {
            field.name: other.get(getattr(part, field.name), getattr(part, field.name))
            for field in fields(part)
            if field.name in ("element", "source", "target")
        }
        return replace(part, **ends)

    return rebuilt(condition, change)


def test_patterns_that_differ_in_names_only_have_one_form():
    texts = [
        "(a)-[p]->(b)-[q]->(c) WHERE p.time < q.time AND a.x = c.x",
        "(z)<-[r]-(y)<-[s]-(x) WHERE r.time > s.time AND z.x = x.x",
        "(a)-[p]->(b)-[q]->(c) WHERE q.time < p.time AND a.x = c.x",
    ]
    first, second, third = (Pattern.parse(text).automorphisms.form() for text in texts)
    assert first == second != third


def test_the_stabiliser_chain_and_images_are_of_the_vertices():
    pattern = Pattern.parse("(a)-[p]-(b)-[q]-(c)-[r]-(d)-[s]-(a) WHERE p.k = 1 AND q.k = 1 AND r.k = 1 AND s.k = 1")
    group = pattern.automorphisms
    assert group.order == 8
    assert group.chain([0, 1, 2, 3]) == [[1, 2, 3], [3], [], []]
    assert sorted(group.images([0], 1)) == [1, 3]
    assert group.images([0], 1)[3] == [0, 3, 2, 1]
    assert group.stabiliser([0, 1]).order == 2


def test_a_large_ring_with_conditions_takes_little_time():
    ring = "".join(f"(v{i})-[e{i}]->" for i in range(32)) + "(v0)"
    order = " AND ".join(f"e{i}.time < e{i + 1}.time" for i in range(31))
    assert Pattern.parse(f"{ring} WHERE {order}").automorphism_count() == 1
    every = " AND ".join(f"v{i}.x > 3" for i in range(32))
    pattern = Pattern.parse(f"{ring} WHERE {every}")
    assert (pattern.automorphism_count(), pattern.edge_automorphisms.order) == (32, 32)


def test_a_condition_that_makes_a_pair_of_one_vertex_is_refused():
    with pytest.raises(PatternError, match="cannot differ from itself"):
        Pattern.parse("(a)--(b) WHERE a <> a")
