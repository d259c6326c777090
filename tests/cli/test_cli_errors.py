"""Whatever is wrong with a command is one line on stderr and an exit code, and leaves no file behind."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from command_line import LOOP, TRIANGLE, assert_one_line, command, environment, run, write_graph_files

import cusubmatch as csm
from cusubmatch.cli.terminal import one_line


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The folder of the small graph's files; the working directory of the test."""
    monkeypatch.chdir(tmp_path)
    write_graph_files()
    return tmp_path


def write_bad_files():
    Path("notes.txt").write_text("src,dst\n1,2\n")
    Path("fake.parquet").write_text("this is no Parquet")
    Path("broken.csv").write_text("src,dst\n1,2\n3,4,5\n")
    Path("void.csv").write_text("")
    Path("folder.csv").mkdir()
    Path("floats.csv").write_text("src,dst\n1.5,2\n")
    Path("nulls.csv").write_text("src,dst\n1,\n2,3\n")


@pytest.mark.one_each
@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ("missing.csv", ["missing.csv"]),
        ("missing.parquet", ["missing.parquet"]),
        ("notes.txt", ["notes.txt", ".parquet"]),
        ("fake.parquet", ["fake.parquet"]),
        ("broken.csv", ["broken.csv"]),
        ("void.csv", ["void.csv"]),
        ("folder.csv", ["folder.csv"]),
        ("named.csv", ["source", "src", "from"]),
        ("floats.csv", ["float"]),
        ("nulls.csv", ["null"]),
    ],
)
@pytest.mark.parametrize("name", ["count", "match", "explain", "info"])
def test_an_edge_file_that_cannot_be_used_is_one_line(files, name, edges, words):
    write_bad_files()
    assert_one_line(run(name, edges, *([] if name == "info" else [TRIANGLE])), *words)


@pytest.mark.one_each
@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(a)--(b", ["PATTERN", "character 8", ">>HERE>>"]),
        ("(a)-[:X]-(b)--)", ["character 15", "(a)-[:X]-(b)-- >>HERE>> )"]),
        ("(a)--(b)--!(c)", ["negated"]),
        ("(a)-[*]->(b)", ["upper bound"]),
        ("(a)--(a)", ["self loop"]),
        ("(a)--(b), (c)--(d)", ["disconnected"]),
        ("", ["PATTERN"]),
        ("clique:40", ["32"]),
        ("clique:0", ["1"]),
        ("cycle:two", ["cycle:4"]),
        ("clique:3:directed", ["direction"]),
        ("klique:3", ["clique"]),
        ("(a:Person)--(b)", ["label"]),
        ("(a)-[:PAYS]-(b)", ["label"]),
    ],
)
@pytest.mark.parametrize("name", ["count", "match", "explain"])
def test_a_pattern_that_cannot_be_used_is_one_line(files, name, pattern, words):
    assert_one_line(run(name, "edges.csv", pattern), *words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--source", "payer", "--destination", "dst"], ["--source", "payer", "src"]),
        (["--source", "src", "--destination", "payee"], ["--destination", "payee"]),
        (["--source", "src"], ["--destination"]),
        (["--edge-label", "kind"], ["--edge-label", "kind"]),
        (["--vertices", "nobody.csv"], ["nobody.csv"]),
        (["--vertices", "vertices.csv", "--vertex", "id"], ["--vertex", "id"]),
        (["--vertices", "vertices.csv", "--vertex-label", "kind"], ["--vertex-label", "kind"]),
        (["--vertex-label", "label"], ["--vertices"]),
        (["--semantics", "isomorphism"], ["--semantics", "isomorphism", "induced"]),
        (["--semantics", "homomorphism", "--unique"], ["homomorphism"]),
        (["--semantics", "homomorphism", "--distinct", "a"], ["--distinct", "a,b"]),
        (["--semantics", "homomorphism", "--distinct", "a,z"], ["--distinct", "z"]),
        (["--engine", "tpu"], ["--engine", "tpu", "cpu"]),
        (["--time-limit", "-1"], ["--time-limit"]),
        (["--time-limit", "soon"], ["--time-limit"]),
        (["--colour"], ["--colour"]),
        (["extra"], ["extra"]),
    ],
    ids=lambda value: " ".join(value) if value and value[0].startswith("--") else None,
)
def test_an_option_that_cannot_be_used_is_one_line(files, options, words):
    assert_one_line(run("count", "edges.csv", TRIANGLE, *options), *words)


def test_an_engine_that_is_not_here_is_one_line_and_code_1(files):
    assert_one_line(run("count", "edges.csv", TRIANGLE, "--engine", "gpu"), "--engine cpu", "GPU", code=1)


def test_a_directed_pattern_on_an_undirected_graph_is_one_line(files):
    assert_one_line(run("count", "edges.csv", LOOP, "--undirected"), "directed")


def test_missing_arguments_and_unknown_commands_are_one_line():
    assert_one_line(run("count"), "EDGES")
    assert_one_line(run("count", "edges.csv"), "PATTERN")
    assert_one_line(run("find"), "find")


