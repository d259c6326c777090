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

from cusubmatch.engines.gpu.runtime.device import Machine
from cusubmatch.engines.gpu.search.run import Run
from cusubmatch.errors import DeadlinePassed
from cusubmatch.graph import Graph
from cusubmatch.plan import Plan
from cusubmatch.plan.candidates import Candidates
from cusubmatch.system.deadlines import check_deadline

__all__ = ["quickest"]

RIVALS = 32
SURE = 1e5  # cost of the best plan, in candidates drawn, up to which an estimate can be off as it may,
WORTH = 5e7  # and from which a trial is held at once
ROUNDS = ((128, RIVALS), (8, 5))  # one first candidate of so many is looked at, for the best so many plans
LONGEST_S = 0.02  # that a plan is tried,
ROUND_S = 0.2  # and all of them; no more plans are tried then
LITTLE_S = 0.005
DRAWN = 0.01  # nanoseconds that a candidate takes, about, where there was no trial
_compiled: set = set()  # kernels that have run in this process


def quickest(gpu: Machine, graph: Graph, plans: Callable[..., list[Plan]], candidates: Candidates) -> Plan:
    """The plan that takes least time, by a trial if one is worth while; `plans(rivals=n)` gives the n cheapest.

    Its cost is in nanoseconds.
    """
    first = plans(rivals=1)[0]
    if first.cost < SURE or first.finish == "rows" or first.walked == 0 or first.is_clique:
        return dataclasses.replace(first, cost=first.cost * DRAWN)
    if first.cost < WORTH:
        whole_s = _seconds(gpu, graph, first, candidates, 1, LITTLE_S)
        if whole_s < float("inf"):
            return dataclasses.replace(first, cost=1e9 * whole_s)
    tried, taken = plans(rivals=RIVALS), {}
    for every, rivals in ROUNDS:
        tried = tried[:rivals]
        if first not in tried:  # a small sample says little
            tried[-1] = first
        seconds = _by_time(gpu, graph, tried, candidates, every)
        order = sorted(range(len(tried)), key=lambda i: (seconds[i], tried[i].cost))
        tried, taken[every] = [tried[i] for i in order], seconds[order[0]]
    whole_s = _extrapolated(tried[0], *taken.items())
    if whole_s < LITTLE_S:
        whole_s = min(_seconds(gpu, graph, tried[0], candidates, 1, LONGEST_S), LONGEST_S)
    return dataclasses.replace(tried[0], cost=1e9 * whole_s)


def _extrapolated(plan, few, many):
    """The seconds of a plan for the whole, from the shares (one candidate of so many) and seconds of two samples."""
    (seldom, little), (often, more) = few, many
    if more == float("inf"):
        return max(1e-9 * plan.cost * DRAWN, LONGEST_S * often)
    if little == float("inf"):
        return more * often
    return max((more - little) / (1 / often - 1 / seldom), more)


def _by_time(gpu, graph, plans, candidates, every):
    """The seconds that plans take for a sample; those that take twice as long as the best so far are stopped."""
    taken: list[float] = []
    spent_s = 0.0
    for plan in plans:
        limit = min(2 * min(taken, default=LONGEST_S), LONGEST_S)
        tried = spent_s < ROUND_S
        taken.append(_seconds(gpu, graph, plan, candidates, every, limit) if tried else float("inf"))
        spent_s += min(taken[-1], limit)
    return taken


def _seconds(gpu, graph, plan, candidates, every, limit):
    run = Run(graph, plan, candidates, gpu=gpu, every=every)
    if run.kernel not in _compiled:
        _ends_within(run, 0.0)
        _compiled.add(run.kernel)
    pool = run.prepared.pool
    pool.give_back(pool.take(run.prepared.layout.stack))  # what a run broke off is made anew before the clock runs
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
