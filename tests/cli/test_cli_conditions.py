"""Conditions on the command line: WHERE, parameters, candidates and ids to touch, from files."""

from __future__ import annotations

import pytest
from command_line import messages, run

EDGES = "src,dst,amount,day\n1,2,5,2024-01-01\n2,3,6,2024-01-02\n3,1,7,2024-01-03\n1,2,8,2024-01-04\n"
EDGE = "(a)-[p]->(b)"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "ids.csv").write_text("id\n2\n")
    (tmp_path / "texts.csv").write_text("id\nx\n")
    return tmp_path


CASES = {
    "a parameter": ([EDGE, "--where", "p.amount > $x", "--param", "x=5"], 3),
    "a date": ([EDGE, "--where", "p.day >= $x", "--param", "x=date('2024-01-03')", "--time", "day"], 2),
    "a list": ([EDGE, "--where", "p.amount IN $x", "--param", "x=[5, 6]"], 2),
    "in the pattern": ([f"{EDGE} WHERE p.amount > 7"], 1),
    "candidates": ([EDGE, "--candidates", "a=ids.csv"], 1),
    "touching": ([EDGE, "--touching", "ids.csv"], 2),
}


@pytest.mark.parametrize("case", CASES)
def test_count_takes_conditions(files, case):
    arguments, expected = CASES[case]
    result = run("count", "edges.csv", *arguments)
    assert (result.exit_code, result.stdout) == (0, f"{expected}\n"), result.stderr


def test_match_and_explain_take_conditions(files):
    asked = ["edges.csv", EDGE, "--where", "p.amount > $x", "--param", "x=5", "--candidates", "a=ids.csv"]
    assert run("match", *asked, "--format", "csv").stdout.split() == ['"a","b"', "2,3"]
    assert "p.amount > $x: 3 of 4 rows" in run("explain", *asked).stdout
    rows = ["edges.csv", EDGE, "--each-edge", "--touching", "ids.csv"]
    named = run("match", *rows, "--edge-id", "amount", "--format", "csv").stdout.split()
    assert named[0] == '"a","b","p"'
    assert "touching 1 of 3 vertices" in run("explain", *rows).stdout


REFUSALS = {
    "a parameter without a value": (["--where", "p.amount > $x", "--param", "x"], "param x window=30"),
    "no list": (["--where", "p.amount IN $x", "--param", "x=[1"], "param x [1"),
    "no file": (["--candidates", "a=nothing.csv"], "candidates nothing.csv"),
    "no vertex": (["--candidates", "z=ids.csv"], "candidates 'z'"),
    "no column": (["--where", "p.amuont > 3"], "p.amuont 'amount'"),
    "a parameter is missing": (["--where", "p.amount > $x"], "--param: $x"),
    "ids that are no integers": (["--touching", "texts.csv"], "--touching"),
}


def test_ids_that_are_not_in_the_graph_are_one_line(files):
    (files / "more.csv").write_text("id\n2\n9\n")
    result = run("count", "edges.csv", EDGE, "--touching", "more.csv")
    assert (result.exit_code, result.stdout) == (0, "2\n")
    assert messages(result) == ["cusubmatch: --touching: 1 of 2 ids are not in the graph"]
    assert messages(run("count", "edges.csv", "(a)-->(b)", "--each-edge")) == [
        "cusubmatch: --each-edge binds every named edge to a row, and no edge has a name; write -[p]->"
    ]


@pytest.mark.parametrize("case", REFUSALS)
def test_bad_conditions_end_with_one_line(files, case):
    arguments, words = REFUSALS[case]
    result = run("count", "edges.csv", EDGE, *arguments)
    assert result.exit_code == 2
    (line,) = messages(result)
    assert not [word for word in words.split() if word not in line], line


def test_count_by_prints_bindings_with_the_largest_counts_first(files):
    asked = ["count", "edges.csv", "(a)-[p]->(b)", "--by", "a", "--each-edge"]
    assert run(*asked, "--format", "csv").stdout.split() == ['"a","count"', "1,2", "2,1", "3,1"]
    assert run(*asked, "--min-count", "2", "--format", "json").stdout == '{"a": 1, "count": 2}\n'
    assert "3 bindings" in run(*asked).stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--by", "z"], "by 'z' ['a', 'b']"),
        (["--min-count", "2"], "--min-count --by"),
        (["--by", "a,a"], "by different"),
    ],
)
def test_count_by_refuses_what_makes_no_sense(files, options, words):
    result = run("count", "edges.csv", EDGE, *options)
    assert result.exit_code == 2
    assert all(word in result.stderr for word in words.split())
