"""A label that occurs nowhere in the graph matches nothing, and a warning says so: most often it is a typing error."""

from __future__ import annotations

import warnings

import pandas as pd
import pytest
from command_line import messages, run
from frame_cases import HOST_NAMES, frame

import cusubmatch as csm
from cusubmatch import AbsentLabelWarning, Graph, Pattern

EDGES = {"src": [0, 1, 2, 0], "dst": [1, 2, 0, 2], "kind": ["PAYS", "PAYS", "OWES", "OWNS"]}
VERTICES = {"vertex": [0, 1, 2], "role": ["Account", "Account", "Shop"]}
LABELS = {"directed": True, "edge_label": "kind", "vertex_label": "role"}
GRAPH = Graph.from_edgelist(pd.DataFrame(EDGES), vertices=pd.DataFrame(VERTICES), **LABELS)
TYPO = "(a:Acount)-[:PAYS]->(b)"

CALLS = {
    "count_matches": lambda P: csm.count_matches(GRAPH, P),
    "has_match": lambda P: csm.has_match(GRAPH, P),
    "explain": lambda P: csm.explain(GRAPH, P),
    "count_many": lambda P: csm.count_many(GRAPH, {"typo": P, "again": P, "good": "(a)-->(b)"}),
    "subgraph_match": lambda P: csm.subgraph_match(GRAPH, P),
    "iter_matches": lambda P: list(csm.iter_matches(GRAPH, P)),
    "sample_matches": lambda P: csm.sample_matches(GRAPH, P, 1),
    "vertex_counts": lambda P: csm.vertex_counts(GRAPH, P),
    "write_matches": lambda P: csm.write_matches(GRAPH, P, "out.parquet"),
    "attach_edges": lambda P: csm.attach_edges(
        pd.DataFrame({"a": [0], "b": [1]}), P, pd.DataFrame(EDGES), edge_label="kind"
    ),
}


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def warned(call, *arguments):
    """The warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*arguments)
    return caught


@pytest.mark.parametrize("name", CALLS)
def test_every_function_warns_once_and_points_at_the_callers_line(name):
    pattern = "(a)-[:PAY]->(b)" if name == "attach_edges" else TYPO
    (warning,) = warned(CALLS[name], pattern)
    assert warning.category is AbsentLabelWarning
    assert warning.filename == __file__
    wrong, right = ("'PAY'", "'PAYS'") if name == "attach_edges" else ("'Acount'", "'Account'")
    assert wrong in str(warning.message)
    assert right in str(warning.message)
    if name == "count_many":
        assert "typo" in str(warning.message)
        assert "again" in str(warning.message)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(a:Acount)-->(b)", "vertex label 'Acount' nearest 'Account'"),
        ("(a:account)-->(b)", "vertex label 'account' nearest 'Account'"),
        ("(a:ACCOUNT)-->(b)", "'ACCOUNT' 'Account'"),
        ("(a:Account|Shpo)-->(b)", "'Shpo' 'Shop'"),
        ("(a)-[:PAY]->(b)", "edge label 'PAY' nearest 'PAYS'"),
        ("(a)-[:OWES|PAID]->(b)", "edge label 'PAID' 'PAYS'"),
        ("(a:Xyz)-[:Xyz]->(b)", "vertex label 'Xyz' 'Account' 'Shop' edge label 'PAYS' 'OWES' 'OWNS'"),
    ],
)
def test_the_warning_names_the_label_and_the_nearest_that_there_are(pattern, words):
    (warning,) = warned(csm.count_matches, GRAPH, pattern)
    assert not [word for word in words.split() if word not in str(warning.message)], str(warning.message)
    assert len(str(warning.message)) < 300


def test_labels_that_are_there_give_no_warning():
    numbered = Graph.from_edgelist(
        pd.DataFrame({"src": [0], "dst": [1], "kind": [7]}), directed=True, edge_label="kind"
    )
    assert csm.count_matches(numbered, Pattern([("a", "b")], directed=True, edge_labels=[7])) == 1
    assert csm.count_matches(numbered, Pattern([("a", "b")], directed=True, edge_labels=["7"])) == 1
    assert csm.count_matches(GRAPH, "(a:Account|Shop)-[:PAYS]->(b)") == 2
    found = csm.subgraph_match(GRAPH, "(a)-[:PAYS]->(b)")
    assert len(csm.attach_edges(found, "(a)-[:PAYS]->(b)", pd.DataFrame(EDGES), edge_label="kind")) == 2


def test_the_warning_can_be_silenced_and_the_answer_is_none():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AbsentLabelWarning)
        assert csm.count_matches(GRAPH, TYPO) == 0


def test_of_many_labels_the_warning_lists_a_few():
    labels = [f"kind {i:05d}" for i in range(3000)]
    edges = pd.DataFrame({"src": range(3000), "dst": range(1, 3001), "kind": labels})
    graph = Graph.from_edgelist(edges, directed=True, edge_label="kind")
    (warning,) = warned(csm.count_matches, graph, Pattern([("a", "b")], directed=True, edge_labels=["quite another"]))
    assert "3,000" in str(warning.message)
    assert len(str(warning.message)) < 300


@pytest.mark.parametrize("name", HOST_NAMES)
def test_edges_are_attached_by_labels_that_are_written_as_text(name):
    edges = frame(name, src=[0, 1], dst=[1, 2], kind=[7, 8], cents=[10, 20])
    pattern = Pattern([("a", "b")], directed=True, edge_labels=["7"])
    graph = Graph.from_edgelist(edges, directed=True, edge_label="kind")
    assert len(csm.attach_edges(csm.subgraph_match(graph, pattern), pattern, edges, ["cents"], edge_label="kind")) == 1


@pytest.mark.parametrize("command", ["count", "match", "explain", "match -o out.csv"])
def test_the_command_line_says_it_on_one_line_of_stderr(command):
    pd.DataFrame(EDGES).to_csv("edges.csv", index=False)
    pd.DataFrame(VERTICES).to_csv("people.csv", index=False)
    name, *options = command.split()
    result = run(
        *(name, "edges.csv", "(a:Acount)-->(b)", "--vertices", "people.csv", "--vertex-label", "role", *options)
    )
    assert result.exit_code == 0
    lines = [line for line in messages(result) if "Acount" in line]
    assert len(lines) == 1
    assert lines[0].startswith("cusubmatch: ")
    assert "'Account'" in lines[0]
    assert ".py" not in result.stderr
