"""Arguments that make no sense: of every public function, and of what it is given beside the graph.

One clear error that names the argument, what came and what would do; the same graph answers the next call.
"""

from __future__ import annotations

import inspect
import math
import threading

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_cases import HOST_NAMES, frame
from refusal import each, refuses

import cusubmatch as csm
from cusubmatch import EngineUnavailable, Graph, GraphError, Pattern, PatternError, ResultTooLarge
from cusubmatch.engines import registry
from cusubmatch.engines.registry import check_engine
from cusubmatch.system import gpu_presence

TRIANGLE = "(a)--(b)--(c)--(a)"
LOOP = "(a)-->(b)-->(c)-->(a)"
EDGES = pd.DataFrame({"src": [0, 0, 1, 2, 4, 3], "dst": [1, 2, 2, 3, 3, 0]})
GOOD = {"src": [1, 2], "dst": [2, 3]}
UNUSABLE = (GraphError, TypeError)


def gpu_here():
    try:
        check_engine("gpu")
    except EngineUnavailable:
        return False
    return True


@pytest.fixture(scope="module")
def graph():
    return Graph.from_edgelist(EDGES)


@pytest.fixture
def still_works(graph):
    """After the test the graph answers as before, and no thread is left."""
    yield graph
    assert csm.count_matches(graph, TRIANGLE) == 2
    assert not [thread for thread in threading.enumerate() if thread.name == "cusubmatch"]


# Arguments of the public functions, for all that take them.
FUNCTIONS = [csm.count_matches, csm.subgraph_match, csm.iter_matches, csm.has_match, csm.count_many, csm.explain]
ARGUMENTS = {
    "G": [(value, TypeError, "G") for value in (None, 5, "edges.csv", [], np.eye(3), pd.Series([1]), nx.Graph, Graph)],
    "P": [(value, TypeError, "pattern") for value in (None, 5, b"(a)", ["(a)"], EDGES, nx.path_graph(2))],
    "semantics": [(value, ValueError, "semantics induced") for value in ("iso", "Induced", None, 5, [])],
    "unique": [(value, TypeError, "unique True") for value in (1, 0, "yes")],
    "engine": [
        *((value, ValueError, ["engine", "cpu", repr(value)]) for value in ("tpu", "GPU", None, 1)),
        ("gpu", EngineUnavailable, "engine gpu NVIDIA pip install cusubmatch[cu13]"),
    ],
    "limit": [
        (-1, ValueError, "limit -1"),
        *((value, TypeError, "limit int") for value in (True, np.True_, 1.5, "1", math.inf)),
    ],
    "batch_rows": [
        *((value, ValueError, f"batch_rows {value}") for value in (0, -1)),
        *((value, TypeError, "batch_rows int") for value in (True, 1.5, None, "1")),
    ],
    "time_limit": [
        *((value, ValueError, "time_limit seconds") for value in (-1, -0.5, math.nan)),
        *((value, TypeError, "time_limit seconds") for value in ("1", [1], True)),
    ],
    "progress": [(value, TypeError, "progress callable") for value in (5, "yes", [])],
}


def call(function, graph, **options):
    """Call any of the functions; iter_matches must complain before the first batch is asked for."""
    graph, pattern = options.pop("G", graph), options.pop("P", TRIANGLE)
    return function(graph, {"x": pattern} if function is csm.count_many else pattern, **options)


def takes(function, argument):
    """Whether the function has the argument (count_many has patterns for P)."""
    return argument in inspect.signature(function).parameters or (argument, function) == ("P", csm.count_many)


@pytest.mark.parametrize(
    ("function", "argument", "value", "kinds", "words"),
    each(
        {
            f"{function.__name__} {argument}": [(function, argument, *case) for case in cases]
            for function in FUNCTIONS
            for argument, cases in ARGUMENTS.items()
            if takes(function, argument)
        }
    ),
)
def test_an_argument_that_makes_no_sense(function, argument, value, kinds, words, still_works):
    if (argument, value) == ("engine", "gpu") and gpu_here():
        pytest.skip("there is a GPU here")
    with refuses(kinds, words):
        call(function, still_works, **{argument: value})


