"""Results larger than memory and work that takes long: batches, limits, order, progress, interrupts and faults."""

from __future__ import annotations

import pkgutil
import signal
import subprocess
import sys
import threading
import time
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from naive import automorphisms, canonical
from plans import tuned
from tiers import thorough

import cusubmatch as csm
from cusubmatch import Graph, Pattern, ResultTooLarge, TimeLimitExceeded
from cusubmatch.api.options import checked_query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.generators import rmat

WAYS = [("monomorphism", True), ("monomorphism", False), ("induced", True), ("homomorphism", False)]
SQUARE = "(a)--(b)--(c)--(d)--(a)"
LONG = Pattern.cycle(6)  # more than can be walked in a test


@pytest.fixture(scope="module")
def skewed():
    return Graph.from_edgelist(rmat(7, 5, seed=2))


@pytest.fixture(scope="module")
def large():
    return Graph.from_edgelist(rmat(13, 16))


@pytest.fixture(autouse=True)
def no_thread_stays():
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == "cusubmatch"]


def rows_of(frame):
    return frame.to_numpy()


# Batches -------------------------------------------------------------------------------------------------------------


@pytest.mark.one_each
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@pytest.mark.parametrize("batch_rows", [1, 7, 1 << 20])
def test_batches_hold_every_row_once(skewed, semantics, unique, batch_rows):
    for text in (SQUARE, "(a)--(b)--(c)--(a)--(d)", "(a)--(b)"):
        options = {"semantics": semantics, "unique": unique}
        limit = 500 if batch_rows < 10 else None  # a batch of a row costs a dataframe
        whole = csm.subgraph_match(skewed, text, **options)
        batches = list(csm.iter_matches(skewed, text, batch_rows=batch_rows, limit=limit, **options))
        streamed = pd.concat(batches) if batches else whole.iloc[:0]
        assert all(len(batch) == batch_rows for batch in batches[:-1])
        assert len(streamed) == min(len(whole), limit or len(whole))
        assert len(whole) == csm.count_matches(skewed, text, **options) == len(whole.drop_duplicates())
        assert len(streamed.drop_duplicates()) == len(streamed)
        assert len(streamed.merge(whole)) == len(streamed)


def test_all_embeddings_come_from_one_of_each_orbit(skewed):
    told: list = []
    whole = csm.subgraph_match(skewed, SQUARE, unique=False, progress=lambda *seen: told.append(seen))
    assert len(whole) == 8 * csm.count_matches(skewed, SQUARE) == told[-1][1]
    assert len(whole.drop_duplicates()) == len(whole)
    for limit in (1, 7, 8, 9, len(whole) - 1, len(whole) + 1):
        part = csm.subgraph_match(skewed, SQUARE, unique=False, limit=limit)
        assert len(part) == len(part.merge(whole)) == min(limit, len(whole))


@pytest.mark.parametrize("text", ["(a)--()--(b)", "(a)--()--()--(b)--(a)", "(a)--()--()--()--(a)", "()--(a)--()"])
def test_embeddings_of_patterns_with_anonymous_vertices_are_all_rows(skewed, text):
    whole = csm.subgraph_match(skewed, text, unique=False)
    named = csm.subgraph_match(skewed, named_throughout(text), unique=False)[list(whole.columns)]
    order = list(whole.columns)
    pd.testing.assert_frame_equal(
        *(frame.sort_values(order).reset_index(drop=True) for frame in (whole, named)), check_dtype=False
    )


def named_throughout(text):
    parts = text.split("()")
    return "".join(part + (f"(x{i})" if i < len(parts) - 1 else "") for i, part in enumerate(parts))


@pytest.mark.timed
def test_the_first_batch_does_not_wait_for_many_rows(large):
    csm.subgraph_match(large, LONG, limit=1)  # compiles and plans
    begin = time.perf_counter()
    batch = next(csm.iter_matches(large, LONG, batch_rows=1))
    assert len(batch) == 1
    assert time.perf_counter() - begin < 2


@pytest.mark.timed
def test_rows_are_found_ahead_while_the_caller_works(large):
    query = checked_query(large, SQUARE, QueryOptions(unique=True, engine="cpu", counting=False))
    with tuned(alone_s=0.0):
        run = query.run(ahead_rows=1 << 20)
    blocks = run.blocks()
    next(blocks)
    next(blocks)
    before = run.matches
    time.sleep(0.3)
    assert run.matches > before
    blocks.close()


@pytest.mark.timed
def test_leaving_the_loop_stops_the_search_at_once(large):
    batches = csm.iter_matches(large, LONG, batch_rows=1000)
    next(batches)
    begin = time.perf_counter()
    batches.close()
    assert time.perf_counter() - begin < 0.5


