"""The command line says what the functions say: results on stdout or in a file, messages and progress on stderr."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from command_line import LOOP, TRIANGLE, assert_one_line, command, environment, messages, run, write_graph_files

import cusubmatch as csm
from cusubmatch.cli.arguments import device_argument


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The folder of the small graph's files; the working directory of the test."""
    monkeypatch.chdir(tmp_path)
    write_graph_files()
    return tmp_path


# count


@pytest.mark.parametrize("name", ["edges.parquet", "edges.csv", "text.csv"])
def test_count_prints_a_bare_integer(files, name):
    result = run("count", name, TRIANGLE)
    assert (result.exit_code, result.stdout, messages(result)) == (0, "2\n", [])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["clique:3"], 2),
        (["cycle:4"], 1),
        (["path:2"], 6),
        (["star:3"], 3),
        (["cycle:3:directed"], 1),
        (["path:3:directed"], 7),
        ([LOOP], 1),
        ([TRIANGLE, "--directed"], 2),
        ([TRIANGLE, "--no-unique"], 12),
        (["cycle:4", "--semantics", "induced"], 0),
        (["(a)--(b)--(c)", "--semantics", "homomorphism"], 32),
        (["(a)--(b)--(c)", "--semantics", "homomorphism", "--distinct", "a,c"], 20),
        (["(a)--(b)--(c)", "--semantics", "homomorphism", "--distinct", "a, c", "--distinct", "b,c"], 20),
        ([TRIANGLE, "--engine", "cpu"], 2),
        (["(a)"], 5),
        (["()--()--()"], 10),
        ([LOOP, "--time-limit", "60"], 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_count_says_what_the_options_ask_for(files, arguments, expected):
    result = run("count", "edges.csv", *arguments)
    assert (result.exit_code, result.stdout) == (0, f"{expected}\n"), result.stderr


def test_columns_labels_and_vertices_come_from_named_places(files):
    columns = ["--source", "from", "--destination", "to", "--edge-label", "kind"]
    assert run("count", "named.csv", "(a)-[:pays]->(b)-[:pays]->(c)-[:owes]->(a)", *columns).stdout == "1\n"
    assert run("count", "named.csv", "(a)-[:owes]->(b)-[:owes]->(c)", *columns).stdout == "0\n"
    labelled = ["--vertices", "people.parquet", "--vertex", "id", "--vertex-label", "type"]
    assert run("count", "edges.csv", "(x:A)--(y:A)--(z:B)", *labelled).stdout == "3\n"
    assert run("count", "edges.csv", "(x)", *labelled).stdout == "6\n"


def test_count_agrees_with_the_functions(files):
    edges = pd.read_parquet("edges.parquet")
    for pattern in (TRIANGLE, LOOP, "(a)--(b)--(c)--(d)"):
        assert run("count", "edges.parquet", pattern).stdout == f"{csm.count_matches(edges, pattern)}\n"


# match


def test_match_prints_the_rows_and_the_total(files):
    result = run("match", "edges.csv", TRIANGLE)
    assert (result.exit_code, messages(result)) == (0, [])
    lines = result.stdout.splitlines()
    assert lines[-1] == "2 matches"
    assert [name in lines[1] for name in "abc"] == [True] * 3
    rows = {frozenset(cell.strip() for cell in line.split("│")[1:4]) for line in lines[3:5]}
    assert rows == {frozenset("123"), frozenset("134")}


def test_match_prints_the_first_twenty_rows_of_many(files):
    pd.DataFrame({"src": 0, "dst": range(1, 31)}).to_csv("star.csv", index=False)
    result = run("match", "star.csv", "(hub)--(leaf)", "--no-unique")
    assert result.stdout.splitlines()[-1] == "first 20 of 60 matches"
    assert len(result.stdout.splitlines()) == 20 + 4 + 1
    result = run("match", "star.csv", "(hub)--(leaf)", "--limit", "25")
    assert result.stdout.splitlines()[-1] == "first 20 of 25 matches (--limit reached: there may be more)"


def test_a_wide_table_is_not_cut_in_a_pipe(files):
    names = [f"a_vertex_with_a_long_name_{i}" for i in range(12)]
    pd.DataFrame({"src": range(11), "dst": range(1, 12)}).to_csv("chain.csv", index=False)
    result = run("match", "chain.csv", "--".join(f"({name})" for name in names))
    assert all(name in result.stdout for name in names)
    assert result.stdout.splitlines()[-1] == "1 match"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_match_writes_the_rows_that_the_function_returns(files, suffix):
    result = run("match", "edges.parquet", LOOP, "-o", f"out.{suffix}")
    assert (result.exit_code, result.stdout) == (0, "")
    assert messages(result) == [f"1 match written to out.{suffix}"]
    written = pd.read_csv("out.csv") if suffix == "csv" else pd.read_parquet("out.parquet")
    assert written.columns.tolist() == ["a", "b", "c"]
    assert {tuple(row) for row in written.to_numpy()} <= {(1, 2, 3), (2, 3, 1), (3, 1, 2)}
    assert (written.dtypes == "int64").all()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("kind", ["str", "category"])
def test_text_ids_are_written_as_they_came(files, suffix, kind):
    edges = pd.read_csv("text.csv").astype("category" if kind == "category" else "str")
    edges.to_parquet("text.parquet")
    result = run("match", "text.parquet", LOOP, "-o", f"out.{suffix}")
    assert result.exit_code == 0, result.stderr
    written = pd.read_csv("out.csv") if suffix == "csv" else pd.read_parquet("out.parquet")
    assert sorted(written.iloc[0]) == ["n1", "n2", "n3"]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("limit", ["0", "1", "100"])
def test_a_limited_output_holds_so_many_rows_and_its_columns(files, suffix, limit):
    result = run("match", "edges.csv", "(a)--(b)", "--limit", limit, "-o", f"out.{suffix}")
    assert result.exit_code == 0, result.stderr
    written = pd.read_csv("out.csv") if suffix == "csv" else pd.read_parquet("out.parquet")
    assert written.columns.tolist() == ["a", "b"]
    assert len(written) == min(int(limit), 6)


def test_an_output_without_suffix_is_a_folder_of_parts(files):
    result = run("match", "edges.csv", "(a)--(b)", "-o", "out", "--rows-per-file", "4")
    assert (result.exit_code, result.stdout, messages(result)) == (0, "", ["6 matches written to out"])
    parts = [pd.read_parquet(path) for path in sorted(Path("out").iterdir())]
    assert [len(part) for part in parts] == [4, 2]
    assert len(pd.concat(parts).drop_duplicates()) == 6


def test_no_match_is_an_empty_file_with_columns(files):
    assert run("match", "edges.csv", "clique:4", "-o", "out.csv").exit_code == 0
    assert Path("out.csv").read_text().replace('"', "") == "v0,v1,v2,v3\n"


def test_an_existing_output_is_replaced(files):
    Path("out.csv").write_text("old")
    assert run("match", "edges.csv", TRIANGLE, "-o", "out.csv").exit_code == 0
    assert len(pd.read_csv("out.csv")) == 2


# explain, info, help


def test_explain_prints_the_plan_that_the_function_returns(files):
    result = run("explain", "edges.parquet", TRIANGLE, "--semantics", "induced")
    assert result.exit_code == 0, result.stderr
    expected = str(csm.explain(pd.read_parquet("edges.parquet"), TRIANGLE, semantics="induced"))
    assert result.stdout.rstrip("\n") == expected.rstrip("\n")


def facts(*arguments):
    result = run("info", *arguments)
    assert result.exit_code == 0, result.stderr
    names = ["vertices", "edges", "degree", "out-degree", "in-degree", "vertex labels", "edge labels"]
    names += ["dropped self loops", "dropped repeats"]
    found = {}
    for line in result.stdout.splitlines():
        name = max((name for name in names if line.startswith(f"{name} ")), key=len)
        found[name] = line[len(name) :].strip()
    return found


def test_info_counts_vertices_edges_degrees_and_dropped_rows(files):
    assert facts("edges.csv") == {
        "vertices": "5",
        "edges": "6 undirected",
        "degree": "mean 2.40, median 3, greatest 3",
        "dropped self loops": "1",
        "dropped repeats": "1",
    }


def test_info_of_a_directed_graph_tells_out_from_in(files):
    found = facts("edges.csv", "--directed")
    assert found["edges"] == "6 directed"
    assert found["out-degree"] == "mean 1.20, median 1, greatest 2"
    assert found["in-degree"] == "mean 1.20, median 1, greatest 2"


def test_info_lists_labels(files):
    columns = ["--source", "from", "--destination", "to", "--edge-label", "kind"]
    found = facts("named.csv", *columns, "--vertices", "people.parquet", "--vertex", "id", "--vertex-label", "type")
    assert found["vertex labels"] == "A: 2, B: 2, (without: 2)"
    assert set(found["edge labels"].split(", ")) == {"pays", "owes"}
    assert found["vertices"] == "6"


def test_info_of_a_graph_without_edges(files):
    Path("empty.csv").write_text("src,dst\n")
    assert facts("empty.csv")["vertices"] == "0"


@pytest.mark.parametrize("name", [None, "count", "match", "explain", "info"])
def test_help_fits_a_screen_and_has_an_example(name):
    result = run(*([name] if name else []), "--help")
    assert result.exit_code == 0
    assert f"cusubmatch {name or 'count'} " in result.stdout
    assert len(result.stdout.splitlines()) <= 46


def test_version_is_that_of_the_package():
    assert run("--version").stdout == f"{csm.__version__}\n"


def test_no_arguments_show_the_help():
    assert run().stdout == run("--help").stdout


@pytest.mark.timed
def test_help_is_immediate():
    command("--help")  # the first start may have to write bytecode
    start = time.perf_counter()
    assert command("--help").returncode == 0
    assert time.perf_counter() - start < 1.5  # half a second on an idle machine


def test_help_imports_nothing_heavy():
    heavy = ["numba", "numpy", "pandas", "pyarrow", "rich.progress"]
    check = f"import sys, cusubmatch.cli.app; sys.exit(str([m for m in {heavy} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", check], env=environment(), capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"


