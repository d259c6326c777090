"""One query on several devices gives what one device gives, and what ends a part of it ends all of it."""

import threading
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logical_devices import FINE, logical_engine, machine_of, recorded_engine
from tiers import is_thorough
from working_threads import begin_one_after_the_other, working_threads

import cusubmatch as csm
from cusubmatch import Graph, Pattern
from cusubmatch.engines.gpu.search.filters import find_candidates
from cusubmatch.engines.runs import DEFAULT_OPTIONS, RunOptions
from cusubmatch.execution.devices.device_group import Cutting
from cusubmatch.execution.devices.several_devices import SeveralDevices
from cusubmatch.execution.planning import plan_of
from cusubmatch.execution.work_ranges import cut_at, factored
from cusubmatch.generators import rmat
from cusubmatch.system.deadlines import check_deadline
from cusubmatch.system.gpu_presence import GpuKind

TEXTS = {
    "vertex": "(a)",
    "edge": "(a)--(b)",
    "path": "(a)--(b)--(c)",
    "triangle": "(a)--(b)--(c)--(a)",
    "square": "(a)--(b)--(c)--(d)--(a)",
    "clique": "clique:4",
    "house": "(a)--(b)--(c)--(d)--(a)--(e)--(b)",
    "masked": "(a)--(b)--(c) WHERE id(a) < 40",
}


def pattern_of(text):
    return Pattern.clique(4) if text == "clique:4" else Pattern.parse(text)


@pytest.fixture(scope="module")
def skewed_edges():
    return rmat(*((7, 5) if is_thorough() else (6, 4)), seed=3)


@pytest.fixture(params=[2, pytest.param(3, marks=pytest.mark.thorough)])
def machine(request):
    with machine_of(request.param) as engines:
        yield engines


def multiset(frame):
    return Counter(frame.itertuples(index=False, name=None))


def quick(*names):
    """The patterns, of which these are tested quickly: the others take kernels of their own."""
    return [name if name in names else pytest.param(name, marks=pytest.mark.thorough) for name in TEXTS]


@pytest.mark.parametrize("name", quick("square", "masked"))
@pytest.mark.parametrize("semantics", ["monomorphism", pytest.param("induced", marks=pytest.mark.thorough)])
def test_counts_on_several_devices_are_those_of_one(machine, skewed_edges, name, semantics, monkeypatch):
    monkeypatch.setitem(find_candidates.__kwdefaults__, "sample", 64)  # a lane in Python looks at each
    graph, pattern = Graph.from_edgelist(skewed_edges), pattern_of(TEXTS[name])
    expected = csm.count_matches(graph, pattern, semantics=semantics, engine="cpu")
    assert csm.count_matches(graph, pattern, semantics=semantics, devices="all") == expected


# Not masks, whose candidates are found on the device, nor the house, which may be raced against tables.
@pytest.mark.parametrize("name", quick("square")[:-2])
def test_a_first_count_on_a_small_graph_compiles_kernels_of_its_own_only(skewed_edges, name):
    graph, pattern = Graph.from_edgelist(skewed_edges), pattern_of(TEXTS[name])
    with recorded_engine() as operations:
        count = csm.count_matches(graph, pattern, devices=[0])
    assert count == csm.count_matches(graph, pattern, engine="cpu")
    assert not operations


@pytest.mark.thorough
def test_a_first_count_from_tables_adds_and_multiplies_on_the_device():
    graph = Graph.from_edgelist(rmat(11, 12, seed=3))
    pattern = Pattern.parse("(a)--(b)--(c)--(d)--(a), (b)--(e)--(d), (c)--(e)")
    with recorded_engine() as operations:
        count = csm.count_matches(graph, pattern, devices=[0])
    assert count == csm.count_matches(graph, pattern, engine="cpu")
    assert set(operations) == {"add", "cumsum", "multiply", "sum", "take"}


@pytest.mark.parametrize("name", quick("square"))
def test_rows_on_several_devices_are_those_of_one(machine, skewed_edges, name):
    graph, pattern = Graph.from_edgelist(skewed_edges), pattern_of(TEXTS[name])
    expected = multiset(csm.subgraph_match(graph, pattern, unique=False, engine="cpu"))
    assert multiset(csm.subgraph_match(graph, pattern, unique=False, devices="all")) == expected
    assert csm.has_match(graph, pattern, devices="all")


