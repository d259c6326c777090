"""A walk for few rows that goes over to another matching order where the first one finds them late.

One order may meet hundreds of dead ends for each row, and another one none; no estimate tells which. So where the first
order has not found half of the rows for some work, others are tried for a part of that, and the best one is walked.
That is done once, by one thread: whatever takes longer is then divided among all.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable

from cusubmatch.engines.cpu.search.run import Run
from cusubmatch.engines.runs import RunOptions
from cusubmatch.plan import Plan

__all__ = ["run_for_few_rows"]

FIRST_TURN = 1 << 19  # units of work, see `Run`: many times what it takes to plan rivals
TRIAL_UNITS = 1 << 17  # for which each rival is tried
TRIAL_ROWS = 1 << 10  # of its first block: what it finds is dropped


def run_for_few_rows(
    run_by: Callable[[Plan, RunOptions], Run], plan: Plan, options: RunOptions, rivals: Callable[[], Iterable[Plan]]
) -> Run:
    """A run that finds enough rows soon, by a plan or one of its rivals; it may have begun.

    `run_by(plan, options)` gives a run of a plan, and `rivals()` the other plans.
    """
    run = run_by(plan, options)
    if not run.turn(FIRST_TURN) or run.work_left <= run.work:
        return run
    tried = dataclasses.replace(options, first_rows=TRIAL_ROWS, progress=None)
    works = [(_work_of(run_by(rival, tried)), rival) for rival in rivals()]
    least, best = min(works, key=lambda work: work[0], default=(math.inf, plan))
    if least >= run.work_left:
        return run
    run.leave()
    return run_by(best, options)


def _work_of(run: Run) -> float:
    """About how much work a run takes, which is tried."""
    work = run.work_left + run.work if run.turn(TRIAL_UNITS) else run.work
    run.leave()
    return work
