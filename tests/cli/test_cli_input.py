"""What the command line reads: ids as they are written, and files of several formats or standard input."""

from __future__ import annotations

import gzip
import os
import sys
import threading
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from command_line import TRIANGLE, assert_one_line, run, write_graph_files
from pyarrow import csv

from cusubmatch.cli.inputs import GraphFiles, read_graph


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The folder of the small graph's files; the working directory of the test."""
    monkeypatch.chdir(tmp_path)
    write_graph_files()
    return tmp_path


def graph_of(edges="edges.csv", vertices=None, ids=None):
    """The graph that a command would look at."""
    return read_graph(GraphFiles(edges, None, None, None, vertices, "vertex", None, ids, None), directed=False)


def ids_of(text, vertices=None, **options):
    """The ids of the graph of a CSV file, in order."""
    Path("ids.csv").write_text("src,dst\n" + text)
    if vertices is not None:
        Path("ids-of-vertices.csv").write_text("vertex\n" + vertices)
        options["vertices"] = "ids-of-vertices.csv"
    graph = graph_of("ids.csv", **options)
    return sorted(graph.to_ids(range(graph.n_vertices)).to_pylist(), key=str)


# ids


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2\n10,-3\n", [-3, 1, 10, 2]),
        ("001,1\n", ["001", "1"]),
        ("1,2\n3,04\n", ["04", "1", "2", "3"]),
        ("1,x\n", ["1", "x"]),
        ("1, 2\n 2 ,1\n", [1, 2]),
        ("1, 2\nx,2\n", [" 2", "1", "2", "x"]),
        ("+5,5\n", ["+5", "5"]),
        ("-0,0\n", ["-0", "0"]),
        ("0,1\n", [0, 1]),
        ("0x1F,31\n", ["0x1F", "31"]),
        ('"",1\n', ["", "1"]),
        ('"7",8\n', [7, 8]),
        ("9223372036854775807,1\n", [1, 2**63 - 1]),
        ("18446744073709551615,1\n", [1, 2**64 - 1]),
        ("18446744073709551615,-1\n", ["-1", "18446744073709551615"]),
        ("18446744073709551616,1\n", ["1", "18446744073709551616"]),
        ("12345678901234567890123,12345678901234567890124\n", ["12345678901234567890123", "12345678901234567890124"]),
        ("1.5,x\n", ["1.5", "x"]),
        ("nan,inf\n", ["inf", "nan"]),
        ("true,false\n", ["false", "true"]),
        ("2020-01-01,2020-1-1\n", ["2020-01-01", "2020-1-1"]),
        ("", []),
    ],
)
def test_ids_of_csv_are_integers_only_if_no_two_texts_become_one(files, text, expected):
    assert ids_of(text) == expected


def test_all_columns_of_ids_are_text_if_one_of_them_needs_it(files):
    assert ids_of("1,2\n", vertices="3\n") == [1, 2, 3]
    assert ids_of("1,2\n", vertices="03\n") == ["03", "1", "2"]
    assert ids_of("1,02\n", vertices="2\n") == ["02", "1", "2"]


def test_columns_of_parquet_and_of_csv_become_of_one_kind(files):
    Path("vertices.csv").write_text("vertex\n1\n9\n")
    assert 9 in graph_of("edges.parquet", "vertices.csv").to_ids(range(6)).to_pylist()
    Path("vertices.csv").write_text("vertex\n1\n09\n")
    assert {"1", "09"} < set(graph_of("edges.parquet", "vertices.csv").to_ids(range(6)).to_pylist())
    pd.read_parquet("edges.parquet").astype("str").astype("category").to_parquet("named.parquet")
    Path("vertices.csv").write_text("vertex\n1\n9\n")
    assert {"1", "9"} < set(graph_of("named.parquet", "vertices.csv").to_ids(range(6)).to_pylist())


def test_the_option_ids_decides(files):
    assert ids_of("1,2\n", ids="text") == ["1", "2"]
    assert ids_of("001,+1\n 2,1\n", ids="int") == [1, 2]
    assert ids_of("1.50,1.5\n", ids="text") == ["1.5", "1.50"]
    assert set(graph_of("edges.parquet", ids="text").to_ids(range(5)).to_pylist()) == set("12345")
    pd.read_parquet("edges.parquet").astype("str").to_parquet("named.parquet")
    assert set(graph_of("named.parquet", ids="int").to_ids(range(5)).to_pylist()) == {1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("1.0,2\n", [], ["--source", "floats", "1.0", "--ids text"]),
        ("1,2e3\n", [], ["--destination", "floats", "2e3", "--ids text"]),
        ("1,\n2,3\n", [], ["--destination", "1 ids are null"]),
        ("001,\n2,3\n", ["--ids", "text"], ["--destination", "1 ids are null"]),
        ("1,x\n", ["--ids", "int"], ["--destination", "'x'", "--ids int"]),
        ("1,99999999999999999999\n", ["--ids", "int"], ["--destination", "64 bits", "--ids int"]),
        ("1,2\n", ["--ids", "float"], ["--ids", "float", "text", "int"]),
    ],
)
def test_ids_that_cannot_be_used_are_one_line(files, text, options, words):
    Path("odd.csv").write_text("src,dst\n" + text)
    assert_one_line(run("info", "odd.csv", *options), *words)