def test_a_consumer_that_raises_leaves_nothing_behind(large):
    with pytest.raises(ZeroDivisionError):
        for batch in csm.iter_matches(large, LONG, batch_rows=1000):
            len(batch) / 0
    assert csm.count_matches(large, "(a)--(b)") == large.n_edges


# Limits --------------------------------------------------------------------------------------------------------------


@pytest.mark.timed
@pytest.mark.parametrize("limit", [1, 1000, 200_000])
def test_a_limit_stops_the_search_when_so_many_rows_exist(large, limit):
    query = checked_query(large, LONG, QueryOptions(unique=True, engine="cpu", counting=False))
    begin = time.perf_counter()
    assert len(csm.subgraph_match(large, LONG, limit=limit, engine="cpu")) == limit
    assert time.perf_counter() - begin < 5
    run = query.run(enough=limit)
    found = sum(block.shape[1] for block in run.blocks())
    assert limit <= found == run.matches <= 2 * limit + 2 * (1 << 16)


@pytest.mark.timed
@pytest.mark.parametrize(
    ("function", "pattern"),
    [
        (csm.count_matches, Pattern.clique(8)),  # walked
        (csm.count_matches, LONG),  # counted from tables: no count of a part
        (csm.subgraph_match, LONG),
        (csm.iter_matches, LONG),
    ],
)
def test_a_time_limit_is_kept_within_a_fifth_of_a_second(large, function, pattern):
    csm.subgraph_match(large, pattern, limit=10)  # compiles and plans
    with pytest.raises(TimeLimitExceeded):
        csm.count_matches(large, pattern, time_limit=0)
    begin = time.perf_counter()
    with pytest.raises((TimeLimitExceeded, ResultTooLarge)) as late:
        result = function(large, pattern, time_limit=0.5)
        if function is csm.iter_matches:
            list(result)
    assert time.perf_counter() - begin < 0.5 + 0.2 + 0.5  # half a second for a slow machine
    if isinstance(late.value, ResultTooLarge):  # a GPU finds more rows in that time than fit in memory
        assert function is csm.subgraph_match
        return
    partial = late.value.partial
    if function is csm.iter_matches:
        assert partial.columns.to_list() == pattern.columns  # what no batch has brought yet
    elif function is csm.count_matches and pattern is LONG:
        assert partial is None
    else:
        assert (partial if isinstance(partial, int) else len(partial)) > 0


def test_a_memory_limit_is_an_error_before_it_is_passed(skewed):
    rows = csm.count_matches(skewed, SQUARE)
    with pytest.raises(ResultTooLarge, match=f"{rows:,} rows"):
        csm.subgraph_match(skewed, SQUARE, memory_limit=1000)
    assert len(csm.subgraph_match(skewed, SQUARE, memory_limit=100 * rows)) == rows
    with pytest.raises(ValueError, match=r"batch_rows: 1,000,000 rows do not fit in memory_limit=1,000"):
        csm.iter_matches(skewed, SQUARE, batch_rows=10**6, memory_limit=1000)
    assert sum(map(len, csm.iter_matches(skewed, SQUARE, batch_rows=10, memory_limit=2000))) == rows
    for wrong, kind in ((0, ValueError), (-1, ValueError), (1.5, TypeError), ("1 GB", TypeError), (True, TypeError)):
        with pytest.raises(kind, match="memory_limit"):
            csm.subgraph_match(skewed, SQUARE, memory_limit=wrong)