# what the terminal shows


def test_progress_goes_to_stderr_and_leaves_stdout_bare(files):
    result = run("count", "edges.csv", TRIANGLE, "--progress")
    assert (result.exit_code, result.stdout) == (0, "2\n")


def test_progress_is_handed_to_the_engine_only_where_it_is_shown(files, monkeypatch):
    seen = []

    def count(*arguments, progress=None, **options):
        seen.append(progress)
        if progress is not None:
            progress(0.5, 1_000)
        return 7

    monkeypatch.setattr(csm, "count_matches", count)
    assert run("count", "edges.csv", TRIANGLE, "--progress").stdout == "7\n"
    assert run("count", "edges.csv", TRIANGLE).stdout == "7\n"
    assert callable(seen[0])
    assert seen[1] is None


# devices


@pytest.mark.parametrize(
    ("text", "argument"), [("all", "all"), ("2", 2), ("0,2", [0, 2]), ("1,", [1]), ("", []), (" 0, 1 ", [0, 1])]
)
def test_devices_are_all_so_many_or_numbers(text, argument):
    assert device_argument(text) == argument


@pytest.mark.parametrize("name", ["count", "match", "explain"])
def test_devices_reach_the_python_function(files, monkeypatch, name):
    heard = {}
    function = {"count": "count_matches", "match": "write_matches", "explain": "explain"}[name]

    def listening(*_, devices, **_options):
        heard["devices"] = devices
        raise ValueError("devices: heard")

    monkeypatch.setattr(csm, function, listening)
    output = ["-o", "rows.parquet"] if name == "match" else []
    assert_one_line(run(name, "edges.csv", TRIANGLE, *output, "--devices", "0,1"), "devices: heard")
    assert heard == {"devices": [0, 1]}


def test_devices_that_cannot_be_used_are_one_line(files):
    assert_one_line(run("count", "edges.csv", TRIANGLE, "--engine", "cpu", "--devices", "all"), "devices", "CPU engine")
    assert_one_line(run("count", "edges.csv", TRIANGLE, "--devices", "one"), "devices: expected all", "'one'")
