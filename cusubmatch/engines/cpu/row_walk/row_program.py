"""A row plan as arrays: what the compiled row walker reads instead of Python objects.

One walker serves every plan. A `Program` holds a row of integers for each step, pattern vertex and pattern edge; `refs`
holds the short lists that they refer to, as ranges. Windows are kept as bounds against the edges bound before, without
those that others imply; a row is found by its *time*, which may also be its rank in a column that rows are sorted by,
and where there are both windows, the other one is tested *beside* it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.row_walk.condition_code import Conditions
from cusubmatch.engines.cpu.row_walk.row_bounds import bound_between, bounds_of
from cusubmatch.engines.cpu.row_walk.row_lists import ListTable
from cusubmatch.plan.rows.row_plan import RowPattern, RowPlan

__all__ = ["Program", "encode"]

# Fields of a step's row.
KIND, EDGE, START, VERTEX, LIST, HOP_EDGE, HOP_LIST, CONDITION, CONDITION_END, SEARCH = range(10)
STEP_FIELDS = 10
ROWS, VERTICES, SCAN, CLOSE, MEET, NEIGHBOURS, ARC = range(7)
NAMES = "rows", "vertices", "scan", "close", "meet", "neighbours", "arc"
KINDS = {name: kind for kind, name in enumerate(NAMES)}

# Fields of a pattern vertex's row: what its image is compared with.
MASKED, DIFFERS, DIFFERS_END, ABOVE, ABOVE_END, BELOW, BELOW_END, FORBIDDEN, FORBIDDEN_END, COLUMN, MORE = range(11)
VERTEX_FIELDS = 11
VERTEX_RANGES = ABOVE_END, BELOW_END, FORBIDDEN_END

# Fields of a pattern edge's row: what its row is compared with, and lists.
WINDOW, WINDOW_END, OTHER_ROW, OTHER_ROW_END, AFTER, AFTER_END, BEFORE, BEFORE_END = range(8)
SOURCE, TARGET, ARCS, ROWS_OF_ARC, ROW_COLUMN, TESTED, TESTED_END, BESIDE, BESIDE_END = range(8, 17)
EDGE_FIELDS = 17

# Fields of the header.
STEPS, LAST, LEAF, FILTERED, MEETING = range(5)
SLIDE, HOP, HOP_ROOT, HOP_BESIDE, HOPS, HOP_DIFFERS = range(5, 11)
BETWEEN_LOW, BETWEEN_HIGH, PAIR_DIFFERS, SEARCHED, SEARCHED_END, PLAIN, SEVERAL, TESTS_BESIDE = range(11, 19)
FULFILS, SLIDES, COUNTS = range(19, 22)  # where the functions of `row_calls` are
HEADER_FIELDS = 22
EMIT, VISIT, COUNT, PAIRS = range(4)
LEAVES = {"rows": EMIT, "visit": VISIT, "count": COUNT, "pairs": PAIRS}
LEVELS_NOT_VISITED = {"rows": 0, "visit": 0, "count": 1, "pairs": 2}


class Program(NamedTuple):
    """A row plan as integers, int64, see the fields above.

    `lists` has for each list of rows or arcs that the plan reads the addresses of its arrays. Lists of rows have
    neighbours (int32), times, rows, and what is tested beside times (int64). Lists of arcs have ends (int32) and, in
    place of times, the number of each arc where they are not in the order of arcs. `conditions`, `columns` and `code`
    are those of `Conditions`.
    """

    header: np.ndarray
    steps: np.ndarray
    vertices: np.ndarray
    edges: np.ndarray
    refs: np.ndarray
    lists: np.ndarray
    conditions: np.ndarray
    columns: np.ndarray
    code: np.ndarray


def encode(plan: RowPlan, lists: ListTable, masked: Sequence[bool], conditions: Conditions) -> Program:
    """The program of a plan.

    Parameters
    ----------
    plan : RowPlan
    lists : ListTable
        The lists of its relations.
    masked : sequence of bool
        Of each pattern vertex, whether it has a mask.
    conditions : Conditions
        Those of the pattern; they hold the columns that the program reads.
    """
    pattern, refs = plan.pattern, _Refs()
    root = plan.steps[0]
    steps = np.zeros((len(plan.steps), STEP_FIELDS), np.int64)
    vertices = np.zeros((pattern.n_vertices, VERTEX_FIELDS), np.int64)
    edges = np.zeros((max(len(pattern.edges), 1), EDGE_FIELDS), np.int64)
    header = np.zeros(HEADER_FIELDS, np.int64)
    header[STEPS], header[LEAF] = len(plan.steps), LEAVES[plan.leaf]
    header[LAST] = len(plan.steps) - 1 - LEVELS_NOT_VISITED[plan.leaf]
    header[MEETING] = header[FILTERED] = -1
    header[TESTS_BESIDE] = pattern.column_windows is not None
    columns = {e: i for i, e in enumerate(pattern.bound_edges)}
    for e, (row, edge) in enumerate(zip(edges, pattern.edges, strict=False)):
        row[SOURCE], row[TARGET] = edge.ends
        row[ROW_COLUMN] = -1 if pattern.existential else columns.get(e, -1)
    bound_vertices: list[int] = []
    bound_edges: list[int] = []
    searched: list[int] = []
    tested: set[int] = set()
    for index, (row, step) in enumerate(zip(steps, plan.steps, strict=True)):
        row[KIND], row[START] = KINDS[step.kind], step.start
        row[VERTEX] = step.binds[-1] if step.binds else -1
        beside = plan.counted_beside(index)
        for v in step.binds:
            earlier = [u for u in bound_vertices if beside is None or u not in beside.binds]
            _encode_vertex(vertices[v], v, pattern, earlier, refs, lists)
            vertices[v][MASKED] = masked[v]
            vertices[v][MORE] = masked[v] or any(vertices[v][end] > vertices[v][end - 1] for end in VERTEX_RANGES)
            bound_vertices.append(v)
        row[EDGE] = step.edges[0] if step.edges else -1
        for e in step.edges:
            _encode_lists(edges[e], row, pattern, e, step, lists)
            if pattern.existential and pattern.edges[e].bound:
                searched.append(e)
            elif pattern.edges[e].bound:
                apart = step.edges if step.kind == "meet" else () if beside is None else beside.edges
                known = [b for b in bound_edges if b not in apart]
                implied = {root.edges[0]} if step.kind == "meet" and e == step.edges[0] else set()
                _encode_edge(edges[e], e, plan, known, bound_edges, implied, refs)
                bound_edges.append(e)
        if step.kind == "meet":
            _encode_meeting(header, row, plan, lists, index, masked, refs)
        names = _decidable(pattern, tested, bound_vertices, bound_edges)
        row[CONDITION], row[CONDITION_END] = refs.append(names)
        tested.update(names)
        later_arc = index + 1 < len(plan.steps) and plan.steps[index + 1].kind == "arc"
        row[SEARCH] = len(searched) if searched and not later_arc else 0
    if plan.leaf == "pairs":
        _encode_pair(header, plan)
    last = plan.steps[-1]
    if last.kind in ("scan", "close", "meet") and steps[-1][CONDITION] == steps[-1][CONDITION_END]:
        compared = {e for pair in (*pattern.row_order, *pattern.compared_rows) for e in pair}
        header[PLAIN] = not compared & set(last.edges)
    if plan.leaf == "count" and not header[PLAIN]:
        header[LEAF], header[LAST] = VISIT, len(plan.steps) - 1
    header[SEARCHED], header[SEARCHED_END] = refs.append(searched)
    for k, e in enumerate(searched):
        _encode_edge(edges[e], e, plan, searched[:k], [], set(), refs)
        edges[e][TESTED], edges[e][TESTED_END] = refs.append(_searched_conditions(plan, searched, k))
    arrays = header, steps.ravel(), vertices.ravel(), edges.ravel(), refs.array(), lists.addresses()
    return Program(*arrays, conditions.table, conditions.columns, conditions.code)


class _Refs(list):
    """Short lists of integers, one after the other."""

    def append(self, values):
        """Append values; where they begin and end."""
        self.extend(values)
        return len(self) - len(values), len(self)

    def array(self):
        return np.array(self or [0], np.int64)


def _encode_vertex(row, v, pattern: RowPattern, earlier, refs, lists):
    row[COLUMN] = v
    row[DIFFERS], row[DIFFERS_END] = refs.append([u for u in earlier if pattern.must_differ(u, v)])
    row[ABOVE], row[ABOVE_END] = refs.append([u for u, w in pattern.vertex_order if w == v and u in earlier])
    row[BELOW], row[BELOW_END] = refs.append([w for u, w in pattern.vertex_order if u == v and w in earlier])
    forbidden = []
    for u, w, relation in pattern.forbidden:
        if (u == v and w in earlier) or (w == v and u in earlier):
            forbidden += [lists.number(relation, "arcs"), w if u == v else u, int(u == v)]
    row[FORBIDDEN], row[FORBIDDEN_END] = refs.append(forbidden)


def _encode_lists(edge_row, step_row, pattern, e, step, lists):
    """The lists that a step reads for an edge."""
    edge = pattern.edges[e]
    if step.kind in ("rows", "scan"):
        step_row[LIST] = lists.number(edge.relation, "source" if step.start == edge.source else "target")
    if step.kind == "neighbours":
        step_row[LIST] = lists.number(edge.relation, "arcs" if step.start == edge.source else "arcs_in")
    if step.kind in ("close", "arc"):
        edge_row[ARCS] = lists.number(edge.relation, "arcs")
    if step.kind == "close" or (edge.bound and pattern.existential):
        edge_row[ROWS_OF_ARC] = lists.number(edge.relation, "arc")


def _encode_edge(row, e, plan: RowPlan, known, earlier, implied, refs):
    """What the row of an edge is compared with: `known` edges in time, all `earlier` ones by row."""
    pattern, by_column = plan.pattern, plan.by_column
    row[WINDOW], row[WINDOW_END] = refs.append(bounds_of(pattern, e, known, implied, by_column=by_column))
    if pattern.column_windows is not None:
        row[BESIDE], row[BESIDE_END] = refs.append(bounds_of(pattern, e, known, by_column=not by_column))
    others = [p if q == e else q for p, q in pattern.compared_rows if e in (p, q)]
    row[OTHER_ROW], row[OTHER_ROW_END] = refs.append([b for b in others if b in earlier])
    row[AFTER], row[AFTER_END] = refs.append([p for p, q in pattern.row_order if q == e and p in earlier])
    row[BEFORE], row[BEFORE_END] = refs.append([q for p, q in pattern.row_order if p == e and q in earlier])


def _encode_meeting(header, row, plan, lists, index, masked, refs):
    """How the rows at the first step's vertex are kept."""
    pattern, root, step = plan.pattern, plan.steps[0], plan.steps[index]

    def bound(b, e, by_column=plan.by_column):
        return refs.append(bound_between(pattern, b, e, by_column=by_column))[0]

    first, group, from_root = step.edges[0], root.start, root.edges[0]
    edge = pattern.edges[first]
    header[MEETING], header[HOPS] = index, len(step.edges)
    row[LIST] = lists.number(edge.relation, "source" if edge.source == group else "target")
    header[SLIDE] = bound(from_root, first)
    if len(step.edges) == 2:
        second, inner = step.edges[1], step.binds[0]
        hop = pattern.edges[second]
        row[HOP_EDGE] = second
        row[HOP_LIST] = lists.number(hop.relation, "source" if hop.source == inner else "target")
        header[HOP], header[HOP_ROOT] = bound(first, second), bound(from_root, second)
        header[HOP_BESIDE] = bound(first, second, not plan.by_column)
        header[HOP_DIFFERS] = pattern.must_differ(group, step.start)
    header[FILTERED] = step.start
    mirrored = pattern.column_windows is None and bool(step.binds) and not masked[step.binds[0]]
    header[SEVERAL] = mirrored and _mirrors_the_walk(plan, index)


