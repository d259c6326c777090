"""Two orders of steps that begin alike: rows of the first step may be walked in the one or the other.

A path of three edges may go on from its middle edge to either end first. What goes first is visited row by row, and
the rest is counted by the width of a window. Where rows come in bursts and degrees differ, most rows have one side
that is far shorter, so each row is walked in the order that is shorter for it. With a fourth edge that closes a cycle,
the third step may lie at either of the two vertices that are joined; how many rows it meets is bounded by the window
that one bound row leaves it, and that is known, or summed up, before anything is walked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cusubmatch.plan.rows.row_plan import RowPattern, RowStep
from cusubmatch.plan.rows.row_steps import next_steps

__all__ = ["ThirdStep", "are_apart", "other_order", "third_step"]

Steps = tuple[RowStep, ...]


class ThirdStep(NamedTuple):
    """Where the third step of four can be opened before the second one is bound.

    Attributes
    ----------
    at_root : bool
        Whether it begins at a vertex of the first step's row; else at the one that the second step's row leads to.
    steps : tuple of RowStep
        An order in which it comes second, after the first step or after the rows of the second step's list.
    """

    at_root: bool
    steps: Steps


def other_order(pattern: RowPattern, steps: Sequence[RowStep]) -> Steps | None:
    """The other order of the last steps of a count; None if there is none."""
    if pattern.existential or len(steps) not in (3, 4) or steps[0].kind != "rows" or steps[1].kind != "scan":
        return None
    if len(steps) == 3:
        root, one, other = steps
        alike = other.kind == "scan" and other.start in root.binds and other.binds != one.binds
        return (root, other, one) if alike else None
    root, second, third, last = steps
    if third.kind != "scan" or last.kind != "close" or not set(pattern.edges[last.edges[0]].ends) & set(third.binds):
        return None
    (start,) = set(pattern.edges[last.edges[0]].ends) - set(third.binds)
    scan = RowStep("scan", last.edges, start, third.binds)
    return root, second, scan, RowStep("close", third.edges, pattern.edges[third.edges[0]].source, ())


def third_step(pattern: RowPattern, steps: Sequence[RowStep]) -> ThirdStep:
    """How the third of four steps can be opened beforehand."""
    root, second, third, _ = steps
    if third.start in root.binds:
        return ThirdStep(True, _completed(pattern, (root, third)))
    first = RowStep("rows", second.edges, second.start, (second.start, *second.binds))
    return ThirdStep(False, _completed(pattern, (first, third)))


def are_apart(pattern: RowPattern, steps: Sequence[RowStep]) -> bool:
    """Whether two orders differ in the rows that they visit: at different vertices, or before and after a row."""
    other = other_order(pattern, steps)
    if other is None:
        return False
    at = 1 if len(steps) == 3 else 2
    one, another, root = steps[at], other[at], steps[0].edges[0]
    e, f = one.edges[0], another.edges[0]
    windows = pattern.windows
    disjoint = windows[root][e] < -windows[f][root] or windows[root][f] < -windows[e][root]
    return one.start != another.start or disjoint


def _completed(pattern, steps):
    """The steps, and any that bind the rest."""
    while following := [step for step in next_steps(pattern, steps) if step.kind != "meet"]:
        steps = (*steps, following[0])
    return steps
