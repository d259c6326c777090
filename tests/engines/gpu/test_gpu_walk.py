"""The general walker in the lane emulator and as native code of one lane, held against the CPU engine and the oracle.

Settings that a user never sees force what a large run meets by chance: warps that look up after every step, a ring that
is nearly always full or empty, launches that pause all the time, an output that holds one warp's rows. Each seed is
another schedule of the lanes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import automorphisms, canonical, matches
from plans import plan_for
from strategies import cases, connected_order
from targets import emulator, one_lane
from tiers import examples, is_thorough, thorough

import cusubmatch as csm
from cusubmatch import Pattern
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.search.run import Run
from cusubmatch.engines.gpu.search.workspace import Workspace
from cusubmatch.engines.gpu.tunables import Polling, Tunables
from cusubmatch.engines.gpu.walker import program_format
from cusubmatch.engines.runs import RunOptions
from cusubmatch.execution.results.expand_orbits import expand_orbits
from cusubmatch.graph.cache import Cache
from cusubmatch.system.deadlines import checking

# Random patterns ask for labels that random graphs lack.
pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

SHARED = 228 << 10
WAYS = [("monomorphism", True), ("monomorphism", False), ("induced", True), ("induced", False), ("homomorphism", False)]
SHAPES = {
    "edge": "(a)--(b)",
    "path": "(a)--(b)--(c)",
    "claw": "(a)--(b), (a)--(c), (a)--(d)",
    "triangle": "(a)--(b)--(c)--(a)",
    "square": "(a)--(b)--(c)--(d)--(a)",
    "diamond": "(a)--(b)--(c)--(d)--(a)--(c)",
    "house": "(a)--(b)--(c)--(d)--(a)--(e)--(b)",
    "cricket": "(h)--(a)--(b)--(h), (h)--(x), (h)--(y)",
}


@dataclass(frozen=True)
class Settings:
    """What is forced on a run: `Tunables`, the schedule of the lanes, and the plan.

    `long` is the least number of donated candidates, and bounds that of cores of a suffix; `hubs` and `hub_degree`
    bound the vertices with bitmaps; `suffix` is the length of one.
    """

    seed: int | None = 0
    steps: int = 64
    windows: int = 64
    long: int = 512
    ring: int = 1 << 14
    chunk: int = 8
    hubs: int = 2048
    hub_degree: int = 32
    slice_ticks: int = 10**9
    grid: tuple[int, int] = (1, 2)
    block_rows: int | None = None
    ascending: bool | None = None
    order: tuple[int, ...] = ()
    suffix: int = 0

    @property
    def tunables(self):
        return Tunables(
            grid=self.grid,
            slice_s=self.slice_ticks / 1e9,
            steps_between_polls=self.steps,
            leaf_windows=self.windows,
            min_donated_candidates=self.long,
            min_donated_cores=min(self.long, Polling().min_donated_cores),
            ring_slots=self.ring,
            batch_candidates=self.chunk,
            max_hubs=self.hubs,
            min_hub_degree=self.hub_degree,
        )


stressful = st.builds(
    Settings,
    seed=st.integers(0, 1 << 20),
    steps=st.sampled_from((1, 2, 5)),
    windows=st.sampled_from((1, 3)),
    long=st.sampled_from((0, 8)),
    ring=st.sampled_from((4, 32, 1024)),
    chunk=st.sampled_from((1, 8)),
    slice_ticks=st.sampled_from((300, 3000, 10**9)),
    grid=st.sampled_from(((1, 1), (2, 2), (1, 3))),
    block_rows=st.sampled_from((5, 64, None)),
    ascending=st.sampled_from((None, False, True)),
    order=st.one_of(st.just(()), st.permutations(range(6)).map(tuple)),
)


def run_of(graph, pattern, settings, semantics="monomorphism", unique=True, counting=True, target=None, **tuned):
    """A run of the walker; `tuned`: more tunables."""
    order = connected_order(pattern, settings.order)
    only = {"methods": ("warps",), "ascending": settings.ascending, "order": order, "suffix": settings.suffix}
    plan, prepared = plan_for(graph, pattern, semantics, unique, counting, **only)
    graph.cache = Cache()
    target = target or emulator(settings.seed, max_steps=2_000_000)
    gpu = Device(target, 1, SHARED, tunables=settings.tunables).tuned(**tuned)
    return Run(prepared, plan, RunOptions(block_rows=settings.block_rows), gpu=gpu)


def result_of(graph, pattern, settings, *ways, counting, target=None, **tuned):
    """The count, or the rows as a Counter of tuples of internal vertices; and the run, never of specialised kernels."""
    with patch("cusubmatch.engines.gpu.search.run.specialised_count", lambda *_: None):
        run = run_of(graph, pattern, settings, *ways, counting=counting, target=target, **tuned)
        if counting:
            return run.count(), run
        blocks = expand_orbits(run.blocks(), run.plan, np)
        return Counter(tuple(row) for block in blocks for row in block.T.tolist()), run


class Launched:
    """The event of a launch that has ended when it was looked at a few times."""

    def __init__(self, looks):
        self.looks = looks

    @property
    def done(self):
        self.looks -= 1
        return self.looks < 0


@pytest.mark.parametrize("watches", [False, True])
def test_a_launch_that_is_watched_ends_by_what_the_check_raises(monkeypatch, watches):
    checks, stops = [], []
    monkeypatch.setattr(Workspace, "event", lambda _: Launched(5))
    monkeypatch.setattr(Workspace, "stop", lambda _: stops.append(len(checks)))

    def check():
        checks.append(1)
        if len(checks) == 3:
            raise InterruptedError

    run = run_of(skewed(), Pattern.parse(SHAPES["square"]), Settings())
    run.watches = watches
    with checking(check):
        if watches:
            with pytest.raises(InterruptedError):
                run.total()
        else:
            assert run.total() > 0
    assert stops == ([3] if watches else [])


def in_ids(graph, rows):
    """Rows of internal vertices as rows of the caller's ids."""
    if not rows:
        return rows
    flat = np.array(list(rows), np.int32)
    ids = np.asarray(graph.to_ids(flat.ravel()), object).reshape(flat.shape)
    return Counter({tuple(row): times for row, times in zip(ids.tolist(), rows.values(), strict=True)})