@pytest.mark.parametrize(("version", "extra"), [(12_090, "cu12"), (13_000, "cu13"), (13_020, "cu13")])
def test_missing_packages_of_a_gpu_are_named_with_the_extra_for_its_drivers_cuda(version, extra, monkeypatch):
    class Driver:
        def cuInit(self, flags):
            return 0

        def cuDeviceGetCount(self, count):
            count._obj.value = 1
            return 0

        def cuDriverGetVersion(self, number):
            number._obj.value = version
            return 0

    monkeypatch.setattr(gpu_presence.ctypes, "CDLL", lambda name: Driver())
    monkeypatch.setattr(gpu_presence, "PACKAGES", ("no_such_package",))
    monkeypatch.setattr(registry, "missing_for_gpu", gpu_presence.missing_for_gpu.__wrapped__)
    with refuses(EngineUnavailable, f"engine gpu no_such_package pip install cusubmatch[{extra}]"):
        check_engine("gpu")


@pytest.mark.parametrize(
    "function", [function for function in FUNCTIONS if function is not csm.count_many], ids=lambda f: f.__name__
)
def test_a_pattern_that_does_not_suit_the_graph(function, still_works):
    for pattern, kinds, words in [
        ("(a)-->(b)", PatternError, "pattern directed undirected directed=True"),
        ("(a:Person)--(b)", GraphError, "pattern labels vertex_label="),
        ("(a)-[:KNOWS]-(b)", GraphError, "pattern labels edge_label="),
        ("(a)--(b", PatternError, "pattern character 8"),
        ("(a)--(b), (c)--(d)", PatternError, "pattern disconnected"),
    ]:
        with refuses(kinds, words):
            call(function, still_works, P=pattern)
    if "unique" in inspect.signature(function).parameters:
        with refuses(ValueError, "unique homomorphism"):
            call(function, still_works, semantics="homomorphism", unique=True)


@pytest.mark.parametrize("function", [csm.subgraph_match, csm.iter_matches])
def test_a_match_without_columns_or_with_columns_of_one_name(function, still_works):
    with refuses(PatternError, "pattern anonymous name"):
        function(still_works, "()--()")
    for name in ("polars", "arrow"):
        with refuses(PatternError, ["pattern", "text", name]):
            function(frame(name, **GOOD), Pattern([(1, "1")]))


def test_numbers_of_numpy_are_numbers(graph):
    assert csm.count_matches(graph, TRIANGLE, time_limit=np.float32(60)) == 2
    assert csm.count_matches(graph, TRIANGLE, time_limit=np.int64(60), unique=np.False_) == 12
    assert len(csm.subgraph_match(graph, TRIANGLE, limit=np.int64(1))) == 1
    assert len(list(csm.iter_matches(graph, TRIANGLE, batch_rows=np.uint8(1)))) == 2


def test_an_error_of_the_progress_function_ends_the_work_and_reaches_the_caller(still_works):
    for function in (csm.count_matches, csm.subgraph_match):
        with pytest.raises(ZeroDivisionError):
            function(still_works, TRIANGLE, progress=lambda done, matches: 1 / 0)


@pytest.mark.thorough
@pytest.mark.parametrize("name", HOST_NAMES)
def test_a_result_of_more_rows_than_memory_says_how_many_and_what_would_do(name, monkeypatch):
    monkeypatch.setattr("cusubmatch.execution.results.result_columns.free_bytes", lambda xp: 100)
    monkeypatch.setattr("cusubmatch.execution.collection.row_buffer.SMALL_RESULT_BYTES", 0)
    edges = Graph.from_edgelist(frame(name, src=EDGES["src"].to_numpy(), dst=EDGES["dst"].to_numpy()))
    for pattern, rows in [("(a)--(b)", 6), ("(a)--(b)--(c)", 10)]:
        with refuses(ResultTooLarge, f"{rows} rows iter_matches limit= count_matches"):
            csm.subgraph_match(edges, pattern)
        assert csm.count_matches(edges, pattern) == rows
        assert sum(map(len, csm.iter_matches(edges, pattern, batch_rows=2))) == rows
        assert len(csm.subgraph_match(edges, pattern, limit=1)) == 1
        assert len(csm.subgraph_match(edges, pattern, limit=0)) == 0


def test_a_result_that_takes_long_to_count_says_a_lower_bound(monkeypatch):
    monkeypatch.setattr("cusubmatch.system.host_memory.available_memory", lambda: 100)
    monkeypatch.setattr("cusubmatch.api.subgraph_match.COUNTING_ON_SECONDS", 0.1)
    edges = csm.Graph.from_edgelist(csm.generators.rmat(10, 16))
    with refuses(ResultTooLarge, "more than iter_matches"):
        csm.subgraph_match(edges, Pattern.cycle(6))


