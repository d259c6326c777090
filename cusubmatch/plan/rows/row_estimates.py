"""Estimates for row plans: how many partial matches a step has, and the nanoseconds that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from cusubmatch.plan.conditions.bounds import NO_BOUND
from cusubmatch.plan.rows.row_plan import RowPattern, RowStep
from cusubmatch.plan.rows.row_statistics import SOURCE, TARGET, RowStatistics
from cusubmatch.plan.rows.row_steps import bound_by

__all__ = ["BIND_NS", "FILTERED_LOOK_UP_NS", "LOOK_UP_NS", "Progress", "RowEstimates"]

SEVERAL_WINDOWS_SHARE = 1 / 2  # of the smallest of several windows that overlap
ROOT_NS, OPEN_NS, TEST_NS, BIND_NS, LOOK_UP_NS, MEET_NS, PAIR_NS = 8.0, 50.0, 1.5, 8.0, 100.0, 6.0, 3.0
PASS_NS = 3.0  # passing over a kept path
KEEP_NS, KEEP_FAR_NS, NEAR_PATHS = 12.0, 200.0, 1 << 15  # keeping a path; where more are kept than caches hold
FILTERED_LOOK_UP_NS = 20.0  # of an arc, where a filter tells most absent ones
CONDITION_NS = 40.0
MOST_REACHED = 2  # rows of a vertex that its degree is estimated by


class Progress(NamedTuple):
    """What a walk has cost, in nanoseconds, and how many partial matches it has."""

    cost: float
    matches: float


@dataclass(frozen=True)
class RowEstimates:
    """Estimates for one pattern on the rows of its relations.

    Attributes
    ----------
    pattern : RowPattern
    statistics : RowStatistics
    look_up_ns : float
        Nanoseconds of looking up an arc.
    by_column : bool
        Whether rows lie in the order of the column of `pattern.column_windows`, not of time.
    """

    pattern: RowPattern
    statistics: RowStatistics
    look_up_ns: float = LOOK_UP_NS
    by_column: bool = False

    def begin(self, step: RowStep) -> Progress:
        """The first step."""
        kept = self._kept(step, ())
        if step.kind == "vertices":
            n = kept * self.statistics.n_vertices
            return Progress(n * BIND_NS, n)
        rows = self.statistics.rows(self.pattern.edges[step.edges[0]].relation)
        return Progress(rows * (ROOT_NS + kept * BIND_NS), rows * kept)

    def follow(self, before: Progress, steps: Sequence[RowStep], step: RowStep) -> Progress:
        """A step after others."""
        n, kept = before.matches, self._kept(step, steps)
        if step.kind == "meet":
            return self._meet(before, steps, step, kept)
        edge = step.edges[0]
        if step.kind in ("scan", "neighbours"):
            looked_at = n * self._rows_looked_at(steps, edge, step.start)
            found = n * self._rows_found(steps, edge, step.start)
            spent = n * OPEN_NS + looked_at * TEST_NS
            spent += found * (self._asked(step, steps) * CONDITION_NS + kept * BIND_NS)
            return Progress(before.cost + spent, found * kept)
        found = n * self._rows_between(steps, edge)
        if step.kind == "arc":
            found = min(found, n)
        return Progress(before.cost + n * self.look_up_ns + found * BIND_NS, found * kept)

    def measured(self, before: Progress, _steps: Sequence[RowStep], step: RowStep) -> Progress:
        """A last step whose rows are counted by windows."""
        spent = self.look_up_ns if step.kind in ("close", "arc") else OPEN_NS
        return Progress(before.cost + before.matches * spent, before.matches)

    def pairs(self, before: Progress, steps: Sequence[RowStep], one: RowStep, other: RowStep) -> Progress:
        """Two last steps that are counted at once."""
        spent = 0.0
        for step in (one, other):
            edge = step.edges[0]
            if step.kind == "scan":
                spent += OPEN_NS + PAIR_NS * self._rows_found(steps, edge, step.start)
            else:
                spent += LOOK_UP_NS + PAIR_NS * self._rows_between(steps, edge)
        return Progress(before.cost + before.matches * spent, before.matches)

    def candidates(self, steps: Sequence[RowStep]) -> list[tuple[float, float]]:
        """For each step what it finds for a partial match, with the windows and conditions and without them."""
        free = ((NO_BOUND,) * len(self.pattern.edges),) * len(self.pattern.edges)
        without = replace(self, pattern=replace(self.pattern, windows=free, conditions=()))
        found, before = [], Progress(0.0, 1.0)
        for number, step in enumerate(steps):
            some, every = (
                one.follow(before, steps[:number], step) if number else one.begin(step) for one in (self, without)
            )
            share = max(before.matches, np.finfo(float).tiny)
            found.append((some.matches / share, every.matches / share))
            before = some
        return found

    def _meet(self, before, steps, step, kept):
        """Paths are kept for each row at the first vertex; where none ends, the step before binds nothing."""
        first, root, last = step.edges[0], steps[0], step.edges[-1]
        n, looked_at = self.statistics.rows(self._relation(first)), 0.0
        kept_at_once = self._rows_looked_at(steps[:1], first, root.start)
        if step.binds:
            onward = (RowStep("rows", (first,), root.start, step.binds),)
            hops = self._rows_found(onward, last, step.binds[0])
            looked_at = n * self._rows_looked_at(onward, last, step.binds[0])
            kept_at_once, n = kept_at_once * hops, n * (1 + hops)
            onward = (*steps, RowStep("scan", (last,), step.start, step.binds))
            paths = self._rows_found(steps, last, step.start) * self._rows_between(onward, first)
        else:
            paths = self._rows_between(steps, first)
        build = looked_at * TEST_NS + n * (KEEP_NS if kept_at_once < NEAR_PATHS else KEEP_FAR_NS)
        ends_there = self._degree(steps, last, step.start) / max(self.statistics.rows(self._relation(last)), 1)
        chain = kept_at_once * ends_there
        reached = before.matches * min(1.0, chain)
        spared = (before.matches - reached) * BIND_NS if step.start in steps[-1].binds else 0.0
        found = before.matches * paths
        spent = build + reached * MEET_NS + before.matches * chain * PASS_NS + found * BIND_NS
        return Progress(before.cost - spared + spent, found * kept)

    def _relation(self, edge):
        return self.pattern.edges[edge].relation

    def _rows_found(self, steps, edge, start):
        """Rows of an edge at the image of a bound vertex, within the window that bound edges leave."""
        return self._rows_looked_at(steps, edge, start) * self._tested_share(steps, edge, start)

    def _rows_looked_at(self, steps, edge, start):
        """Those rows within the windows that are found by binary search."""
        return self._degree(steps, edge, start) * self._window_share(steps, edge, start)

    def _rows_between(self, steps, edge):
        """Rows of an edge between the images of two bound vertices, within the window."""
        source, target, relation, bound = self.pattern.edges[edge]
        ends = self._degree(steps, edge, source) * self._degree(steps, edge, target)
        share = self._window_share(steps, edge, source) * self._tested_share(steps, edge, source) if bound else 1.0
        return ends / max(self.statistics.rows(relation), 1) * share

    def _degree(self, steps, edge, vertex):
        """Expected rows of an edge at the image of a vertex, which bound edges have led to."""
        reached = []
        for step in steps:
            for e in step.edges:
                if vertex in self.pattern.edges[e].ends and len(reached) < MOST_REACHED:
                    reached.append((self.pattern.edges[e].relation, self._end(e, vertex)))
        return self.statistics.mean_degree(self.pattern.edges[edge].relation, self._end(edge, vertex), reached)

    def _end(self, edge, vertex):
        return SOURCE if vertex == self.pattern.edges[edge].source else TARGET

    def _window_share(self, steps, edge, vertex):
        """The share of a vertex's rows that bound edges leave an edge, by what rows are sorted by."""
        share = self._share_by_column if self.by_column else self._share_by_time
        return share(steps, edge, vertex)

    def _tested_share(self, steps, edge, vertex):
        """The share of those that the other windows leave."""
        if self.pattern.column_windows is None:
            return 1.0
        share = self._share_by_time if self.by_column else self._share_by_column
        return share(steps, edge, vertex)

    def _share_by_column(self, steps, edge, _vertex):
        windows = self.pattern.column_windows
        bounds = [windows.share(other, edge) for step in steps for other in step.edges]
        shares = [share for share in bounds if share < 1.0]
        return min(shares, default=1.0) * (SEVERAL_WINDOWS_SHARE if len(shares) > 1 else 1.0)

    def _share_by_time(self, steps, edge, vertex):
        if not self.pattern.edges[edge].bound:
            return 1.0
        windows, relation, end = self.pattern.windows, self.pattern.edges[edge].relation, self._end(edge, vertex)
        shares = [
            self.statistics.share_in_window(relation, end, -windows[edge][other], windows[other][edge])
            for step in steps
            for other in step.edges
            if min(windows[edge][other], windows[other][edge]) < NO_BOUND
        ]
        return min(shares, default=1.0) * (SEVERAL_WINDOWS_SHARE if len(shares) > 1 else 1.0)

    def _asked(self, step, steps):
        """How many conditions are tested at a step."""
        return len(self._decidable((*steps, step))) - len(self._decidable(steps))

    def _decidable(self, steps):
        """The conditions, by position, whose names are bound."""
        if not self.pattern.conditions:
            return []
        vertices, edges = bound_by(steps)
        return [
            i
            for i, condition in enumerate(self.pattern.conditions)
            if set(condition.vertices) <= vertices and set(condition.edges) <= edges
        ]

    def _kept(self, step, steps):
        """The share of what a step binds that masks, orders and conditions keep."""
        vertices = {v for other in steps for v in other.binds}
        now = vertices | set(step.binds)
        share = 1.0
        for v in step.binds:
            if self.pattern.candidates and self.pattern.candidates[v] is not None:
                share *= self.pattern.candidates[v] / max(self.statistics.n_vertices, 1)
        for pair in self.pattern.vertex_order:
            share *= 0.5 if set(pair) <= now and not set(pair) <= vertices else 1.0
        before = self._decidable(steps)
        for i in self._decidable((*steps, step)):
            share *= 1.0 if i in before else self.statistics.share_fulfilled(self.pattern.conditions[i])
        return share
