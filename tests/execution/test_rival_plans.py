"""Rival ways to count or list a labelled pattern: what is chosen is never ten times slower than the best of them."""

from __future__ import annotations

import dataclasses
import functools
import math
import time

import pandas as pd
import pytest

import cusubmatch as csm
from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.engines.runs import RunOptions
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.planning import plan_of
from cusubmatch.execution.strategies.choose import strategy_of
from cusubmatch.execution.strategies.walk import Walk
from cusubmatch.execution.walk_planning import replan, rival_plans

pytestmark = pytest.mark.timed

FACTOR, SLACK_S = 10.0, 0.01
LIMIT_S, RIVAL_LIMIT_S = 30.0, 0.5
EVERY = 40  # of the recorded queries
ROWS = 100_000


@pytest.fixture(scope="module")
def yeast(data_path):
    labels = pd.read_parquet(data_path("yeast.labels.parquet"))
    edges = pd.read_parquet(data_path("yeast.parquet"))
    return csm.Graph.from_edgelist(edges, vertices=labels, vertex_label="label").host


def queries(data_path):
    parts = pd.read_parquet(data_path("yeast.queries.parquet"))
    for _, part in [*parts.groupby("query")][::EVERY]:
        vertices, ends = part[part.part == "v"], part[part.part == "e"]
        labels = dict(zip(vertices.a.tolist(), vertices.b.tolist(), strict=True))
        edges = list(zip(ends.a.tolist(), ends.b.tolist(), strict=True))
        yield csm.Pattern(edges, vertices=vertices.a.tolist(), labels=labels)


def seconds_of(find, limit_s):
    """(what find(deadline) gives, CPU seconds); None and infinity where it takes longer."""
    begin = time.process_time()
    try:
        found = find(time.monotonic() + limit_s)
    except DeadlinePassed:
        return None, math.inf
    return found, time.process_time() - begin


def counting(strategy):
    """find(deadline): the count of a strategy."""
    return lambda deadline: strategy.run(deadline, None).count()


def finding_rows(engine, plan, prepared, rivals=None):
    """find(deadline): how many first rows a plan gives, or one of its rivals."""

    def find(deadline):
        options = RunOptions(deadline=deadline, enough=ROWS, rivals=rivals)
        return min(sum(block.shape[1] for block in engine.run(plan, prepared, options).blocks()), ROWS)

    return find


def rivals(engine, plan, prepared):
    """The walk by estimates, the walk by sampled descents, and conditioning that is not given up for a walk."""
    yield Walk(engine, plan, prepared)
    if plan.conditioning is not None:
        yield Walk(engine, replan(plan, prepared, engine.descents(prepared)), prepared)
        alone = dataclasses.replace(plan, conditioning=dataclasses.replace(plan.conditioning, walking=math.inf))
        yield strategy_of(engine, alone, prepared)


def test_no_rival_is_ten_times_faster_than_the_way_that_is_chosen(yeast, data_path):
    engine, slower = CpuEngine(Tunables(threads=1)), []
    for pattern in queries(data_path):
        plan, prepared = plan_of(yeast, engine, pattern, "monomorphism", unique=False)
        strategy_of(engine, plan, prepared).run(time.monotonic() + LIMIT_S, None).count()  # what is loaded once
        count, chosen_s = seconds_of(counting(strategy_of(engine, plan, prepared)), LIMIT_S)
        for rival in rivals(engine, plan, prepared):
            rival_count, rival_s = seconds_of(counting(rival), RIVAL_LIMIT_S)
            assert rival_count in (None, count)
            if chosen_s > FACTOR * rival_s + SLACK_S:
                slower.append((str(pattern), chosen_s, rival_s))
    assert slower == []


def test_no_order_finds_rows_ten_times_faster_than_the_one_that_is_chosen(yeast, data_path):
    engine, slower = CpuEngine(Tunables(threads=1)), []
    for pattern in queries(data_path):
        plan, prepared = plan_of(yeast, engine, pattern, "monomorphism", unique=False, counting=False, few_rows=True)
        if prepared.candidate_graph is None:
            continue
        others = functools.partial(rival_plans, plan, prepared)
        seconds_of(finding_rows(engine, plan, prepared), LIMIT_S)  # what is loaded once
        rows, chosen_s = seconds_of(finding_rows(engine, plan, prepared, others), LIMIT_S)
        for rival in others():
            rival_rows, rival_s = seconds_of(finding_rows(engine, rival, prepared), RIVAL_LIMIT_S)
            assert rival_rows in (None, rows)
            if chosen_s > FACTOR * rival_s + SLACK_S:
                slower.append((str(pattern), chosen_s, rival_s))
    assert slower == []