# Matches and the columns of their edges.
PAYMENTS = {"src": [1, 2, 3], "dst": [2, 3, 1], "amount": [10, 20, 30]}


FOREIGN = object()  # stands for a table of another library
ATTACHED = {
    "matches": [
        *(({"matches": value}, TypeError, f"matches dataframe {type(value).__name__}") for value in (None, [1])),
        ({"P": "(x)-->(y)"}, PatternError, "matches 'x'"),
        ({"P": "(a)-->(b)-->(d)"}, PatternError, "matches 'd'"),
    ],
    "P": [
        *(({"P": value}, TypeError, f"pattern {type(value).__name__}") for value in (None, 5)),
        ({"P": "(a"}, PatternError, "pattern character 3"),
        ({"P": "(a)-[:X]->(b)"}, GraphError, "edge_label labels"),
    ],
    "edges": [
        *(({"edges": value}, TypeError, f"edges {type(value).__name__}") for value in (None, np.eye(2))),
        ({"edges": FOREIGN}, TypeError, "edges"),
        ({"edges": {"src": ["1", "2", "3"], "dst": ["2", "3", "1"]}}, GraphError, "source string integer"),
        ({"edges": {"src": [1.0, 2.0, 3.5]}}, GraphError, "source float"),
        ({"edges": {"dst": [1.0, math.nan, 3.0]}}, GraphError, "destination float"),
    ],
    "columns": [
        ({"columns": "amount"}, TypeError, "columns list 'amount'"),
        ({"columns": 5}, TypeError, "columns int"),
        ({"columns": ["cents"]}, GraphError, "columns 'cents' 'amount'"),
        ({"columns": [["amount"]]}, UNUSABLE, "columns ['amount']"),
        ({"edge_label": "kind"}, GraphError, "edge_label 'kind'"),
        ({"source": "src"}, GraphError, "source, destination"),
        ({"source": "src", "destination": "src"}, GraphError, "source destination"),
        ({"source": "src", "destination": "to"}, GraphError, "destination 'to'"),
    ],
}


@pytest.mark.parametrize("name", HOST_NAMES)
@pytest.mark.parametrize(("change", "kinds", "words"), each(ATTACHED))
def test_edges_that_cannot_be_attached(name, change, kinds, words):
    edges = frame(name, **PAYMENTS)
    arguments = {"matches": csm.subgraph_match(edges, LOOP), "P": LOOP, "edges": edges} | change
    if arguments["edges"] is FOREIGN:
        arguments["edges"] = pa.table(PAYMENTS) if name != "arrow" else pd.DataFrame(PAYMENTS)
    if isinstance(arguments["edges"], dict):
        arguments["edges"] = frame(name, **(PAYMENTS | arguments["edges"]))
    with refuses(kinds, words):
        csm.attach_edges(**arguments)


@pytest.mark.parametrize("name", HOST_NAMES)
def test_attached_columns_of_one_name(name):
    edges = frame(name, **PAYMENTS)
    double = Pattern([("a", "a_b_amount"), ("a", "b")], directed=True)
    with refuses(PatternError, "'a_b_amount' -[e1]->"):
        csm.attach_edges(frame(name, a=[1], a_b_amount=[2], b=[2]), double, edges)
    kinds = frame(name, **PAYMENTS, kind=["X", "Y", "X"])
    with refuses(PatternError, "'a_b_amount' -[e1]->"):
        csm.attach_edges(frame(name, a=[1], b=[2]), "(a)-[:X]->(b), (a)-[:Y]->(b)", kinds, edge_label="kind")


def doubled(name, column):
    """Payments with two columns of one name, as pandas and Arrow allow."""
    edges = pa.table(PAYMENTS | {"kind": ["X", "Y", "X"]})
    for _ in range(2 - edges.column_names.count(column)):
        edges = edges.append_column(column, pa.array([7, 8, 9]))
    return edges if name == "arrow" else edges.to_pandas()


