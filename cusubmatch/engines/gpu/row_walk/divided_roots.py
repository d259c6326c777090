"""Rows of the first step divided between two orders of steps, each row to the one that visits less for it.

What a row takes is the number of partial matches of the step that is visited last: the second of three steps, since the
third is counted by the width of a window, or the third of four. Of the third step the numbers are bounded by windows
against one bound row; those at the rows of the second step are summed up over its range by prefix sums. A row that one
of the orders has nothing for is left out: bounds of 0 are exact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.row_walk import row_format as f
from cusubmatch.engines.gpu.row_walk.opened_rows import OpenedRows, open_rows
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.prepared import PreparedRows
from cusubmatch.engines.runs import TaskRange
from cusubmatch.plan.rows.root_orders import other_order, third_step

__all__ = ["divide_roots"]

WORTH = 1.25  # the whole has to take as many times what the parts take


def divide_roots(
    gpu: Device, xp: Any, opened: OpenedRows, prepared: PreparedRows, tasks: TaskRange | None
) -> tuple[OpenedRows, ...]:
    """An order of steps, or it and another one with the rows divided between them."""
    plan = opened.plan
    if opened.lengths is None or int(opened.program.words[f.LEAF]) != f.WIDTHS:
        return (opened,)
    steps = other_order(plan.pattern, plan.steps)
    if steps is None or int(opened.lengths.sum(dtype=np.int64)) < max(gpu.tunables.min_divided_tasks, 1):
        return (opened,)
    other = open_rows(gpu, xp, replace(plan, steps=steps), prepared, tasks)
    if int(other.program.words[f.LEAF]) != f.WIDTHS:
        return (opened,)
    work, more = (_work(gpu, xp, order, prepared, tasks) for order in (opened, other))
    least = xp.minimum(work, more)
    if WORTH * int(least.sum()) > int(work.sum()):
        return (opened,)
    nothing, here = xp.uint32(0), work <= more
    opened.lengths = xp.where(here & (least > 0), opened.lengths, nothing)
    other.lengths = xp.where(here | (least == 0), nothing, other.lengths)
    return opened, other


def _work(gpu, xp, opened, prepared, tasks):
    """Of each row of the first step how many partial matches are visited for it, int64."""
    lengths = opened.lengths.astype(np.int64)
    if len(opened.plan.steps) == 3:
        return lengths
    third = third_step(opened.plan.pattern, opened.plan.steps)
    plan = replace(opened.plan, steps=third.steps)
    if third.at_root:
        return lengths * open_rows(gpu, xp, plan, prepared, tasks).lengths
    there = open_rows(gpu, xp, plan, prepared, None)
    sums = xp.zeros(there.n + 1, np.int64)
    sums[1:] = xp.cumsum(there.lengths, dtype=np.int64)
    begins = xp.where(opened.lengths > 0, opened.begins.astype(np.int64) - there.first, 0)
    return sums[begins + lengths] - sums[begins]
