"""Random edge tables, row patterns and plans in any order of steps, for tests of row walks."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
from hypothesis import strategies as st
from row_cases import RowTable, closed

from cusubmatch.plan.conditions.bounds import NO_BOUND
from cusubmatch.plan.conditions.column_windows import ColumnWindows, column_order, first_ranks
from cusubmatch.plan.rows.row_plan import RowCondition, RowEdge, RowPattern, RowPlan
from cusubmatch.plan.rows.row_steps import first_steps, leaf_of, next_steps


@st.composite
def tables(draw):
    n, size = draw(st.integers(2, 5)), draw(st.sampled_from((0, 3, 10, 14, 18)))
    vertices = st.integers(0, n - 1)
    row = st.tuples(vertices, vertices, st.integers(0, 6), st.sampled_from((True, True, True, False)))
    rows = draw(st.lists(row, min_size=size, max_size=size))
    source, target, times, mask = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
    return RowTable(n, source, target, times if draw(st.integers(0, 5)) else None, mask)


@st.composite
def windows(draw, edges, bound):
    """Bounds between bound edges."""
    bounds = [[0 if e == f else NO_BOUND for f in range(edges)] for e in range(edges)]
    for e, f in combinations(bound, 2):
        if draw(st.booleans()):
            first, second = draw(st.sampled_from(((e, f), (f, e))))
            bounds[first][second] = draw(st.sampled_from((0, 2, 4, NO_BOUND)))
            bounds[second][first] = draw(st.sampled_from((-1, 0, 2, NO_BOUND)))
    return tuple(map(tuple, closed(bounds)))


@st.composite
def row_patterns(draw, timed):
    n = draw(st.integers(2, 4))
    ends = [(draw(st.integers(0, v - 1)), v) for v in range(1, n)]  # a tree, so that it is connected
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] != pair[1])
    ends += draw(st.lists(pairs, max_size=5 - len(ends)))
    existential = draw(st.integers(0, 3)) == 0
    edges = tuple(
        RowEdge(*draw(st.permutations(pair)), draw(st.sampled_from((0, 0, 0, 1, 1, 2, 3))), draw(st.integers(0, 9)) > 0)
        for pair in ends
    )
    bound = [e for e, edge in enumerate(edges) if edge.bound]
    every_pair = list(combinations(range(n), 2))
    rows = list(combinations(bound, 2))
    distinct = every_pair if draw(st.booleans()) else draw(st.lists(st.sampled_from(every_pair), max_size=2))
    orders = [draw(st.sampled_from(every_pair))] if draw(st.integers(0, 3)) == 0 else []
    forbidden = [draw(st.tuples(pairs, st.integers(0, 3)))] if draw(st.integers(0, 3)) == 0 else []
    row_order = [draw(st.sampled_from(rows))] if rows and not existential and not draw(st.integers(0, 3)) else []
    empty = tuple(tuple(0 if e == f else NO_BOUND for f in range(len(edges))) for e in range(len(edges)))
    return RowPattern(
        n,
        edges,
        draw(windows(len(edges), bound)) if timed else empty,
        distinct=frozenset(distinct),
        vertex_order=tuple(orders),
        row_order=tuple(row_order),
        different_rows=tuple(rows) if draw(st.booleans()) else (),
        forbidden=tuple((u, w, relation) for (u, w), relation in forbidden),
        existential=existential,
    )


@st.composite
def plans(draw, pattern, count):
    """Any order of steps."""
    beginnings = list(first_steps(pattern))
    by_rows = [step for step in beginnings if step.kind == "rows"]
    steps = [draw(st.sampled_from(by_rows if by_rows and draw(st.integers(0, 3)) else beginnings))]
    while following := list(next_steps(pattern, steps)):
        meetings = [step for step in following if step.kind == "meet"]
        steps.append(draw(st.sampled_from(meetings if meetings and draw(st.booleans()) else following)))
    by_column = pattern.column_windows is not None and draw(st.booleans())
    return RowPlan(pattern, tuple(steps), leaf_of(pattern, steps) if count else "rows", by_column=by_column)


@st.composite
def with_column_windows(draw, plain, table):
    """A pattern whose rows are compared by a column, `b >= a + margin` for the rows of two edges, and its values.

    Programs are (a, b, margin).
    """
    values = np.array(draw(st.lists(st.integers(0, 5), min_size=len(table.source), max_size=len(table.source))), int)
    order, least, conditions = column_order(values, None), {}, []
    distinct = values[order.rows]
    for a, b in draw(st.lists(st.permutations(plain.bound_edges).map(lambda edges: edges[:2]), min_size=1, max_size=4)):
        margin = draw(st.integers(-3, 1))
        ranks = first_ranks(len(distinct), lambda i, j, margin=margin: distinct[j] >= distinct[i] + margin)
        least[a, b] = np.maximum(least.get((a, b), 0), ranks)
        conditions.append(RowCondition((), (a, b), (a, b, margin)))
    windows = ColumnWindows("amount", order, len(plain.edges), least, range(len(conditions)))
    more = {"conditions": tuple(conditions), "column_windows": windows, "existential": False}
    return RowPattern(**{**vars(plain), **more}), values


def written(run):
    """The matches of a run's blocks."""
    found = Counter()
    for block in run.blocks():
        assert block.vertices.dtype == np.int32
        assert block.rows.dtype == np.int64
        rows = block.rows.T.tolist() or [()] * block.vertices.shape[1]
        found.update((tuple(v), tuple(r)) for v, r in zip(block.vertices.T.tolist(), rows, strict=True))
    return found


def masks_of(data, pattern, n):
    masks = []
    for _ in range(pattern.n_vertices):
        given_one = data.draw(st.integers(0, 7)) == 0
        masks.append(np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n))) if given_one else None)
    return masks