@pytest.mark.parametrize("name", ["pandas", "arrow"])
@pytest.mark.parametrize("text", ["(a)-[e]->(b)", "(a)-[e:X]->(b)"])
def test_columns_of_one_name_that_are_not_wanted_do_not_matter(name, text):
    edges = doubled(name, "note")
    matches = csm.subgraph_match(edges, "(a)-->(b)", sort=True)
    attached = csm.attach_edges(matches, text, edges, ["amount"], edge_label="kind")
    plain = frame(name, **PAYMENTS, kind=["X", "Y", "X"])
    assert attached.equals(csm.attach_edges(matches, text, plain, ["amount"], edge_label="kind"))


@pytest.mark.parametrize("name", ["pandas", "arrow"])
@pytest.mark.parametrize(
    ("column", "words"),
    [("amount", "columns: 2 columns 'amount'"), ("kind", "edge_label: 2 columns 'kind'"), ("src", "source: 2 'src'")],
)
@pytest.mark.parametrize("text", ["(a)-[e]->(b)", "(a)-[e:X]->(b)"])
def test_columns_of_one_name_that_are_wanted_are_refused_by_argument(name, column, words, text):
    matches = csm.subgraph_match(frame(name, **PAYMENTS), "(a)-->(b)")
    for columns in (None, ["amount"]):
        with refuses(GraphError, words):
            csm.attach_edges(matches, text, doubled(name, column), columns, edge_label="kind")


@pytest.mark.parametrize("name", ["pandas", "arrow"])
def test_matches_with_columns_of_one_name_are_refused_by_argument(name):
    with refuses(GraphError, "matches: 2 'amount'"):
        csm.attach_edges(doubled(name, "amount"), "(src)-[e]->(dst)", frame(name, **PAYMENTS))


@pytest.mark.parametrize("name", HOST_NAMES)
def test_edges_with_nulls_are_not_attached(name):
    matches = csm.subgraph_match(frame(name, src=["1", "2"], dst=["2", "3"]), "(a)-->(b)")
    with refuses(GraphError, "source 1 null"):
        csm.attach_edges(matches, "(a)-->(b)", frame(name, src=["1", None], dst=["2", "3"], amount=[1, 2]))


# subgraph_monomorphism takes graphs for patterns.


SQUARE = nx.cycle_graph(4)


@pytest.mark.parametrize(
    ("G", "pattern_G", "kinds", "words"),
    [
        (None, SQUARE, TypeError, "G NoneType"),
        (SQUARE, None, TypeError, "pattern_G NoneType"),
        (SQUARE, "(a)--(b)", TypeError, "pattern_G str"),
        (SQUARE, nx.Graph, TypeError, "pattern_G"),
        (nx.DiGraph([(1, 2)]), SQUARE, ValueError, "G undirected"),
        (Graph.from_edgelist(EDGES, directed=True), SQUARE, ValueError, "G undirected"),
        (SQUARE, nx.DiGraph([(1, 2)]), ValueError, "pattern_G undirected"),
        (SQUARE, nx.Graph(), ValueError, "pattern_G empty"),
        (SQUARE, nx.Graph([(1, 1)]), ValueError, "pattern_G self-loop"),
        (SQUARE, nx.Graph([(1, 2), (3, 4)]), ValueError, "pattern_G disconnected"),
        (SQUARE, nx.path_graph(5), ValueError, "pattern_G 5 4"),
        (nx.path_graph(5), nx.complete_graph(5), ValueError, "pattern_G 10 4"),
        (nx.path_graph(50), nx.path_graph(33), ValueError, "pattern_G 33 32"),
        (SQUARE, nx.Graph([(1, "x"), ("x", "1")]), ValueError, "pattern_G '1'"),
        (SQUARE, Pattern([("a", "b")], labels={"a": "X"}), ValueError, "pattern_G labels subgraph_match"),
        (SQUARE, Pattern([("a", "b")], edge_labels=["X"]), ValueError, "pattern_G labels subgraph_match"),
        (SQUARE, Pattern.parse("()--(b)"), ValueError, "pattern_G anonymous"),
        (SQUARE, pd.DataFrame({"a": [1], "b": [2]}), ValueError, "pattern_G ['a', 'b']"),
        (SQUARE, pd.DataFrame({"src": ["a", None], "dst": ["b", "c"]}), ValueError, "pattern_G null"),
    ],
)
def test_a_graph_that_is_no_pattern(G, pattern_G, kinds, words):
    with refuses(kinds, words):
        csm.subgraph_monomorphism(G, pattern_G)
