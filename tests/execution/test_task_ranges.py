"""A run of a range of first-level tasks: the ranges of any partition add up to the whole."""

from itertools import pairwise

import numpy as np
import pytest
from plans import plan_for
from targets import one_lane
from test_decomposition import table_run
from test_induced import induced_run
from tiers import thorough

import cusubmatch as csm
from cusubmatch import Pattern
from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.engines.gpu import GpuEngine
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.tunables import Tunables
from cusubmatch.engines.runs import RunOptions, TaskRange
from cusubmatch.execution.strategies.walk import Walk
from cusubmatch.generators import rmat

ENGINES = {
    "cpu": (CpuEngine(), ("lists", "bitmaps")),
    "gpu": (GpuEngine(Device(one_lane(), 1, 228 << 10, tunables=Tunables(grid=(1, 1)))), ("warps",)),
}
TEXTS = {
    "vertex": "(a)",
    "edge": "(a)--(b)",
    "path": "(a)--(b)--(c)",
    "triangle": "(a)--(b)--(c)--(a)",
    "square": "(a)--(b)--(c)--(d)--(a)",
    "house": "(a)--(b)--(c)--(d)--(a)--(e)--(b)",
    "gem": "(a)--(b)--(c)--(d), (e)--(a), (e)--(b), (e)--(c), (e)--(d)",
    "labelled": "(a:A)--(b:B)--(c)--(a)",
    "directed": "(a:A)-[:X]->(b)-->(c)",
}
LARGE = ["path", "triangle", "square", "house", "gem", "labelled"]  # they have many matches for a lane in Python
WALKS = [(engine, name) for engine in ENGINES for name in TEXTS if engine == "cpu" or name not in LARGE]
WALKS += thorough(*(("gpu", name) for name in LARGE))
PARTS = [1, 2, 3, 7]


def partition(tasks, parts):
    """Ranges of tasks of different sizes, some empty."""
    cuts = np.sort(np.random.default_rng(parts).integers(0, tasks + 1, parts - 1)).tolist()
    return [TaskRange(*ends) for ends in pairwise([0, *cuts, tasks])]


def walk_of(graph, text, engine, counting, suffix=0):
    engine, methods = ENGINES[engine]
    plan, prepared = plan_for(graph, Pattern.parse(text), counting=counting, methods=methods, suffix=suffix)
    return Walk(engine, plan, prepared)


def total_of(strategy, parts):
    """The sum of the totals of a partition of the tasks, the last one first."""
    ranges = partition(strategy.number_of_tasks, parts)
    return sum(strategy.run(None, None, tasks).total() for tasks in reversed(ranges))


@pytest.mark.one_each
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize(("engine", "name"), WALKS)
def test_counts_of_ranges_add_up(labelled, engine, name, parts):
    walk = walk_of(labelled, TEXTS[name], engine, counting=True)
    whole = walk.run(None, None)
    assert whole.count() == csm.count_matches(labelled, TEXTS[name], engine="cpu")
    assert walk.matches_of(total_of(walk, parts)) == whole.count()


@pytest.mark.one_each
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize(("engine", "name"), WALKS)
def test_rows_of_ranges_are_the_rows(labelled, engine, name, parts):
    walk = walk_of(labelled, TEXTS[name], engine, counting=False)

    def rows(tasks):
        return list(walk.engine.run(walk.plan, walk.prepared, RunOptions(), tasks).blocks())

    def in_order(blocks):
        found = np.concatenate([np.empty((len(walk.plan.pattern), 0), int), *blocks], axis=1)
        return found[:, np.lexsort(found)]

    ranges = partition(walk.number_of_tasks, parts)
    assert np.array_equal(in_order(block for tasks in ranges for block in rows(tasks)), in_order(rows(None)))


@pytest.mark.thorough
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("engine", ENGINES)
def test_ranges_of_a_plan_with_a_suffix_add_up_before_the_symmetries_are_divided_out(skewed, engine, parts):
    if engine == "gpu":
        skewed = csm.Graph.from_edgelist(rmat(6, 5, seed=3))  # a lane in Python
    text = "(a)--(b)--(c)--(a)--(x)--(b), (c)--(y)"
    walk = walk_of(skewed, text, engine, counting=True, suffix=2)
    assert walk.plan.suffix is not None
    assert walk.matches_of(total_of(walk, parts)) == csm.count_matches(skewed, text, engine="cpu")


@pytest.mark.one_each
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("name", ["house", "gem"])
def test_terms_of_a_decomposition_add_up(skewed, name, parts):
    tables = table_run(skewed, TEXTS[name]).strategy
    assert tables.number_of_tasks > 1
    assert tables.matches_of(total_of(tables, parts)) == csm.count_matches(skewed, TEXTS[name], engine="cpu")


@pytest.mark.one_each
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("unique", [False, True])
def test_terms_of_an_induced_count_add_up(skewed, unique, parts):
    terms = induced_run(skewed, TEXTS["house"], unique).strategy
    expected = csm.count_matches(skewed, TEXTS["house"], semantics="induced", unique=unique, engine="cpu")
    assert terms.number_of_tasks > 1
    assert terms.matches_of(total_of(terms, parts)) == expected


@pytest.mark.one_each
@pytest.mark.parametrize(("engine", "name"), WALKS)
def test_shares_of_work_of_ranges_add_up_to_one(labelled, engine, name):
    walk = walk_of(labelled, TEXTS[name], engine, counting=False)
    edges = np.unique(np.linspace(0, walk.number_of_tasks, 12).astype(int)).tolist()
    shares = walk.engine.shares_of_work(walk.plan, walk.prepared, edges)
    assert len(shares) == len(edges) - 1
    assert min(shares) >= 0
    assert sum(shares) == pytest.approx(1)
