"""A row plan as the words of a program, and the 64-bit numbers that it refers to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.row_walk import row_format as f
from cusubmatch.engines.gpu.row_walk.condition_code import ConditionTable, column_places
from cusubmatch.engines.gpu.row_walk.device_rows import DeviceRows
from cusubmatch.plan.rows.needed_bounds import needed_bounds
from cusubmatch.plan.rows.row_plan import RowPlan, RowStep

__all__ = ["RowProgram", "encode", "stepwise"]


class RowProgram(NamedTuple):
    """What the walker is told.

    Attributes
    ----------
    words : uint32 array
    bounds : int64 array
        Of windows, in pairs.
    asks_more : bool
        Whether conditions are tested, or combinations of rows searched for.
    """

    words: np.ndarray
    bounds: np.ndarray
    asks_more: bool


def stepwise(plan: RowPlan, *, counting: bool) -> RowPlan:
    """The plan as this engine walks it: it keeps no paths, and counts the last step alone.

    The first step's rows are grouped by the vertex whose rows the second one reads, so that warps find these in caches.
    """
    plan = plan.without_meeting()
    first, *others = plan.steps
    if first.kind == "rows" and others and others[0].kind == "scan" and others[0].start == first.binds[1]:
        first = RowStep("rows", first.edges, first.binds[1], first.binds[::-1])
    return replace(plan, steps=(first, *others), leaf="count" if counting else "rows")


def encode(
    plan: RowPlan, rows: DeviceRows, masked: Sequence[bool], conditions: ConditionTable, warp: int
) -> RowProgram:
    """The program of a plan.

    Parameters
    ----------
    plan : RowPlan
        As `stepwise` gives it.
    rows : DeviceRows
    masked : sequence of bool
        Of each pattern vertex, whether it has a mask.
    conditions : ConditionTable
    warp : int
        Lanes of a warp.
    """
    return _Encoder(plan, rows, masked, conditions, warp).program()


class _Encoder:
    """Words as they are written; numbers of vertices are those of the order in which they are bound."""

    def __init__(self, plan, rows, masked, conditions, warp):
        self.plan, self.pattern, self.rows, self.warp = plan, plan.pattern, rows, warp
        self.masked, self.conditions = masked, conditions
        self.refs: list[int] = []
        self.bounds: list[int] = []
        self.number: dict[int, int] = {}  # of pattern vertices
        self.level: dict[int, int] = {}  # of pattern edges
        self.searched: list[int] = []
        self.tested: set[int] = set()
        self.vertices: list[list[int]] = []
        self.steps: list[list[int]] = []
        n = len(plan.steps)
        self.base = f.HEADER + n * f.STEP + plan.pattern.n_vertices * f.VERTEX  # where the refs begin

    def program(self) -> RowProgram:
        for level, step in enumerate(self.plan.steps):
            self.steps.append(self._step(level, step))
        self._look_ahead()
        header = self._header()
        words = [*header, *(w for step in self.steps for w in step), *(w for v in self.vertices for w in v), *self.refs]
        words[f.SIZE] = len(words)
        asks_more = bool(self.searched or self.pattern.conditions)
        bounds = np.array(self.bounds or [0], np.int64)
        return RowProgram(np.array(words, np.int64).astype(np.uint32), bounds, asks_more)

    def _look_ahead(self):
        """Let a step that binds an end of the next step's arc look that up in the filter of arcs."""
        for row, following in zip(self.steps, [*self.steps[1:], None], strict=True):
            row[f.AHEAD] = f.NOTHING
            if following is None or following[f.KIND] not in (f.CLOSE, f.ARC) or row[f.BINDS] == f.NOTHING:
                continue
            ends = following[f.SOURCE], following[f.TARGET]
            if row[f.BINDS] in ends:
                row[f.AHEAD_SOURCE] = int(row[f.BINDS] == ends[0])
                row[f.AHEAD] = ends[row[f.AHEAD_SOURCE]]
                row[f.AHEAD_FILTER], row[f.AHEAD_SHIFT] = following[f.FILTER], following[f.FILTER_SHIFT]

    def _append(self, values):
        """Append a short list; where it begins and ends."""
        begin = self.base + len(self.refs)
        self.refs += values
        return begin, begin + len(values)

    def _header(self):
        plan, pattern = self.plan, self.pattern
        header, n = [0] * f.HEADER, len(plan.steps)
        header[f.STEPS], header[f.LAST], header[f.LEAF] = n, n - 1, self._leaf()
        header[f.FLAT] = 1 if n > 1 and not (n == 2 and header[f.LEAF] == f.WIDTHS) else 0
        header[f.LEVELS] = f.STACK_HEADER + n * f.LEVEL_HEADER
        header[f.STACK_WORDS] = header[f.LEVELS] + (n * f.SLOT_FIELDS + 1) * self.warp
        first = plan.steps[0]
        if first.kind == "rows":
            header[f.OWNERS] = self.rows.lists[self._list_key(first)].first
        header[f.STEP_RECORDS], header[f.VERTEX_RECORDS] = f.HEADER, f.HEADER + n * f.STEP
        header[f.COLUMNS], end = self._append([self.number[v] for v in range(pattern.n_vertices)])
        header[f.N_COLUMNS] = pattern.n_vertices
        bound = () if pattern.existential else pattern.bound_edges
        header[f.ROW_COLUMNS], end = self._append([self.level[e] for e in bound])
        header[f.N_ROW_COLUMNS] = end - header[f.ROW_COLUMNS]
        header[f.SEARCHED], _ = self._append([0] * (len(self.searched) * f.SEARCHED_EDGE))
        for k in range(len(self.searched)):
            at = header[f.SEARCHED] + k * f.SEARCHED_EDGE - self.base
            self.refs[at : at + f.SEARCHED_EDGE] = self._searched_edge(k)
        header[f.CONDITIONS] = self._condition_records()
        header[f.STACK_DEPTH] = self.conditions.depth
        return header

    def _leaf(self):
        """How the last step ends: its rows may be counted by ranges where they are compared with nothing else."""
        if not self.plan.counting:
            return f.EMIT
        step, last = self.plan.steps[-1], self.steps[-1]
        plain = all(last[x] == last[x + 1] for x in (f.ROW_TESTS, f.TESTED)) and not last[f.SEARCH]
        if len(self.plan.steps) == 1 or not plain or step.kind == "neighbours":
            return f.COUNT
        if step.kind == "scan":
            excluded = self._excluded(step)
            if excluded is None:
                return f.COUNT
            last[f.EXCLUDED], last[f.EXCLUDED_END] = self._append(excluded)
        return f.WIDTHS

    def _excluded(self, step):
        """The vertices whose rows a last scan does not count; None if it asks for more than other vertices."""
        vertex, pattern = self.vertices[self.number[step.binds[0]]], self.pattern
        if vertex[f.ABOVE] or vertex[f.BELOW] or vertex[f.MASK] != f.NO_MASK:
            return None
        if vertex[f.FORBIDDEN] != vertex[f.FORBIDDEN_END]:
            return None
        (new,) = step.binds
        others = [u for u in self.number if u not in (step.start, new) and pattern.must_differ(u, new)]
        if any(not pattern.must_differ(u, w) for u in others for w in others if u != w):
            return None  # rows might be taken off twice
        return [self.number[u] for u in others]

    def _list_key(self, step):
        edge = self.pattern.edges[step.edges[0]]
        if step.kind in ("rows", "scan"):
            return edge.relation, "source" if step.start == edge.source else "target"
        return edge.relation, "arcs" if step.start == edge.source else "arcs_in"

    def _step(self, level, step):
        pattern, row = self.pattern, [0] * f.STEP
        row[f.KIND], row[f.BINDS] = f.NAMES[step.kind], f.NOTHING
        for v in step.binds:
            self._vertex(v, level)
        row[f.START] = self.number[step.start]
        if step.kind != "vertices":
            self._arcs(row, step)
            if len(step.binds) == 2 or (step.binds and level):
                row[f.BINDS] = self.number[step.binds[-1]]
            edge = step.edges[0]
            if pattern.edges[edge].bound and pattern.existential:
                self.searched.append(edge)
            elif pattern.edges[edge].bound:
                row[f.WINDOW], row[f.WINDOW_END] = self._window(edge)
                row[f.ROW_TESTS], row[f.ROW_TESTS_END] = self._row_tests(edge)
            self.level[edge] = level
        names = self._decidable()
        row[f.TESTED], row[f.TESTED_END] = self._append(names)
        self.tested.update(names)
        following = self.plan.steps[level + 1].kind if level + 1 < len(self.plan.steps) else None
        row[f.SEARCH] = len(self.searched) if following != "arc" else 0
        return row

    def _arcs(self, row, step):
        edge = self.pattern.edges[step.edges[0]]
        row[f.SOURCE], row[f.TARGET] = self.number[edge.source], self.number[edge.target]
        row[f.ARCS], row[f.FIRST_ARC] = self.rows.lists[edge.relation, "arcs"]
        row[f.ROWS_OF_ARC] = self.rows.lists[edge.relation, "arc"].offsets
        row[f.FILTER], row[f.FILTER_SHIFT] = self.rows.filter_at[edge.relation]
        if step.kind in ("rows", "scan", "neighbours"):
            row[f.LIST] = self.rows.lists[self._list_key(step)].offsets
            row[f.REVERSED] = int(step.start != edge.source)

    def _vertex(self, v, level):
        pattern, earlier = self.pattern, dict(self.number)
        self.number[v] = len(self.number)
        row = [0] * f.VERTEX
        row[f.MASK], row[f.BOUND_AT] = v if self.masked[v] else f.NO_MASK, level
        row[f.DIFFERS] = sum(1 << k for u, k in earlier.items() if pattern.must_differ(u, v))
        row[f.ABOVE] = sum({1 << earlier[u] for u, w in pattern.vertex_order if w == v and u in earlier})
        row[f.BELOW] = sum({1 << earlier[w] for u, w in pattern.vertex_order if u == v and w in earlier})
        forbidden = []
        for u, w, relation in pattern.forbidden:
            if (u == v and w in earlier) or (w == v and u in earlier):
                arcs = self.rows.lists[relation, "arcs"].offsets
                forbidden += [arcs, earlier[w if u == v else u], int(u == v)]
        row[f.FORBIDDEN], row[f.FORBIDDEN_END] = self._append(forbidden)
        self.vertices.append(row)

    def _window(self, edge):
        refs = []
        known = [e for e in self.level if self.pattern.edges[e].bound]
        for other, low, high in needed_bounds(self.pattern, edge, known):
            refs += [self.level[other], len(self.bounds)]
            self.bounds += [low, high]
        return self._append(refs)

    def _row_tests(self, edge):
        pattern, tests = self.pattern, []
        for p, q in pattern.compared_rows:
            if edge in (p, q) and (p if q == edge else q) in self.level:
                tests += [self.level[p if q == edge else q], f.OTHER]
        tests += [x for p, q in pattern.row_order if q == edge and p in self.level for x in (self.level[p], f.AFTER)]
        tests += [x for p, q in pattern.row_order if p == edge and q in self.level for x in (self.level[q], f.BEFORE)]
        return self._append(tests)

    def _decidable(self):
        """The conditions, not yet tested, whose names are bound; those that a search tests are left to it."""
        return [
            i
            for i, condition in enumerate(self.pattern.conditions)
            if i not in self.tested
            and set(condition.vertices) <= set(self.number)
            and set(condition.edges) <= set(self.level)
            and not (self.pattern.existential and condition.edges)
        ]

    def _searched_edge(self, k):
        """The record of the edge that is searched for as the k-th."""
        edge, row = self.searched[k], [0] * f.SEARCHED_EDGE
        relation, level = self.pattern.edges[edge].relation, self.level[edge]
        step = self.plan.steps[level]
        incoming = step.kind == "neighbours" and self._list_key(step)[1] == "arcs_in"
        row[f.OF_ARC], row[f.ARC_LEVEL] = self.rows.lists[relation, "arc"].offsets, level
        row[f.ARC_BASE], row[f.BY_NUMBER] = self.rows.lists[relation, "arcs"].first, int(incoming)
        refs = []
        for other, low, high in needed_bounds(self.pattern, edge, self.searched[:k]):
            refs += [self.searched.index(other), len(self.bounds)]
            self.bounds += [low, high]
        row[f.AGAINST], row[f.AGAINST_END] = self._append(refs)
        row[f.ASKED], row[f.ASKED_END] = self._append(self._asked_of(k))
        return row

    def _asked_of(self, k):
        """Pairs (condition, first step at which its vertices are bound) of those whose last edge is the k-th."""
        pairs: list[int] = []
        for i, condition in enumerate(self.pattern.conditions):
            edges = set(condition.edges)
            if self.searched[k] in edges and edges <= set(self.searched[: k + 1]):
                bound: set[int] = set()
                for level, step in enumerate(self.plan.steps):
                    bound.update(step.binds)
                    if set(condition.vertices) <= bound:
                        pairs += [i, level]
                        break
        return pairs

    def _condition_records(self):
        """The records of conditions and what they refer to; where they begin."""
        records: list[int] = []
        for code, offsets, columns in self.conditions.programs:
            places: Any = column_places(columns, self.number, self.level, self.searched)
            begin, end = self._append(code)
            at, _ = self._append(places)
            ints, floats, lists = offsets
            records += [begin, end, ints, floats, self._append(lists)[0], at]
        return self._append(records)[0]
