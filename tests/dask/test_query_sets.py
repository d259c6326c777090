"""Query sets, shards and job folders, without a cluster; and the examples of the functions, on one of threads."""

import doctest
import inspect
import itertools
import json
import sys
from types import SimpleNamespace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

import cusubmatch as csm
import cusubmatch.dask as dcsm
from cusubmatch.dask.jobs.manifest import JobFolder
from cusubmatch.dask.jobs.question_batches import MOST_BATCHED, batches_of
from cusubmatch.dask.jobs.shards import cut, equal_shares, factored_shares
from cusubmatch.dask.query_set import guess_on, longest_first, queries_of
from cusubmatch.dask.workers.tasks import GraphSummary
from cusubmatch.execution.shared_plan import SharedPlan
from cusubmatch.io.targets import folder_named

FUNCTIONS = {name: value for name in dcsm.__all__ if inspect.isfunction(value := getattr(dcsm, name))}
TRIANGLE = "(a)--(b)--(c)--(a)"


@examples(150)
@given(
    work=st.lists(st.floats(0, 1e6), min_size=1, max_size=60),
    cell=st.integers(1, 9),
    parts=st.integers(1, 40),
    factored=st.booleans(),
    seconds=st.floats(0, 1e4),
)
def test_shards_are_consecutive_ranges_of_all_tasks(work, cell, parts, factored, seconds):
    edges = tuple(range(0, cell * (len(work) + 1), cell))
    shared = SharedPlan(None, edges[-1], seconds, edges, tuple(work), None)
    shares = factored_shares(parts, seconds) if factored else equal_shares(parts)
    assert sum(shares) == pytest.approx(1)
    ranges = [part.tasks for part in cut(shared, shares)]
    assert [ranges[0].begin, *(tasks.end for tasks in ranges)] == [*(tasks.begin for tasks in ranges), edges[-1]]
    assert ranges[0].begin == 0
    assert all(tasks.end > tasks.begin for tasks in ranges)
    assert ranges == [part.tasks for part in cut(shared, shares)]


def test_shards_of_even_work_have_the_shares_that_were_asked_for():
    edges = tuple(range(1025))
    shared = SharedPlan(None, 1024, 100.0, edges, (1 / 1024,) * 1024, None)
    shares = factored_shares(4, 100.0)
    assert [part.share for part in cut(shared, shares)] == pytest.approx(shares, abs=1 / 1024)
    assert shares[0] == 1 / 32 / 4
    assert shares == sorted(shares, reverse=True)


def test_queries_come_from_mappings_iterables_and_dataframes_of_all_kinds():
    import polars
    import pyarrow as pa

    columns = {"query": ["t", "e"], "pattern": [TRIANGLE, "(a)--(b)"]}
    for queries in (
        pd.DataFrame(columns),
        pa.table(columns),
        polars.DataFrame(columns),
        dict(zip(*columns.values(), strict=True)),
    ):
        read = queries_of(queries)
        assert [(query.number, query.name, query.text) for query in read] == [(0, "t", TRIANGLE), (1, "e", "(a)--(b)")]
    assert [query.name for query in queries_of(iter([TRIANGLE, csm.Pattern.path(3)]))] == [
        TRIANGLE,
        repr(csm.Pattern.path(3)),
    ]
    assert [query.name for query in queries_of(pd.DataFrame({"query": [TRIANGLE]}))] == [TRIANGLE]
    assert queries_of([]) == []
    assert queries_of(["(a", 5][:1])[0].read.status == "error"


def test_the_queries_that_seem_to_take_longest_are_first():
    graph = GraphSummary(1000, 20000, {"A": 10, "B": 900}, "pandas")
    queries = queries_of(
        {"bad": "(a", "rare": "(a:A)--(b:A)--(c:A)", "common": "(a:B)--(b:B)--(c:B)", "any": "(a)--(b)--(c)"}
    )
    assert [query.name for query, _ in longest_first(queries, graph)] == ["any", "common", "rare"]
    assert guess_on(graph)(csm.Pattern.path(30)) > guess_on(graph)(csm.Pattern.path(3))
    assert guess_on(GraphSummary(0, 0, {}, "pandas"))(csm.Pattern.clique(32)) >= 0