def _mirrors_the_walk(plan, index):
    """Whether the walk reaches a meeting's vertex by a path that is kept too, through a vertex that must be another."""
    pattern, steps, windows = plan.pattern, plan.steps, plan.pattern.windows
    meeting, root = steps[index], steps[0]
    scan = next((step for step in steps[:index] if meeting.start in step.binds), root)
    if len(meeting.edges) < 2 or scan.kind != "scan" or scan.start != root.binds[-1]:
        return False
    inner, other = meeting.binds[0], scan.start
    (first, second), walked, onward = meeting.edges, root.edges[0], scan.edges[0]
    for edge, kept_from, mirrored, walked_from in (
        (first, root.start, walked, root.start),
        (second, inner, onward, other),
    ):
        one, two = pattern.edges[mirrored], pattern.edges[edge]
        if one.relation != two.relation or (one.source == walked_from) != (two.source == kept_from):
            return False
    in_window = windows[walked][first] >= 0 and windows[first][walked] >= 0
    as_long = windows[walked][onward] <= windows[first][second] and windows[onward][walked] <= windows[second][first]
    not_too_early = windows[onward][walked] <= windows[second][walked]
    return bool(in_window and as_long and not_too_early and pattern.must_differ(inner, other))


def _encode_pair(header, plan):
    """The bounds between the last two steps."""
    windows = plan.pattern.windows
    one, other = plan.steps[-2], plan.steps[-1]
    first, second = one.edges[0], other.edges[0]
    header[BETWEEN_LOW], header[BETWEEN_HIGH] = -windows[second][first], windows[first][second]
    both = one.binds and other.binds
    header[PAIR_DIFFERS] = bool(both and plan.pattern.must_differ(one.binds[0], other.binds[0]))


def _decidable(pattern, tested, vertices, edges):
    """The conditions, not yet tested, whose names are bound; those that a search of rows tests are left to it."""
    return [
        i
        for i, condition in enumerate(pattern.conditions)
        if i not in tested
        and set(condition.vertices) <= set(vertices)
        and set(condition.edges) <= set(edges)
        and not (pattern.existential and condition.edges)
    ]


def _searched_conditions(plan, searched, k):
    """Pairs (condition, first step at which its vertices are bound) of those whose last edge is `searched[k]`."""
    pairs, pattern = [], plan.pattern
    for i, condition in enumerate(pattern.conditions):
        if searched[k] in condition.edges and set(condition.edges) <= set(searched[: k + 1]):
            bound: set[int] = set()
            for index, step in enumerate(plan.steps):
                bound.update(step.binds)
                if set(condition.vertices) <= bound:
                    pairs += [i, index]
                    break
    return pairs
