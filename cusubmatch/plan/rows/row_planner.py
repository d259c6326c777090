"""The order in which a row walk binds edges: the cheapest by estimates, found by a beam search.

Every order in which the bound part stays connected is possible, from every edge or vertex. Orders that have bound the
same edges from the same first step go on alike, so the cheapest of them is kept (dynamic programming as for joins:
Selinger and others, SIGMOD 1979), and of all of one length only a bounded number.
"""

from __future__ import annotations

from typing import NamedTuple

from cusubmatch.plan.rows.root_orders import are_apart
from cusubmatch.plan.rows.row_estimates import BIND_NS, FILTERED_LOOK_UP_NS, LOOK_UP_NS, Progress, RowEstimates
from cusubmatch.plan.rows.row_plan import RowPattern, RowPlan, RowStep
from cusubmatch.plan.rows.row_statistics import RowStatistics
from cusubmatch.plan.rows.row_steps import can_be_measured, can_be_pairs, first_steps, leaf_of, next_steps

__all__ = ["plan_rows"]

BEAM = 24  # orders of one length that are followed
DIVIDED_SHARE = 3 / 4  # of the cost where each row of the first step may be walked in one of two orders


class _Order(NamedTuple):
    """Steps, what they cost, and what they cost without the last one."""

    steps: tuple[RowStep, ...]
    progress: Progress
    before: Progress

    @property
    def done(self) -> frozenset[int]:
        return frozenset(e for step in self.steps for e in step.edges)

    @property
    def key(self):
        """What those that go on alike have in common; a last step may be counted with the next one."""
        return self.steps[0], self.done, any(step.kind == "meet" for step in self.steps), self.steps[-1]

    @property
    def rank(self) -> float:
        return self.progress.cost + self.progress.matches * BIND_NS


def plan_rows(pattern: RowPattern, statistics: RowStatistics, count: bool, *, stepwise: bool = False) -> RowPlan:
    """The plan of a walk over rows.

    Parameters
    ----------
    pattern : RowPattern
        Connected.
    statistics : RowStatistics
        Of its relations.
    count : bool
        Whether matches are only counted.
    stepwise : bool
        Whether each step is taken alone: no paths are kept, no two steps are counted together, and a filter tells most
        arcs that are not there.
    """
    look_up_ns = FILTERED_LOOK_UP_NS if stepwise else LOOK_UP_NS
    orders = (False, True) if pattern.column_windows is not None else (False,)
    estimates = (RowEstimates(pattern, statistics, look_up_ns, by_column) for by_column in orders)
    return min((_cheapest(one, count, stepwise) for one in estimates), key=lambda plan: plan.cost)


def _cheapest(estimates: RowEstimates, count: bool, stepwise: bool) -> RowPlan:
    """The plan that estimates take for the cheapest."""
    pattern = estimates.pattern
    by_length: list[list[_Order]] = [[] for _ in range(len(pattern.edges) + 1)]
    for step in _first_steps(pattern):
        progress = estimates.begin(step)
        by_length[len(step.edges)].append(_Order((step,), progress, Progress(0.0, 1.0)))
    for length in range(len(pattern.edges)):
        for order in _beam(by_length[length]):
            for step in next_steps(pattern, order.steps):
                if stepwise and step.kind == "meet":
                    continue
                ends_count = count and length + len(step.edges) == len(pattern.edges)
                progress = _follow(estimates, order, step, ends_count, stepwise)
                by_length[length + len(step.edges)].append(_Order((*order.steps, step), progress, order.progress))
    best = min(by_length[-1], key=lambda order: order.progress.cost)
    leaf = "rows"
    if count:
        leaf = "count" if stepwise and len(best.steps) > 1 else leaf_of(pattern, best.steps)
    return RowPlan(pattern, best.steps, leaf, best.progress.cost, estimates.by_column)


def _first_steps(pattern):
    """First steps that can be cheapest: all rows of an edge beat all vertices and then their rows."""
    restricted = [v for v, size in enumerate(pattern.candidates) if size is not None]
    steps = list(first_steps(pattern))
    by_rows = any(step.kind == "rows" for step in steps)
    return [step for step in steps if step.kind == "rows" or not by_rows or step.start in restricted]


def _follow(estimates, order, step, ends_count, stepwise):
    """The progress after one more step, which a count may end with."""
    pattern, (*earlier, last) = estimates.pattern, order.steps
    if ends_count and stepwise:
        if not can_be_measured(pattern, step):
            return estimates.follow(order.progress, order.steps, step)
        progress = estimates.measured(order.progress, order.steps, step)
        divided = are_apart(pattern, (*order.steps, step))
        return progress._replace(cost=DIVIDED_SHARE * progress.cost) if divided else progress
    if ends_count and earlier and can_be_pairs(pattern, last, step):
        return estimates.pairs(order.before, earlier, last, step)
    return estimates.follow(order.progress, order.steps, step)


def _beam(orders):
    """The cheapest order of each kind, and of those the cheapest."""
    best: dict = {}
    for order in orders:
        other = best.get(order.key)
        if other is None or order.rank < other.rank:
            best[order.key] = order
    return sorted(best.values(), key=lambda order: order.rank)[:BEAM]