def test_text_ids_come_out_as_they_went_in(files):
    Path("ids.csv").write_text("src,dst\n001,1\n1,01\n01,001\n")
    assert run("count", "ids.csv", TRIANGLE).stdout == "1\n"
    assert run("match", "ids.csv", TRIANGLE, "-o", "out.csv").exit_code == 0
    assert sorted(pd.read_csv("out.csv", dtype="str").iloc[0]) == ["001", "01", "1"]


def test_labels_are_the_text_of_the_file(files):
    Path("coded.csv").write_text("src,dst,kind\n1,2,01\n2,3,1\n")
    assert "01, 1" in run("info", "coded.csv", "--edge-label", "kind").stdout


# formats


@pytest.mark.parametrize("name", ["edges.tsv", "edges.csv.gz", "edges.tsv.gz", "EDGES.TSV.GZ", "v1.2.csv"])
def test_text_may_have_tabs_and_be_gzipped(files, name):
    write_text(name)
    assert run("count", name, TRIANGLE).stdout == "2\n"


def test_a_file_without_a_known_suffix_is_read_in_the_format_that_is_said(files):
    write_text("edges.tsv")
    Path("edges.tsv").rename("edges.txt")
    assert_one_line(run("count", "edges.txt", TRIANGLE), "edges.txt", ".tsv.gz", "--input-format csv")
    assert run("count", "edges.txt", TRIANGLE, "--input-format", "tsv").stdout == "2\n"
    assert_one_line(run("count", "edges.txt", TRIANGLE, "--input-format", "json"), "--input-format", "parquet")


@pytest.mark.parametrize("name", ["edges.parquet", "edges.csv", "edges.tsv", "edges.csv.gz", "edges.tsv.gz"])
def test_a_dash_is_standard_input_whose_first_bytes_say_the_format(files, monkeypatch, name):
    write_text(name)
    with Path(name).open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert csv_of(graph_of("-")) == csv_of(graph_of(name))
    with Path(name).open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        form = "parquet" if name == "edges.parquet" else name.split(".")[1]
        read = read_graph(GraphFiles("-", None, None, None, None, "", None, None, form), directed=False)
        assert csv_of(read) == csv_of(graph_of(name))


def test_vertices_come_from_standard_input_too_but_not_beside_the_edges(files):
    done = run("info", "edges.csv", "--vertices", "-", stdin=Path("vertices.csv").read_bytes())
    assert done.stdout.splitlines()[0].split() == ["vertices", "6"]
    assert_one_line(run("info", "-", "--vertices", "-"), "--vertices", "stdin")


@pytest.mark.parametrize(
    "content", [b"", b"\x1f\x8b\x08 no gzip", b"PAR1 no Parquet", gzip.compress(b"src,dst\n1,2\n", mtime=0)[:20]]
)
def test_standard_input_that_cannot_be_read_is_one_line(files, content):
    assert_one_line(run("count", "-", TRIANGLE, stdin=content), "EDGES: cannot read stdin")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_named_pipe_is_read_once(files):
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(gzip.compress(Path("edges.csv").read_bytes())))
    writer.start()
    assert csv_of(graph_of("pipe")) == csv_of(graph_of("edges.csv"))
    writer.join()


def write_text(name):
    """The small graph in a file of text, with tabs or commas, gzipped or not."""
    if name == "edges.parquet":
        return
    edges = pa.Table.from_pandas(pd.read_parquet("edges.parquet"))
    options = csv.WriteOptions(delimiter="\t" if ".tsv" in name.lower() else ",")
    with (gzip.open if name.lower().endswith(".gz") else open)(name, "wb") as file:
        csv.write_csv(edges, file, options)


def csv_of(graph):
    """A graph as text: ids and the rows of its adjacency."""
    return graph.to_ids(range(graph.n_vertices)).to_pylist(), graph.offsets.tolist(), graph.targets.tolist()
