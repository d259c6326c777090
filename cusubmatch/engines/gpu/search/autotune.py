"""Choosing among rival plans by trying them: on skewed graphs estimates of order 10 apart say little.

Each plan counts below a sample of its first candidates (for the first two pattern vertices, since roots may be few),
the quickest ones below a larger sample; the quickest of these wins, and slow ones are stopped: among those the
estimates decide. A trial takes some milliseconds, so it is held only where the estimate is large, or where the plan
that is cheapest by the estimates takes long for the whole; once for a graph and pattern. What the winner took for both
samples tells what it will take for the whole; if that is little, it is measured.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

from cusubmatch.engines.base import Prepared
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.search.run import Run
from cusubmatch.errors import DeadlinePassed
from cusubmatch.plan import Plan
from cusubmatch.system.deadlines import check_deadline

__all__ = ["fastest_plan"]

ALTERNATIVES = 32
CHEAP_NS = 1e3  # of the best plan by the estimates: below this a wrong estimate does not matter
TRIAL_NS = 5e5  # from this estimate on a trial is held at once; below it, the best plan is measured first
ROUNDS = ((128, ALTERNATIVES), (8, 5))  # one first candidate of so many is looked at, for the best so many plans
LONGEST_S = 0.02  # that a plan is tried,
ROUND_S = 0.2  # and all of them; no more plans are tried then
LITTLE_S = 0.005
_compiled: set = set()  # kernels that have run in this process


def fastest_plan(gpu: Device, plans: Callable[..., list[Plan]], prepared: Prepared) -> Plan:
    """The plan that takes least time, by a trial if one is worth while; `plans(rivals=n)` gives the n cheapest."""
    first = plans(alternatives=1)[0]
    if first.cost < CHEAP_NS or first.leaf_mode == "rows" or first.walked == 0 or first.is_clique:
        return first
    if first.cost < TRIAL_NS:
        whole_s = _seconds(gpu, prepared, first, 1, LITTLE_S)
        if whole_s < float("inf"):
            return dataclasses.replace(first, cost=1e9 * whole_s)
    tried, taken = plans(alternatives=ALTERNATIVES), {}
    for every, alternatives in ROUNDS:
        tried = tried[:alternatives]
        if first not in tried:  # a small sample says little
            tried[-1] = first
        seconds = _by_time(gpu, prepared, tried, every)
        order = sorted(range(len(tried)), key=lambda i: (seconds[i], tried[i].cost))
        tried, taken[every] = [tried[i] for i in order], seconds[order[0]]
    whole_s = _extrapolated(tried[0], *taken.items())
    if whole_s < LITTLE_S:
        whole_s = min(_seconds(gpu, prepared, tried[0], 1, LONGEST_S), LONGEST_S)
    return dataclasses.replace(tried[0], cost=1e9 * whole_s)


def _extrapolated(plan, few, many):
    """The seconds of a plan for the whole, from the shares (one candidate of so many) and seconds of two samples."""
    (seldom, little), (often, more) = few, many
    if more == float("inf"):
        return max(1e-9 * plan.cost, LONGEST_S * often)
    if little == float("inf"):
        return more * often
    return max((more - little) / (1 / often - 1 / seldom), more)


def _by_time(gpu, prepared, plans, every):
    """The seconds that plans take for a sample; those that take twice as long as the best so far are stopped."""
    taken: list[float] = []
    spent_s = 0.0
    for plan in plans:
        limit = min(2 * min(taken, default=LONGEST_S), LONGEST_S)
        tried = spent_s < ROUND_S
        taken.append(_seconds(gpu, prepared, plan, every, limit) if tried else float("inf"))
        spent_s += min(taken[-1], limit)
    return taken


def _seconds(gpu, prepared, plan, every, limit):
    run = Run(prepared, plan, gpu=gpu, every=every)
    if run.kernel not in _compiled:
        _ends_within(run, 0.0)
        _compiled.add(run.kernel)
    pool = run.device_plan.pool
    pool.give_back(pool.take(run.device_plan.layout.stack))  # what a run broke off is made anew before the clock runs
    begin = time.perf_counter()
    ended = _ends_within(run, limit)
    return time.perf_counter() - begin if ended else float("inf")


def _ends_within(run, seconds):
    run.slice_s, run.deadline = seconds, time.monotonic() + seconds
    try:
        run.count()
    except DeadlinePassed:
        check_deadline()  # was it the call's?
        return False
    return True