STREAM = """
import resource, sys
import cusubmatch as csm
from cusubmatch.generators import rmat
graph = csm.Graph.from_edgelist(rmat(13, 16))
next(csm.iter_matches(graph, csm.Pattern.path(4), batch_rows=1000))
before, rows = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0
for batch in csm.iter_matches(graph, csm.Pattern.path(4), batch_rows=1 << 16, limit=20_000_000):
    rows += len(batch)
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.thorough
def test_twenty_million_rows_take_little_memory():
    done = subprocess.run([sys.executable, "-c", STREAM], capture_output=True, text=True, check=True)
    rows, kilobytes = map(int, done.stdout.split())
    assert rows == 20_000_000  # 320 MB of internal vertices
    assert kilobytes < 100_000


# Order ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["(a)--(b)--(c)--(a)", "(a)--()--(c)", *thorough(SQUARE, "(h)--(x), (h)--(y), (h)--(z)")]
)
def test_sorted_rows_are_the_least_of_their_orbits_in_order(skewed, text):
    pattern = Pattern.parse(text)
    frame = csm.subgraph_match(skewed, pattern, sort=True)
    rows = [tuple(row) for row in rows_of(frame).tolist()]
    assert rows == sorted(rows)
    if None not in pattern.names:
        assert rows == [canonical(row, automorphisms(pattern)) for row in rows]


def test_the_order_is_the_same_however_the_rows_were_found(skewed):
    expected = rows_of(csm.subgraph_match(skewed, SQUARE, sort=True))
    edges = rmat(7, 5, seed=2).sample(frac=1.0, random_state=1)
    again = Graph.from_edgelist(edges.rename(columns={"src": "dst", "dst": "src"}))
    assert (rows_of(csm.subgraph_match(again, SQUARE, sort=True)) == expected).all()
    for memory in (1 << 12, 1 << 16, None):
        batches = csm.iter_matches(skewed, SQUARE, sort=True, memory_limit=memory, batch_rows=50)
        assert (rows_of(pd.concat(batches)) == expected).all()


def test_a_sorted_file_is_the_same_file_however_the_rows_were_found(skewed, tmp_path):
    edges = rmat(7, 5, seed=2).sample(frac=1.0, random_state=1)
    for number, graph in enumerate((skewed, Graph.from_edgelist(edges))):
        rows = csm.write_matches(
            graph, SQUARE, tmp_path / f"{number}.csv", sort=True, memory_limit=1 << 16, batch_rows=99
        )
        assert rows == csm.count_matches(skewed, SQUARE)
    assert (tmp_path / "0.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()


# Progress and interrupts ---------------------------------------------------------------------------------------------


@pytest.mark.timed
def test_progress_rises_to_one_and_is_honest_about_the_time(large):
    csm.count_matches(large, SQUARE, engine="cpu")
    seen = []

    def report(done, _):
        seen.append((done, time.perf_counter()))

    begin = time.perf_counter()
    with tuned(max_estimate_share=1e9):  # as for a run that takes long
        csm.count_matches(large, SQUARE, engine="cpu", progress=report)
    done, when = np.array(seen).T
    assert (np.diff(done) >= -1e-9).all()
    assert done[-1] == 1.0
    assert np.abs(done - (when - begin) / (when[-1] - begin)).max() < 0.5


def test_progress_true_draws_a_line_on_stderr(skewed, capsys):
    assert csm.count_matches(skewed, SQUARE, progress=True) == csm.count_matches(skewed, SQUARE, progress=False)
    assert len(csm.subgraph_match(skewed, SQUARE, progress=True, limit=3)) == 3
    assert sum(map(len, csm.iter_matches(skewed, SQUARE, progress=True, limit=3))) == 3
    assert capsys.readouterr().out == ""


INTERRUPTED = """
import sys, time
import cusubmatch as csm
from cusubmatch.generators import rmat
graph, pattern = csm.Graph.from_edgelist(rmat(13, 16)), csm.Pattern.cycle(7)
csm.subgraph_match(graph, pattern, limit=1)
try:
    csm.count_matches(graph, pattern, time_limit=0.01)
except csm.TimeLimitExceeded:
    print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", csm.count_matches(graph, "(a)--(b)") == graph.n_edges, flush=True)
"""


@pytest.mark.timed
@pytest.mark.parametrize(
    "call", ["csm.count_matches(graph, pattern)", "[None for _ in csm.iter_matches(graph, pattern)]"]
)
def test_an_interrupt_ends_any_call_soon_and_the_next_one_works(call):
    code = INTERRUPTED.replace("{call}", call)
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.5)
    begin = time.perf_counter()
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "interrupted True\n"
    assert time.perf_counter() - begin < 1.0  # half a second for a slow machine
    child.communicate()
    assert child.returncode == 0


def test_two_threads_match_on_one_graph_at_once(skewed):
    expected = {text: csm.count_matches(skewed, text) for text in (SQUARE, "(a)--(b)--(c)--(a)--(d)")}
    found = {}

    def work(text):
        found[text] = [len(csm.subgraph_match(skewed, text)) for _ in range(3)]

    team = [threading.Thread(target=work, args=(text,)) for text in expected]
    for member in team:
        member.start()
    for member in team:
        member.join()
    assert found == {text: [count] * 3 for text, count in expected.items()}


# Faults --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "place", ["cusubmatch.engines.cpu.search.run.np.empty", "cusubmatch.execution.query.fill_columns"]
)
def test_an_allocation_that_fails_is_a_clear_error_and_the_next_call_works(skewed, place):
    rows = len(csm.subgraph_match(skewed, SQUARE, engine="cpu"))
    original, failed = pkgutil.resolve_name(place), 0
    for which in range(4):
        calls = iter(range(1000))

        def failing(*arguments, which=which, calls=calls, **options):
            if next(calls) == which:
                raise MemoryError("no memory")
            return original(*arguments, **options)

        with patch(place, failing):
            try:
                csm.subgraph_match(skewed, SQUARE, engine="cpu")
            except ResultTooLarge as error:
                failed += 1
                assert "iter_matches" in str(error)
        assert len(csm.subgraph_match(skewed, SQUARE, engine="cpu")) == rows
    assert failed