@pytest.mark.parametrize("unique", [False, pytest.param(True, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", quick("path"))
def test_a_seed_draws_the_same_sample_from_any_number_of_devices(skewed_edges, name, unique):
    frames = []
    for devices in (1, 2, 3):
        with machine_of(devices):
            graph = Graph.from_edgelist(skewed_edges)
            options = {"seed": 7, "unique": unique, "devices": "all"}
            frames.append(csm.sample_matches(graph, pattern_of(TEXTS[name]), 50, **options))
    (first, count), *others = frames
    assert count == csm.count_matches(skewed_edges, pattern_of(TEXTS[name]), unique=unique, engine="cpu")
    for sample, others_count in others:
        assert others_count == count
        pd.testing.assert_frame_equal(sample, first)


def test_each_device_takes_ranges_and_the_blocks_of_all_come_to_the_first(skewed_edges):
    with machine_of(2) as engines:
        graph = Graph.from_edgelist(skewed_edges)
        csm.subgraph_match(graph, TEXTS["square"], devices="all")
        assert all(engine.at.copies for engine in engines)
        assert engines[0].at.brought > 1
        assert engines[1].at.brought == 0


@pytest.mark.thorough
def test_the_graph_is_copied_to_each_device_once(machine, skewed_edges):
    graph = Graph.from_edgelist(skewed_edges)
    for name in ("square", "path", "square"):
        csm.count_matches(graph, TEXTS[name], devices="all")
    arrays = 2  # offsets and targets
    assert [len(engine.at.copies) for engine in machine] == [arrays] * len(machine)
    csm.count_matches(graph, TEXTS["square"], devices=[1, 0])
    assert [len(engine.at.copies) for engine in machine] == [arrays] * len(machine)


def test_the_copy_of_a_graph_goes_with_the_graph(skewed_edges):
    import gc
    import weakref

    with machine_of(2) as engines:
        graph = Graph.from_edgelist(skewed_edges)
        csm.count_matches(graph, TEXTS["path"], devices="all")
        copies = [weakref.ref(engine.place(graph)) for engine in engines]
        assert None not in [copy() for copy in copies]
        del graph
        gc.collect()
        assert [copy() for copy in copies] == [None, None]


def test_a_single_device_by_its_number_does_all_by_itself(skewed_edges):
    with machine_of(3) as engines:
        graph = Graph.from_edgelist(skewed_edges)
        expected = csm.count_matches(graph, TEXTS["square"], engine="cpu")
        assert csm.count_matches(graph, TEXTS["square"], devices=[2]) == expected
        assert [bool(engine.at.copies) for engine in engines] == [False, False, True]


@pytest.mark.thorough
def test_batches_files_and_labels_too(machine, labelled, tmp_path):
    text = "(a:A)--(b:B)--(c)"
    expected = multiset(csm.subgraph_match(labelled, text, engine="cpu"))
    batches = list(csm.iter_matches(labelled, text, batch_rows=7, devices="all"))
    assert multiset(pd.concat(batches)) == expected
    assert {len(batch) for batch in batches[:-1]} == {7}
    rows = csm.write_matches(labelled, text, tmp_path / "rows.parquet", devices=2)
    assert rows == sum(expected.values())
    assert multiset(pd.read_parquet(tmp_path / "rows.parquet")) == expected
    pd.testing.assert_frame_equal(
        csm.subgraph_match(labelled, text, sort=True, devices="all"),
        csm.subgraph_match(labelled, text, sort=True, engine="cpu"),
    )


@pytest.mark.thorough
def test_limits_and_what_touches_ids(machine, skewed_edges):
    graph = Graph.from_edgelist(skewed_edges)
    every = multiset(csm.subgraph_match(graph, TEXTS["square"], engine="cpu", unique=False))
    some = csm.subgraph_match(graph, TEXTS["square"], limit=10, unique=False, devices="all")
    assert len(some) == 10
    assert multiset(some) <= every
    assert len(csm.subgraph_match(graph, TEXTS["path"], memory_limit=1 << 22, devices="all")) > 0
    touching = {"touching": [1, 2, 3]}
    expected = csm.count_matches(graph, TEXTS["square"], engine="cpu", **touching)
    assert csm.count_matches(graph, TEXTS["square"], devices="all", **touching) == expected
    assert len(csm.subgraph_match(graph, TEXTS["square"], devices="all", **touching)) == expected


@pytest.mark.thorough
def test_many_patterns_are_handed_out_and_long_ones_shared(machine, skewed_edges, monkeypatch):
    from cusubmatch.api import counts_on_devices

    graph = Graph.from_edgelist(skewed_edges)
    patterns = {name: TEXTS[name] for name in ("path", "square", "masked")} | {"odd": "(a)--("}
    expected = csm.count_many(graph, patterns, engine="cpu").drop(columns="seconds")
    for longest in (1e3, 1e15):
        monkeypatch.setattr(counts_on_devices, "LONG_NS", longest)
        counted = csm.count_many(graph, patterns, devices="all").drop(columns="seconds")
        pd.testing.assert_frame_equal(counted, expected)


def run_of(graph, text, devices, counting=True, cutting=FINE, **options):
    """A shared run of a walk on logical devices."""
    engine = SeveralDevices([logical_engine(number) for number in range(devices)], cutting)
    with engine.current():
        plan, prepared = plan_of(
            engine.place(graph), engine, Pattern.parse(text), "monomorphism", True, counting, 0, False
        )
        return engine.run(plan, prepared, RunOptions(**options))


def test_a_run_that_takes_little_time_stays_on_the_first_device(skewed_edges):
    run = run_of(Graph.from_edgelist(skewed_edges), TEXTS["path"], 2, cutting=Cutting())
    assert not hasattr(run, "taken")


def test_ranges_are_taken_from_one_counter_the_largest_first(skewed_edges, monkeypatch):
    run = run_of(Graph.from_edgelist(skewed_edges), TEXTS["square"], 2)
    run._devices.ranges(run._plan, run._prepared)
    both_have_one = threading.Barrier(2, timeout=60)
    for engine in run._devices.engines:
        monkeypatch.setattr(engine, "run", after(both_have_one, engine.run))
    run.count()
    assert {device for device, *_ in run.taken} == {0, 1}
    assert len(run.taken) == len(run._ranges) > 8
    shares = [one.share for one in run._ranges]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)


def after(barrier, function):
    """The function, whose first call waits."""
    waited = []

    def call(*arguments):
        if not waited:
            waited.append(barrier.wait())
        return function(*arguments)

    return call


def test_progress_goes_up_to_one_and_comes_from_the_calling_thread(skewed_edges, monkeypatch):
    from cusubmatch.execution.devices import shared_run

    monkeypatch.setattr(shared_run, "REPORT_INTERVAL_S", 0.0)
    said, threads = [], set()

    def progress(done, matches):
        said.append((done, matches))
        threads.add(threading.current_thread())

    with machine_of(2):
        count = csm.count_matches(skewed_edges, TEXTS["path"], devices="all", progress=progress)
        rows = csm.subgraph_match(skewed_edges, TEXTS["square"], devices="all", progress=progress)
    assert (1.0, count) in said
    assert said[-1] == (1.0, len(rows))
    assert threads == {threading.main_thread()}


class Failing:
    """Lets the runs of an engine fail, or take long."""

    def __init__(self, engine, error=None, wait_s=0.0):
        self.engine, self.error, self.wait_s, self.run_before = engine, error, wait_s, engine.run
        self.ended = 0

    def run(self, plan, prepared, options=DEFAULT_OPTIONS, tasks=None):
        run = self.run_before(plan, prepared, options, tasks)
        launches = run._launches

        def failing(program=None):
            try:
                for _ in range(100_000 if self.wait_s else 1):
                    if self.error is not None:
                        raise self.error
                    time.sleep(self.wait_s)
                    run._check_deadline(0.0, 0)
                yield from launches(program)
            finally:
                self.ended += 1

        run._launches = failing
        return run


@pytest.mark.parametrize("error", [MemoryError("no room"), RuntimeError("lost")])
@pytest.mark.parametrize("counting", [False, True])
def test_an_error_on_one_device_stops_the_others_and_is_the_callers(skewed_edges, monkeypatch, error, counting):
    run = run_of(Graph.from_edgelist(skewed_edges), TEXTS["square"], 2, counting)
    first, second = run._devices.engines
    slow, broken = Failing(first, wait_s=0.001), Failing(second, error)
    monkeypatch.setattr(first, "run", slow.run)
    monkeypatch.setattr(second, "run", broken.run)
    threads = working_threads()
    with pytest.raises(type(error), match=str(error)):
        run.count() if counting else list(run.blocks())
    assert working_threads() == threads


@pytest.mark.parametrize("counting", [False, True])
def test_an_error_on_one_device_before_another_has_begun_is_the_callers(skewed_edges, monkeypatch, counting):
    begun = begin_one_after_the_other(monkeypatch)
    run = run_of(Graph.from_edgelist(skewed_edges), TEXTS["square"], 2, counting)
    first = run._devices.engines[0]
    monkeypatch.setattr(first, "run", Failing(first, MemoryError("no room")).run)
    with pytest.raises(MemoryError, match="no room"):
        run.count() if counting else list(run.blocks())
    assert len(begun) == 1


@pytest.mark.parametrize("call", [csm.count_matches, csm.subgraph_match])
def test_a_time_limit_ends_all_devices(skewed_edges, monkeypatch, call):
    with machine_of(2) as engines:
        graph = Graph.from_edgelist(skewed_edges)
        expected = csm.count_matches(graph, TEXTS["square"], engine="cpu")
        monkeypatch.setattr(engines[0], "run", Failing(engines[0], wait_s=0.001).run)
        begin = time.monotonic()
        with pytest.raises(csm.TimeLimitExceeded) as caught:
            call(graph, pattern_of("(a)--(b)--(c)--(d)--(a)"), devices="all", time_limit=0.3)
        assert time.monotonic() - begin < 5
        partial = caught.value.partial
        assert 0 <= (len(partial) if isinstance(partial, pd.DataFrame) else partial) < expected


@pytest.mark.parametrize("counting", [False, True])
def test_an_interrupt_ends_all_devices(skewed_edges, monkeypatch, counting):
    run = run_of(Graph.from_edgelist(skewed_edges), TEXTS["square"], 2, counting, progress=interrupting)
    for engine in run._devices.engines:
        monkeypatch.setattr(engine, "run", Failing(engine, wait_s=0.001).run)
    threads = working_threads()
    with pytest.raises(KeyboardInterrupt):
        run.count() if counting else list(run.blocks())
    assert working_threads() == threads


def test_an_error_while_a_sample_is_drawn_ends_all_devices(skewed_edges, monkeypatch):
    with machine_of(2) as engines:
        first, second = engines
        counting = threading.Event()

        def endless(*arguments):
            sampler = type(first).range_sampler(first, *arguments)

            def counts():
                counting.set()
                while True:
                    time.sleep(0.001)
                    check_deadline()

            sampler.counts = counts if len(arguments) > 3 else sampler.counts
            return sampler

        def broken(*_):
            counting.wait(60)
            raise MemoryError("no room")

        monkeypatch.setattr(first, "range_sampler", endless)
        monkeypatch.setattr(second, "range_sampler", broken)
        threads = working_threads()
        with pytest.raises(MemoryError, match="no room"):
            csm.sample_matches(skewed_edges, TEXTS["path"], 5, devices="all")
        assert working_threads() == threads


def interrupting(_done, _matches):
    raise KeyboardInterrupt


def test_leaving_the_batches_ends_all_devices(skewed_edges):
    with machine_of(2, output_bytes=1 << 10):
        threads = working_threads()
        batches = csm.iter_matches(skewed_edges, TEXTS["square"], unique=False, batch_rows=5, devices="all")
        assert len(next(batches)) == 5
        batches.close()
        assert working_threads() == threads


def test_a_slow_caller_is_waited_for(skewed_edges):
    with machine_of(2, output_bytes=1 << 10) as engines:
        batches = csm.iter_matches(skewed_edges, TEXTS["square"], unique=False, batch_rows=5, devices="all")
        next(batches)
        time.sleep(0.2)
        brought = engines[0].at.brought
        time.sleep(0.2)
        assert engines[0].at.brought == brought < 20
        batches.close()


def test_the_plan_says_what_is_shared(machine, skewed_edges):
    graph = Graph.from_edgelist(skewed_edges)
    devices = len(machine)
    rows = str(csm.explain(graph, TEXTS["square"], counting=False, devices="all"))
    assert f"{devices} devices share its first-level tasks" in rows


WRONG = {
    "a number that is none": ([7], ValueError, "there is no GPU 7; this process sees 2, numbered from 0"),
    "too many": (3, ValueError, "expected 1 to 2 GPUs, got 3"),
    "none": ([], ValueError, "at least one GPU"),
    "no number of GPUs": (0, ValueError, "expected 1 to 2 GPUs, got 0"),
    "twice": ([1, 1], ValueError, "GPU 1 is named twice"),
    "a text": ("both", TypeError, "expected 'all', a number of GPUs, or a list of their numbers, got 'both'"),
    "a bool": (True, TypeError, "got True"),
    "texts": (["0"], TypeError, "got '0' in the list"),
    "a float": (1.5, TypeError, "got float"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_devices_are_one_clear_sentence(skewed_edges, case):
    devices, error, message = WRONG[case]
    with machine_of(2), pytest.raises(error, match=f"^devices: .*{message}"):
        csm.count_matches(skewed_edges, "(a)--(b)", devices=devices)


@pytest.mark.parametrize("devices", ["all", 2, [0, 1]])
def test_gpus_of_different_kinds_share_nothing(skewed_edges, devices):
    kinds = [GpuKind("H200", 132, (9, 0)), GpuKind("A30", 56, (8, 0))]
    message = "must be of one kind; GPU 0 is H200 with 132 multiprocessors, GPU 1 A30 with 56 multiprocessors"
    with machine_of(2, kinds=kinds):
        with pytest.raises(ValueError, match=message):
            csm.count_matches(skewed_edges, "(a)--(b)", devices=devices)
        assert csm.count_matches(skewed_edges, "(a)--(b)", devices=[1]) > 0


def test_the_cpu_engine_has_no_devices(skewed_edges):
    with pytest.raises(ValueError, match=r"^devices: the CPU engine has none"):
        csm.count_matches(skewed_edges, "(a)--(b)", engine="cpu", devices="all")


@pytest.mark.thorough
@pytest.mark.parametrize("edges", ["any", "each"])
def test_walks_over_rows_of_the_edge_table_on_several_devices_are_those_of_one(machine, edges):
    random = np.random.default_rng(5)
    payments = pd.DataFrame(random.integers(0, 30, (400, 2)), columns=["src", "dst"])
    graph = Graph.from_edgelist(payments.assign(at=random.integers(0, 50, 400)), directed=True, time="at")
    call = graph, "(a)-[p]->(b)-[q]->(c) WHERE p.at < q.at AND q.at < p.at + 20"
    expected = csm.count_matches(*call, edges=edges, engine="cpu")
    assert csm.count_matches(*call, edges=edges, devices="all") == expected > 1000
    found = multiset(csm.subgraph_match(*call, edges=edges, devices="all"))
    assert found == multiset(csm.subgraph_match(*call, edges=edges, engine="cpu"))
    assert all(engine.at.copies for engine in machine)
    assert len(csm.subgraph_match(*call, edges=edges, devices="all", limit=10)) == 10


@settings(max_examples=60)
@given(
    work=st.lists(st.floats(0, 1e6), min_size=1, max_size=60),
    workers=st.integers(1, 9),
    largest=st.floats(0.02, 1),
    smallest=st.floats(0.001, 1),
)
def test_any_cut_is_a_partition(work, workers, largest, smallest):
    edges = [3 * i for i in range(len(work) + 1)]
    ranges = cut_at(edges, work, factored(workers, largest, smallest))
    assert [one.tasks.begin for one in ranges] == [0, *(one.tasks.end for one in ranges[:-1])]
    assert ranges[-1].tasks.end == edges[-1]


@settings(max_examples=15, deadline=None)
@given(
    edges=st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), min_size=1, max_size=60),
    devices=st.integers(1, 4),
    largest=st.floats(0.02, 1),
    cells=st.integers(1, 50),
    text=st.sampled_from(["(a)--(b)--(c)", "(a)--(b)--(c)--(d)--(a)", "(a)--(b)--(c)--(a)", "(a)--(b)--(c)--(d)"]),
)
def test_any_sharing_sums_to_the_whole(edges, devices, largest, cells, text):
    graph = Graph.from_edgelist(np.array(edges).reshape(-1, 2))
    cutting = Cutting(worth_ns=0.0, min_range_s=0.0, largest=largest, smallest=largest / 8, cells=cells)
    expected = csm.count_matches(graph, text, engine="cpu")
    assert run_of(graph, text, devices, cutting=cutting).count() == expected
    blocks = run_of(graph, text, devices, counting=False, cutting=cutting).blocks()
    rows = [tuple(row) for block in blocks for row in block.T.tolist()]
    assert len(rows) == len(set(rows)) == expected