def skewed():
    return csm.Graph.from_edgelist(csm.generators.rmat(5 if is_thorough() else 4, 3, seed=3))


# Against the oracle --------------------------------------------------------------------------------------------------


@pytest.mark.one_each
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@examples(12)
@given(case=cases(), settings=stressful)
def test_counts_and_rows_under_any_settings_are_the_oracles(semantics, unique, case, settings):
    raw, pattern = case
    graph, expected = raw.graph(), matches(raw.naive(), pattern, semantics, unique)
    count, _ = result_of(graph, pattern, settings, semantics, unique, counting=True)
    assert count == len(expected)
    named = [v for v, name in enumerate(pattern.names) if name is not None]
    if len(named) < len(pattern):
        return
    rows, _ = result_of(graph, pattern, settings, semantics, unique, counting=False)
    rows = in_ids(graph, rows)
    if unique:
        symmetries = automorphisms(pattern)
        rows = Counter(canonical(row, symmetries) for row in rows.elements())
    assert rows == Counter(map(tuple, expected))


@pytest.mark.one_each
@pytest.mark.parametrize("name", [*(name for name in SHAPES if name != "claw"), *thorough("claw")])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_skewed_graph_is_counted_right_while_warps_give_work_away(name, seed):
    graph, pattern = skewed(), Pattern.parse(SHAPES[name])
    settings = Settings(seed=seed, steps=1, windows=1, long=0, ring=32, chunk=8, grid=(2, 2))
    count, _ = result_of(graph, pattern, settings, counting=True)
    assert count == csm.count_matches(graph, pattern, engine="cpu")