def test_pairs_for_a_generator_are_one_line(files):
    assert_one_line(run("count", "edges.csv", "clique:3", "--distinct", "v0,v1"), "--distinct")


@pytest.mark.parametrize(
    "output", ["out.json", "nowhere/out.csv", "nowhere/out", "folder.csv", "edges.csv/out", "full", "."]
)
def test_an_output_that_cannot_be_written_is_one_line_and_no_file(files, output):
    Path("folder.csv").mkdir()
    Path("full").mkdir()
    Path("full/part-00000.parquet").write_text("old")
    before = sorted(files.rglob("*"))
    assert_one_line(run("match", "edges.csv", TRIANGLE, "-o", output), "--output", output)
    assert sorted(files.rglob("*")) == before


def test_negative_limits_are_one_line(files):
    assert_one_line(run("match", "edges.csv", TRIANGLE, "--limit", "-3"), "--limit", "0")


def test_a_pattern_without_names_has_no_rows_to_write(files):
    assert_one_line(run("match", "edges.csv", "()--()"), "(a)", "count")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (csm.TimeLimitExceeded("late"), ["--time-limit", "5.0 s", "nothing was kept", "1 match until then"]),
        (MemoryError(), ["out of memory"]),
    ],
    ids=["time", "memory"],
)
@pytest.mark.parametrize("output", ["out.csv", "out.parquet"])
def test_a_failure_midway_leaves_no_file_and_keeps_the_old_one(files, monkeypatch, output, error, words):
    def one_batch(*arguments, **options):
        yield csm.subgraph_match(*arguments[:2], limit=1)
        raise error

    Path(output).write_text("old")
    before = sorted(files.rglob("*"))
    monkeypatch.setattr("cusubmatch.api.write_matches.iter_matches", one_batch)
    done = run("match", "edges.csv", TRIANGLE, "-o", output, "--time-limit", "5")
    assert_one_line(done, *words, code=1)
    assert sorted(files.rglob("*")) == before
    assert Path(output).read_text() == "old"


def test_a_full_disk_is_one_line_and_code_1(files, monkeypatch):
    def fsync(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    before = sorted(files.rglob("*"))
    monkeypatch.setattr("os.fsync", fsync)
    done = run("match", "edges.csv", TRIANGLE, "-o", "out.csv")
    assert_one_line(done, "cusubmatch: --output: 'out.csv'", "No space left", "nothing was kept", "2 rows", code=1)
    assert sorted(files.rglob("*")) == before


def test_rows_per_file_are_of_a_folder(files):
    assert_one_line(run("match", "edges.csv", TRIANGLE, "--rows-per-file", "5"), "--rows-per-file", "--output")
    assert_one_line(
        run("match", "edges.csv", TRIANGLE, "--rows-per-file", "5", "-o", "out.csv"), "--rows-per-file", "out.csv"
    )
    assert_one_line(run("match", "edges.csv", TRIANGLE, "--rows-per-file", "0", "-o", "out"), "--rows-per-file", "1")


def test_a_time_limit_ends_with_one_line_and_code_1(files):
    pairs = [(a, b) for a in range(300) for b in range(a)]
    pd.DataFrame(pairs, columns=["src", "dst"]).to_parquet("dense.parquet")
    assert_one_line(
        run("count", "dense.parquet", "clique:8", "--time-limit", "0.2"), "--time-limit", "0.2 s", "matches", code=1
    )


@pytest.mark.thorough
def test_exit_codes_reach_the_shell(files):
    done = command("count", "edges.csv", TRIANGLE)
    assert (done.returncode, done.stdout) == (0, "2\n")
    done = command("count", "missing.csv", TRIANGLE)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    done = command("count", "edges.csv", TRIANGLE, "--engine", "none")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "Traceback" not in done.stderr


@pytest.mark.thorough
def test_a_closed_pipe_ends_quietly(files):
    pd.DataFrame({"src": 0, "dst": range(1, 31)}).to_csv("star.csv", index=False)
    line = f"{sys.executable} -m cusubmatch match star.csv '(hub)--(leaf)' | head -1"
    done = subprocess.run(line, shell=True, env=environment(), capture_output=True, text=True, timeout=120, check=False)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("edge_label: no column 'x'", "--edge-label: no column 'x'"),
        ("source, destination: give both", "--source, --destination: give both"),
        ("edges: name them by source= and destination=", "EDGES: name them by --source and --destination"),
        ("pattern: odd (at character 4)\n  (a)!(b)\n     ^", "PATTERN: odd (at character 4) (a) >>HERE>> !(b)"),
        ("pattern: ends (at character 4)\n  (a)\n     ^", "PATTERN: ends (at character 4) (a) >>HERE>>"),
        ("engine='gpu': use engine='cpu' or limit=5", "--engine gpu: use --engine cpu or --limit 5"),
        ("two\nlines", "two lines"),
    ],
)
def test_messages_are_one_line_in_the_words_of_the_command_line(message, line):
    assert one_line(message) == line
