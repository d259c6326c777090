"""Random multigraphs with columns, and conditions on them, for hypothesis.

Rows of the edge table have a time (with ties and parallel rows), an amount, a kind and a flag, vertices have a risk, a
country and a day; all but the time may be null. `conditions` draws trees of the right types for a pattern, so that
every one can be asked of every such graph; `expressions` draws any tree, which need make no sense. Strategies are kept,
since hypothesis checks each new one, which takes longer than drawing from it.
"""

from __future__ import annotations

import functools

import numpy as np
from hypothesis import strategies as st
from naive import NaiveGraph

from cusubmatch.pattern.expressions import (
    Absent,
    Absolute,
    And,
    Arithmetic,
    Comparison,
    IsNull,
    Literal,
    Membership,
    Negative,
    Not,
    Or,
    Parameter,
    Property,
    StartsWith,
    VertexId,
)

SIGNS = ("=", "<>", "<", "<=", ">", ">=")
DAYS = [np.datetime64(day, "ns") for day in ("2024-01-01", "2024-01-02", "2024-02-29")]
EDGE_COLUMNS = {"time": "number", "amount": "number", "kind": "text", "flag": "truth"}
VERTEX_COLUMNS = {"risk": "number", "country": "text", "opened": "day"}
VALUES = {
    "number": st.integers(-2, 4),
    "text": st.sampled_from(("DE", "DK", "D", "US", "")),
    "truth": st.booleans(),
    "day": st.sampled_from(DAYS),
}
NULLABLE = {kind: st.one_of(values, values, st.none()) for kind, values in VALUES.items()}
TIMES, VERTEX_LABELS = st.integers(0, 4), st.sampled_from(("A", "B", None))


@functools.cache
def _rows(n, labelled, max_rows):
    kinds = st.sampled_from(("X", "Y", None)) if labelled else st.none()
    return st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), kinds), max_size=max_rows)


@st.composite
def column_graphs(draw, max_vertices=5, max_rows=10, directed=None, labelled=True):
    """A `NaiveGraph` of 1 to `max_vertices` vertices whose rows and vertices have columns."""
    n = draw(st.integers(1, max_vertices))
    rows = draw(_rows(n, labelled, max_rows))
    return NaiveGraph(
        rows,
        draw(st.booleans()) if directed is None else directed,
        labels={v: draw(VERTEX_LABELS) for v in range(n)} if labelled else {},
        isolated=range(n),
        columns=[{"time": draw(TIMES)} | _columns(draw, EDGE_COLUMNS, ("amount", "kind", "flag")) for _ in rows],
        properties={v: _columns(draw, VERTEX_COLUMNS, VERTEX_COLUMNS) for v in range(n)},
    )


def _columns(draw, types, names):
    return {name: draw(NULLABLE[types[name]]) for name in names}


def conditions(pattern, params=(), max_leaves=4):
    """Conditions of the right types on the named vertices and edges of a pattern; `params` names numbers."""
    vertices = tuple(name for name in pattern.names if name is not None)
    edges = tuple(edge.name for edge in pattern.edges if edge.name is not None)
    return _conditions(vertices, edges, tuple(params), max_leaves)


@functools.cache
def _conditions(vertices, edges, params, max_leaves):
    places = [(name, VERTEX_COLUMNS) for name in vertices] + [(name, EDGE_COLUMNS) for name in edges]

    def of_type(kind):
        columns = [Property(name, column) for name, types in places for column, one in types.items() if one == kind]
        return st.one_of([st.sampled_from(columns)] * bool(columns) + [VALUES[kind].map(Literal)])

    plain = of_type("number")
    if params:
        plain = plain | st.sampled_from([Parameter(name) for name in params])
    numbers = st.recursive(
        plain,
        lambda inner: st.one_of(
            st.builds(Arithmetic, st.sampled_from("+-*/%"), inner, inner),
            st.builds(Absolute, inner),
            st.builds(Negative, inner),
        ),
        max_leaves=2,
    )
    texts, days, truths = of_type("text"), of_type("day"), of_type("truth")
    sign = st.sampled_from(SIGNS)
    leaves = [
        st.builds(Comparison, sign, numbers, numbers),
        st.builds(Comparison, sign, numbers, numbers),
        st.builds(Comparison, sign, texts, texts),
        st.builds(Comparison, sign, days, days),
        st.builds(IsNull, st.one_of(plain, texts, truths)),
        st.builds(StartsWith, texts, texts),
        st.builds(Membership, texts, st.lists(texts, max_size=3).map(tuple)),
        st.builds(Membership, plain, st.lists(plain, max_size=3).map(tuple)),
        truths,
    ]
    if len(vertices) > 1:
        pairs = st.permutations(vertices).map(lambda names: names[:2])
        labels = st.sampled_from((None, frozenset("X"), frozenset("XY")))
        leaves += [
            st.builds(lambda ends, way, some: Absent(*ends, way, some), pairs, st.booleans(), labels),
            pairs.map(lambda ends: Comparison("<>", VertexId(ends[0]), VertexId(ends[1]))),
        ]
    return st.recursive(
        st.one_of(leaves),
        lambda inner: st.one_of(
            inner.map(Not),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(tuple(parts))),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts))),
        ),
        max_leaves=max_leaves,
    )


LITERALS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.integers(-(2**63) + 1, 2**63 - 1).map(lambda number: np.datetime64(number, "ns")),
    st.integers(-(2**63) + 1, 2**63 - 1).map(lambda number: np.timedelta64(number, "ns")),
).map(Literal)


def expressions(vertices, edges, max_leaves=12):
    """Any trees on some vertices and edges, whatever the types."""
    return _expressions(tuple(vertices), tuple(edges), max_leaves)


@functools.cache
def _expressions(vertices, edges, max_leaves):
    vertex, names = st.sampled_from(vertices), st.text(max_size=5)
    leaves = st.one_of(
        LITERALS,
        st.text(min_size=1, max_size=5).map(Parameter),
        st.builds(Property, st.sampled_from([*vertices, *edges]), names),
        vertex.map(VertexId),
        st.builds(Absent, vertex, vertex, st.booleans(), st.none() | st.frozensets(names, min_size=1, max_size=2)),
    )

    def larger(inner):
        return st.one_of(
            st.builds(Arithmetic, st.sampled_from("+-*/%"), inner, inner),
            st.builds(Comparison, st.sampled_from(SIGNS), inner, inner),
            st.builds(Membership, inner, st.lists(inner, max_size=3).map(tuple) | st.just(Parameter("list"))),
            st.builds(StartsWith, inner, inner),
            *(st.builds(kind, inner) for kind in (Negative, Absolute, IsNull, Not)),
            *(st.builds(kind, st.lists(inner, min_size=1, max_size=3).map(tuple)) for kind in (And, Or)),
        )

    return st.recursive(leaves, larger, max_leaves=max_leaves)