def test_a_job_folder_keeps_what_was_noted_and_drops_a_line_that_was_cut_short(tmp_path):
    target, about = folder_named("path", tmp_path / "job"), {"kind": "counts", "graph": "g"}
    with JobFolder(target, about, resume=False) as folder:
        folder.note(3, value=2**70)
        folder.note(1, value=None)
        with pytest.raises(ValueError, match="another process works on"), JobFolder(target, about, resume=True):
            pass
    with (tmp_path / "job" / "done.jsonl").open("a") as file:
        file.write('{"number": 2, "va')
    with JobFolder(target, about, resume=True) as folder:
        assert folder.done == {3: {"value": 2**70}, 1: {"value": None}}
        folder.note(2, value=5)
    lines = (tmp_path / "job" / "done.jsonl").read_text().splitlines()
    assert [json.loads(line)["number"] for line in lines] == [3, 1, 2]
    with pytest.raises(ValueError, match="not empty"), JobFolder(target, about, resume=False):
        pass
    with pytest.raises(ValueError, match="holds another job, which differs in graph"):
        JobFolder(target, about | {"graph": "h"}, resume=True).__enter__()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(ValueError, match="holds no job to resume"):
        JobFolder(folder_named("path", tmp_path / "other"), about, resume=True).__enter__()


def test_a_source_is_known_by_its_files_and_options(thread_client, tmp_path):
    edges = pd.DataFrame({"src": [0, 1], "dst": [1, 2]})
    edges.to_parquet(tmp_path / "edges.parquet")
    one, again, other = (
        dcsm.Graph.from_parquet(tmp_path / "edges.parquet", directed=directed, client=thread_client)
        for directed in (False, False, True)
    )
    assert one.source.key == again.source.key != other.source.key
    plain = [dcsm.Graph.from_edgelist(edges, client=thread_client).source.key for _ in range(2)]
    assert plain[0] == plain[1]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_examples_print_what_they_say(name, thread_client):
    value = FUNCTIONS[name]
    names = vars(sys.modules[value.__module__]) | vars(csm) | {n: getattr(dcsm, n) for n in dcsm.__all__}
    names |= {"client": thread_client, "Pattern": csm.Pattern}
    runner, said = doctest.DocTestRunner(verbose=False), []
    for test in doctest.DocTestFinder(exclude_empty=True).find(value, name, globs=names):
        runner.run(test, out=said.append)
    assert runner.tries > 0
    assert not runner.failures, "".join(said)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_lists_every_parameter_the_result_the_errors_and_related_functions(name):
    validate = pytest.importorskip("numpydoc.validate").validate
    function = FUNCTIONS[name]
    documented = validate(f"{function.__module__}.{function.__qualname__}")
    assert [error for error in documented["errors"] if error[0] != "ES01"] == []
    assert "Raises\n" in documented["docstring"]
    parameters = set(inspect.signature(function).parameters)
    namesake = getattr(csm, name, None)
    if namesake is not None:
        theirs = set(inspect.signature(namesake).parameters) - {"patterns"}
        on_one_machine = {"sort", "progress", "rows_per_file", "batch_rows", "params", "candidates", "touching"}
        on_one_machine |= {"edges", "edge_id", "devices"}
        assert theirs - parameters <= on_one_machine


def test_short_counts_go_in_batches_that_become_smaller_and_nothing_is_left_out():
    questions = [SimpleNamespace(number=i, path=None) for i in range(200)]
    weights = [1.0] * 4 + [1 / 64] * 196
    batches = batches_of(questions, weights, threads=2)
    assert [question.number for question in itertools.chain(*batches)] == list(range(200))
    sizes = [len(batch) for batch in batches]
    assert sizes[:4] == [1] * 4
    assert sizes[4] == max(sizes) == 13
    assert sizes[-2:] == [1, 1]
    assert {len(batch) for batch in batches_of(questions, [1e-6] * 96 + [1.0] * 104, threads=2)} == {1, MOST_BATCHED}
    assert [len(batch) for batch in batches_of(questions[:8], weights[-8:], threads=2)] == [1] * 8
    questions[5].path = "file"
    assert [len(batch) for batch in batches_of(questions, weights, threads=2)] == [1] * 200