WEIGHED = {  # orders in which the last level's set is complete before the last level but one
    "house": ("(a)--(b)--(c)--(d)--(e)--(a), (b)--(e)", "becda"),
    "kite with a tail": ("(a)--(b)--(c)--(d)--(a)--(c), (a)--(t)", "acbdt"),
    "clique and two": ("(a)--(b)--(c)--(d)--(a)--(c), (b)--(d), (a)--(e)--(b)", "abcde"),
    "two tails": ("(a)--(b)--(c)--(a)--(x), (b)--(y)", "abcxy"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", WEIGHED)
@pytest.mark.parametrize(("semantics", "distinct"), [("monomorphism", []), ("homomorphism", [("a", "c")])])
def test_partial_matches_carry_the_size_of_a_set_that_is_complete(name, semantics, distinct):
    text, order = WEIGHED[name]
    pattern, graph = Pattern.parse(text, distinct=distinct if semantics == "homomorphism" else []), skewed()
    ranks = tuple(order.index(vertex) for vertex in pattern.names)
    for ascending in (False, True):
        settings = Settings(seed=7, steps=1, windows=1, long=0, order=ranks, ascending=ascending, grid=(1, 2))
        count, run = result_of(graph, pattern, settings, semantics, semantics != "homomorphism", counting=True)
        assert run.device_plan.layout.weighed
        assert count == csm.count_matches(graph, pattern, semantics=semantics, engine="cpu")


# The ring and the pauses ---------------------------------------------------------------------------------------------


def star(leaves):
    return csm.Graph.from_edgelist((np.zeros(leaves, np.int64), np.arange(1, leaves + 1)))


@pytest.mark.thorough
@pytest.mark.parametrize("ring", [4, 1024])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_huge_task_is_divided_among_all_warps(seed, ring):
    # Ordered pairs of leaves of one hub: all the work hangs on one first candidate after another.
    pattern = Pattern.parse("(a)--(h)--(b)--(c)", distinct=[("a", "b")])
    graph = csm.Graph.from_edgelist(
        (np.r_[np.zeros(24, int), np.arange(1, 24)], np.r_[np.arange(1, 25), np.arange(2, 25)])
    )
    settings = Settings(seed=seed, steps=1, windows=1, long=0, ring=ring, chunk=8, grid=(2, 2))
    count, run = result_of(graph, pattern, settings, "homomorphism", False, counting=True)
    assert count == csm.count_matches(graph, pattern, semantics="homomorphism", engine="cpu")
    assert run.donated > 0


@pytest.mark.thorough
def test_a_full_ring_means_that_the_work_is_kept():
    pattern, graph = Pattern.parse(SHAPES["house"]), skewed()
    counts = {}
    for ring in (2, 1024):
        settings = Settings(seed=5, steps=1, windows=1, long=0, ring=ring, grid=(2, 2))
        counts[ring], _ = result_of(graph, pattern, settings, counting=True)
    assert set(counts.values()) == {csm.count_matches(graph, pattern, engine="cpu")}


@pytest.mark.parametrize("grid", [(1, 1), (2, 3)])
def test_warps_without_any_work_end(grid):
    graph = csm.Graph.from_edgelist((np.array([0]), np.array([1])))
    for text, expected in (("(a)--(b)", 1), ("(a)--(b)--(c)", 0), ("(a)--(b)--(c)--(a)--(d)", 0)):
        count, _ = result_of(graph, Pattern.parse(text), Settings(grid=grid), counting=True)
        assert count == expected


@pytest.mark.parametrize("name", ["square", "claw", "cricket"])
def test_launches_that_pause_go_on_where_they_stopped(name):
    graph, pattern = skewed(), Pattern.parse(SHAPES[name])
    settings = Settings(seed=3, steps=1, windows=1, long=0, slice_ticks=100, grid=(1, 2))
    count, _ = result_of(graph, pattern, settings, counting=True)
    assert count == csm.count_matches(graph, pattern, engine="cpu")


def test_rows_fill_the_output_without_a_gap():
    graph, pattern = skewed(), Pattern.parse(SHAPES["triangle"])
    run = None
    for block_rows in (1, 40, None):
        rows, run = result_of(graph, pattern, Settings(block_rows=block_rows, grid=(2, 2), seed=9), counting=False)
        assert rows.total() == len(rows) == run.matches == csm.count_matches(graph, pattern, engine="cpu")


def test_the_first_rows_end_a_launch():
    graph, pattern = skewed(), Pattern.parse("(a)--(b)--(c)--(d)--(e)")
    run = run_of(graph, pattern, Settings(block_rows=1, steps=1, windows=1), counting=False)
    first = next(run.blocks())
    assert 1 <= first.shape[1] <= 64 < csm.count_matches(graph, pattern, engine="cpu")


@pytest.mark.parametrize("slots", [8, *thorough(1, 32)])
def test_fewer_slots_than_lanes_count_the_same(slots):
    graph, pattern = skewed(), Pattern.parse(SHAPES["house"])
    with patch("cusubmatch.engines.gpu.search.program._shape", lambda *_: (slots, 2)):
        count, _ = result_of(graph, pattern, Settings(chunk=1, steps=2, long=0, grid=(1, 2)), counting=True)
    assert count == csm.count_matches(graph, pattern, engine="cpu")


@pytest.mark.parametrize("every", [2, 7, 1000])
def test_of_a_sample_are_found_the_matches_of_evenly_spaced_first_candidates(every):
    graph, pattern = skewed(), Pattern.parse(SHAPES["square"])
    whole, _ = result_of(graph, pattern, Settings(), counting=False)
    run = run_of(graph, pattern, Settings(steps=1, grid=(2, 2)), counting=False)
    run.sample_share = every
    found = Counter(tuple(row) for block in run.blocks() for row in block.T.tolist())
    roots, first, second = run.device_plan.roots, *(level.vertex for level in run.plan.levels[:2])
    lengths = np.diff(roots.ends, prepend=0)
    pairs = [
        (vertex, int(run.device_plan.targets[int(base) + i]))
        for vertex, base, length in zip(roots.vertices.tolist(), roots.bases, lengths, strict=True)
        for i in range(length)
    ]
    looked_at = set(pairs[(every - 1) // 2 :: every])
    assert found == Counter({row: 1 for row in whole if (row[first], row[second]) in looked_at})


@pytest.mark.thorough
@pytest.mark.parametrize("hubs", [0, 6, 2048])
def test_bitmaps_of_hubs_change_no_count(hubs):
    graph, pattern = csm.Graph.from_edgelist(skewed_edges()), Pattern.parse(SHAPES["diamond"])
    for semantics in ("monomorphism", "induced"):
        count, _ = result_of(graph, pattern, Settings(hubs=hubs, hub_degree=1), semantics, counting=True)
        assert count == csm.count_matches(graph, pattern, semantics=semantics, engine="cpu")


def skewed_edges():
    return csm.generators.rmat(6, 4, seed=1)


WORDWISE = {  # orders that end in a set of two rows or more, or carry the size of one
    "square": ("(a)--(b)--(c)--(d)--(a)", "abdc"),
    "ring of 5": ("(a)--(b)--(c)--(d)--(e)--(a)", "abecd"),
    "house": WEIGHED["house"],
    "crossed square": ("(a)--(b)--(c)--(d)--(a), (a)--(e)--(c), (b)--(e)", "abecd"),
}


@pytest.mark.one_each
@pytest.mark.parametrize("name", [name for name in WORDWISE if name != "house"] + thorough("house"))
@pytest.mark.parametrize("semantics", ["monomorphism", "induced"])
@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.thorough
def test_sets_of_hubs_are_counted_by_words(lane, name, semantics, ascending):
    text, order = WORDWISE[name]
    pattern = Pattern.parse(text)
    a, b = np.nonzero(np.triu(np.random.default_rng(4).random((90, 90)) < 0.5, 1))
    graph = csm.Graph.from_edgelist((a, b))
    ranks = tuple(order.index(vertex) for vertex in pattern.names)
    settings = Settings(order=ranks, ascending=ascending, grid=(1, 1), hub_degree=1)
    count, run = result_of(graph, pattern, settings, semantics, counting=True, target=lane)
    words = run.device_plan.layout.words
    record = words[program_format.WEIGHED if run.device_plan.layout.weighed else program_format.LAST]
    assert words[program_format.HEADER + program_format.RECORD * record + program_format.WORDWISE]
    assert count == csm.count_matches(graph, pattern, semantics=semantics, engine="cpu")


def test_first_candidates_in_two_rows_of_a_hub_are_counted_one_by_one(lane):
    graph = csm.Graph.from_edgelist(np.nonzero(np.random.default_rng(1).random((80, 80)) < 0.5), directed=True)
    settings = Settings(grid=(1, 1), hub_degree=1)
    for text in ("(a)-->(b)-->(a)", "(a)--(b)-->(a)"):
        count, _ = result_of(graph, Pattern.parse(text), settings, counting=True, target=lane)
        assert count == csm.count_matches(graph, text, engine="cpu")


# One lane, native ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lane():
    return one_lane()


@pytest.mark.parametrize(
    ("name", "count"),
    [("triangle", 1_612_010), ("square", 144_023_053), *thorough(("diamond", 228_787_050))],
)
@pytest.mark.thorough
def test_one_lane_counts_a_social_network(data_graph, lane, name, count):
    graph = data_graph("facebook_combined")
    found, _ = result_of(graph, Pattern.parse(SHAPES[name]), Settings(grid=(1, 1)), counting=True, target=lane)
    assert found == count


def test_one_lane_answers_labelled_queries_as_the_cpu_engine_does(data_graph, lane):
    graph = data_graph("lsqb-example.directed")
    for text in (
        "(a:Person)-[:knows]-(b:Person)-[:knows]-(c:Person)-[:knows]-(a)",
        "(t:Tag)<-[:hasTag]-(m:Post|Comment)-[:hasCreator]->(p:Person)-[:knows]-(q:Person)",
    ):
        pattern = Pattern.parse(text)
        for semantics, unique in WAYS:
            found, _ = result_of(graph, pattern, Settings(grid=(1, 1)), semantics, unique, counting=True, target=lane)
            asked = unique if semantics != "homomorphism" else None
            assert found == csm.count_matches(graph, pattern, semantics=semantics, unique=asked, engine="cpu")


@pytest.mark.parametrize("vertices", thorough(8, 20, 32))
def test_patterns_of_up_to_32_vertices_are_walked(lane, vertices):
    n = vertices + 2
    a, b = np.triu_indices(n, 1)
    graph = csm.Graph.from_edgelist((a, b))
    found, _ = result_of(graph, Pattern.clique(vertices), Settings(grid=(1, 1)), counting=True, target=lane)
    assert found == n * (n - 1) // 2
    ring = csm.Graph.from_edgelist((np.arange(40), (np.arange(40) + 1) % 40))
    found, _ = result_of(ring, Pattern.path(vertices), Settings(grid=(1, 1)), counting=True, target=lane)
    assert found == 40
