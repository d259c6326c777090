"""Autotuning: choosing among alternative plans by timing them on samples.

On skewed graphs estimates that differ by a factor of 10 say little. Each plan counts below a sample of its first
candidates (for the first two pattern vertices, since roots may be few), and the fastest ones below a larger sample. The
fastest of these wins. Slow plans are stopped, and among those the estimates decide. A trial takes some milliseconds, so
it is held only where the estimate is large, or where the plan that is cheapest by the estimates takes long for the
whole, and once for a graph and pattern. The time of the winner for the whole follows from both samples; if it is short,
it is measured, and so is that of the second plan if its sample took hardly longer.

A trial waits for the kernel of the plan that is cheapest by the estimates. Rivals whose kernels are not compiled by
then are left out; the winner is provisional, and the next call holds the trial again.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.search.run import Run
from cusubmatch.engines.gpu.walker.kernel_arguments import walk_signature
from cusubmatch.engines.prepared import Prepared
from cusubmatch.errors import DeadlinePassed
from cusubmatch.graph.cache import finished
from cusubmatch.plan import Plan
from cusubmatch.system.deadlines import check_deadline

__all__ = ["fastest_plan"]

_compiled: set = set()  # kernels that have run in this process, each with the GPU


def fastest_plan(gpu: Device, plans: Callable[..., list[Plan]], prepared: Prepared) -> Plan:
    """The plan that takes least time, by a trial if one is worth while; plans(alternatives=n) gives the n cheapest."""
    tunables, first = gpu.tunables, plans(alternatives=1)[0]
    if first.cost < tunables.negligible_cost_ns or first.leaf_mode == "rows" or first.walked == 0 or first.is_clique:
        return first
    if first.cost < tunables.trial_cost_ns:
        whole_s = _seconds(gpu, prepared, first, 1, tunables.measured_whole_s)
        if whole_s < float("inf"):
            return _timed(first, whole_s)
    tried, fastest_s, left_out = plans(alternatives=tunables.alternatives), {}, False
    for share, alternatives in tunables.trial_shares:
        tried = tried[:alternatives]
        if first not in tried:  # a small sample says little
            tried[-1] = first
        seconds, some_left_out = _seconds_of_all(gpu, prepared, tried, share, first)
        left_out = left_out or some_left_out
        order = sorted(range(len(tried)), key=lambda i: (seconds[i], tried[i].cost))
        tried, seconds = [tried[i] for i in order], [seconds[i] for i in order]
        fastest_s[share] = seconds[0]
    fastest, limit_s = tried[0], tunables.trial_plan_s
    whole_s = _extrapolated(fastest, limit_s, *fastest_s.items())
    close = [tried[i] for i in range(len(tried)) if seconds[i] <= tunables.trial_margin * seconds[0]]
    if whole_s < tunables.measured_whole_s or (whole_s < limit_s and len(close) > 1):
        whole, i = min((_seconds(gpu, prepared, plan, 1, limit_s), i) for i, plan in enumerate(close[:2]))
        if whole < float("inf"):
            fastest = close[i]
        whole_s = min(whole, limit_s)
    found = _timed(fastest, whole_s)
    return dataclasses.replace(found, provisional=True) if left_out else found


def _timed(plan, seconds):
    """A plan that is known to take so many seconds."""
    return dataclasses.replace(plan, order=plan.order._replace(cost=1e9 * seconds))


def _extrapolated(plan, limit_s, small, large):
    """The seconds of a plan for the whole, from two samples: (one candidate of so many, seconds) of each."""
    (small_share, small_s), (large_share, large_s) = small, large
    if large_s == float("inf"):
        return max(1e-9 * plan.cost, limit_s * large_share)
    if small_s == float("inf"):
        return large_s * large_share
    return max((large_s - small_s) / (1 / large_share - 1 / small_share), large_s)


def _seconds_of_all(gpu, prepared, plans, share, first):
    """The seconds that plans take for a sample, and whether one but the `first` was left out: its kernel is not there.

    Plans that take twice as long as the best so far are stopped.
    """
    tunables, seconds, spent_s, left_out = gpu.tunables, [], 0.0, False
    for plan in plans:
        limit_s = min(2 * min(seconds, default=tunables.trial_plan_s), tunables.trial_plan_s)
        taken = float("inf")
        if spent_s < tunables.trial_round_s:
            taken = _seconds(gpu, prepared, plan, share, limit_s, plan == first)
            if taken is None:
                left_out, taken, limit_s = True, float("inf"), 0.0
        seconds.append(taken)
        spent_s += min(taken, limit_s)
    return seconds, left_out


def _seconds(gpu, prepared, plan, share, limit_s, wait=True):
    """The seconds of a count of one first candidate of `share`; infinite if it takes longer than the limit.

    None if its kernel is not compiled and is not to be waited for.
    """
    run = Run(prepared, plan, gpu=gpu, sample_share=share)
    if not wait and not gpu.target.is_compiled(run.kernel, walk_signature(run.device_plan.offsets64)):
        return None
    if (loaded := (run.kernel, gpu.number())) not in _compiled:
        _ends_within(run, 0.0)
        _compiled.add(loaded)
    pool = run.device_plan.pool
    # A run that was stopped left a workspace to clear: not timed, and done before a thread on another stream takes it.
    pool.give_back(finished(run.xp, pool.take(run.device_plan.layout.stack)))
    begin = time.perf_counter()
    ended = _ends_within(run, limit_s)
    return time.perf_counter() - begin if ended else float("inf")


def _ends_within(run, limit_s):
    """Whether the count ends in so many seconds."""
    run.slice_s, run.deadline = limit_s, time.monotonic() + limit_s
    try:
        run.count()
    except DeadlinePassed:
        check_deadline()  # raises if the deadline was the call's
        return False
    return True
