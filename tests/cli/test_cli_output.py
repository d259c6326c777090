"""What the command line writes: data on stdout in the format that is asked for, everything else on stderr."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from command_line import LOOP, TRIANGLE, assert_one_line, environment, messages, run, write_graph_files

import cusubmatch as csm
from cusubmatch.cli.app import app
from cusubmatch.cli.results import write_rows

PAIRS = "(a)--(b)"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The folder of the small graph's files; the working directory of the test."""
    monkeypatch.chdir(tmp_path)
    write_graph_files()
    return tmp_path


def records(text):
    return list(csv.reader(io.StringIO(text)))


# formats


@pytest.mark.parametrize(
    ("form", "expected"), [("table", "2\n"), ("json", '{\n  "count": 2\n}\n'), ("csv", "count\n2\n")]
)
def test_a_count_is_printed_in_each_format(files, form, expected):
    result = run("count", "edges.csv", TRIANGLE, "--format", form)
    assert (result.exit_code, result.stdout, messages(result)) == (0, expected, [])


def test_a_count_beyond_64_bits_is_exact_in_json(files, monkeypatch):
    monkeypatch.setattr(csm, "count_matches", lambda *arguments, **options: 2**80 + 1)
    assert json.loads(run("count", "edges.csv", TRIANGLE, "--format", "json").stdout) == {"count": 2**80 + 1}


def test_facts_are_a_document_or_rows(files):
    options = ["--vertices", "people.parquet", "--vertex", "id", "--vertex-label", "type"]
    found = json.loads(run("info", "edges.csv", *options, "--format", "json").stdout)
    assert found == {
        "vertices": 6,
        "edges": 6,
        "directed": False,
        "degree": {"mean": 2.0, "median": 2.5, "greatest": 3},
        "vertex_labels": {"A": 2, "B": 2},
        "vertices_without_label": 2,
        "dropped_self_loops": 1,
        "dropped_repeats": 1,
    }
    rows = records(run("info", "edges.csv", *options, "--format", "csv").stdout)
    assert rows[:4] == [["fact", "value"], ["vertices", "6"], ["edges", "6"], ["directed", "false"]]
    assert ["degree: greatest", "3"] in rows
    assert ["vertex_labels: A", "2"] in rows


def test_a_plan_is_text_or_a_document(files):
    text = run("explain", "edges.csv", TRIANGLE).stdout
    found = json.loads(run("explain", "edges.csv", TRIANGLE, "--format", "json").stdout)
    assert found["text"] + "\n" == text
    assert found["pattern"] == "(a)--(b), (b)--(c), (a)--(c)"
    assert (found["semantics"], found["unique"], found["engine"]) == ("monomorphism", True, "cpu")
    assert sorted(level["vertex"] for level in found["order"]) == ["a", "b", "c"]
    assert found["estimated_seconds"] > 0
    assert_one_line(run("explain", "edges.csv", TRIANGLE, "--format", "csv"), "--format", "json")


@pytest.mark.parametrize("arguments", [["-o", "-"], ["--format", "csv"], ["-o", "-", "--format", "csv"]])
def test_matches_go_to_stdout_as_csv(files, arguments):
    before = sorted(files.iterdir())
    result = run("match", "edges.csv", PAIRS, *arguments)
    assert result.exit_code == 0
    assert run("match", "edges.csv", PAIRS, "-o", "out.csv").exit_code == 0
    rows = records(result.stdout)
    assert rows[0] == ["a", "b"]
    assert sorted(rows) == sorted(records(Path("out.csv").read_text()))
    assert messages(result) == ["6 matches written to stdout"]
    Path("out.csv").unlink()
    assert sorted(files.iterdir()) == before


def test_matches_go_to_stdout_as_lines_of_json(files):
    result = run("match", "text.csv", LOOP, "--format", "json")
    (line,) = result.stdout.splitlines()
    assert sorted(json.loads(line).values()) == ["n1", "n2", "n3"]
    assert list(json.loads(line)) == ["a", "b", "c"]
    assert run("match", "text.csv", "clique:4", "--format", "json").stdout == ""
    assert run("match", "text.csv", "clique:4", "-o", "-").stdout.replace('"', "") == "v0,v1,v2,v3\n"


def test_all_matches_go_to_stdout_or_as_many_as_wanted_in_order(files):
    pd.DataFrame({"src": 0, "dst": range(1, 31)}).to_csv("star.csv", index=False)
    result = run("match", "star.csv", "(hub)--(leaf)", "--no-unique", "--format", "csv", "--sort")
    assert records(result.stdout)[1:] == [
        *(["0", str(i)] for i in range(1, 31)),
        *([str(i), "0"] for i in range(1, 31)),
    ]
    result = run("match", "star.csv", "(hub)--(leaf)", "-o", "-", "--limit", "25")
    assert len(records(result.stdout)) == 26
    assert messages(result) == ["25 matches written to stdout (--limit reached: there may be more)"]


def test_categories_and_characters_of_any_language_go_to_stdout(monkeypatch):
    edges = pd.DataFrame({"src": ["ü", "ß"], "dst": ["ß", "日本"]}).astype("category")
    found = csm.subgraph_match(pa.Table.from_pandas(edges), "(a)-->(b)", sort=True)
    for form, row in [("csv", '"ß","日本"'), ("json", '{"a": "ß", "b": "日本"}')]:
        stdout = io.TextIOWrapper(io.BytesIO(), "ascii")
        monkeypatch.setattr(sys, "stdout", stdout)
        assert write_rows([found, found], found.schema, form) == 4
        assert stdout.buffer.getvalue().decode().splitlines().count(row) == 2


class Sip(io.RawIOBase):
    """A stream that takes a few bytes at a time, as stdout does where Python does not buffer."""

    def __init__(self):
        self.taken = b""

    def writable(self):
        return True

    def write(self, content):
        self.taken += bytes(content[:1000])
        return min(len(content), 1000)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_all_rows_arrive_where_stdout_takes_a_part_of_them_at_a_time(monkeypatch, form):
    rows, taken = pa.table({"a": range(10_000)}), Sip()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(taken, write_through=True))
    assert write_rows([rows, rows], rows.schema, form) == 20_000
    assert len(taken.taken.splitlines()) == 20_000 + (form == "csv")
    assert not sys.stdout.closed


def test_the_table_is_printed_where_it_is_asked_for(files):
    assert run("match", "edges.csv", TRIANGLE, "-o", "-", "--format", "table").stdout.splitlines()[-1] == "2 matches"
    assert run("match", "edges.csv", TRIANGLE, "--format", "table").stdout.splitlines()[-1] == "2 matches"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-o", "out.csv", "--format", "json"], ["--format", "--output out.csv", "json", "stdout"]),
        (["-o", "out", "--format", "csv"], ["--format", "--output out"]),
        (["-o", "-", "--rows-per-file", "5"], ["--rows-per-file", "--output"]),
        (["-o", "-", "--format", "table", "--sort"], ["--sort", "--format csv"]),
        (["--format", "xml"], ["--format", "xml", "json"]),
    ],
)
def test_an_output_that_makes_no_sense_is_one_line(files, options, words):
    before = sorted(files.iterdir())
    assert_one_line(run("match", "edges.csv", TRIANGLE, *options), *words)
    assert sorted(files.iterdir()) == before


def test_a_format_that_the_suffix_says_too_is_taken(files):
    assert run("match", "edges.csv", TRIANGLE, "-o", "out.csv", "--format", "csv").stdout == ""
    assert len(pd.read_csv("out.csv")) == 2


@pytest.mark.parametrize("name", ["out.tsv", "out.csv.gz", "out.tsv.gz"])
def test_files_of_text_may_have_tabs_and_be_gzipped(files, name):
    assert run("match", "edges.csv", PAIRS, "-o", name).exit_code == 0
    text = gzip.decompress(Path(name).read_bytes()).decode() if name.endswith("gz") else Path(name).read_text()
    rows = list(csv.reader(io.StringIO(text), delimiter="\t" if ".tsv" in name else ","))
    assert rows[0] == ["a", "b"]
    assert len(rows) == 7
    assert run("count", name, PAIRS, "--source", "a", "--destination", "b").stdout == "6\n"


def test_a_time_limit_keeps_what_was_printed(files, monkeypatch):
    def one_batch(*arguments, **options):
        yield csm.subgraph_match(*arguments[:2], limit=3)
        raise csm.TimeLimitExceeded("time_limit: late; .partial holds", csm.subgraph_match(*arguments[:2], limit=1))

    monkeypatch.setattr(csm, "iter_matches", one_batch)
    result = run("match", "edges.csv", PAIRS, "-o", "-", "--time-limit", "5")
    assert result.exit_code == 1
    assert len(records(result.stdout)) == 5
    assert messages(result) == ["cusubmatch: --time-limit: late; 4 matches until then"]


# who ends it


@pytest.mark.parametrize(
    "arguments",
    [
        ["match", "edges.csv", PAIRS, "-o", "-"],
        ["match", "edges.csv", PAIRS, "--format", "json"],
        ["match", "edges.csv", PAIRS],
        ["count", "edges.csv", PAIRS],
        ["count", "edges.csv", PAIRS, "--format", "json"],
        ["explain", "edges.csv", PAIRS],
        ["info", "edges.csv", "--format", "csv"],
    ],
    ids=" ".join,
)
def test_where_nobody_reads_stdout_the_work_ends_without_a_word(files, monkeypatch, capfd, arguments):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert app(arguments, standalone_mode=False) == 141
    assert [line for line in capfd.readouterr().err.splitlines() if "compiling" not in line] == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("arguments", [["match", "edges.csv", PAIRS, "-o", "-"], ["count", "edges.csv", PAIRS]])
def test_a_full_disk_behind_stdout_is_one_line(files, monkeypatch, capfd, arguments):
    with Path("/dev/full").open("w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert app(arguments, standalone_mode=False) == 1
    assert capfd.readouterr().err.splitlines()[-1:] == ["cusubmatch: No space left on device"]


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_sigterm_leaves_no_file_and_ends_with_code_143(files):
    Path("out.csv").write_text("old")
    before = sorted(Path().iterdir())
    line = [sys.executable, "-c", KILLED, "match", "edges.csv", PAIRS, "-o", "out.csv"]
    done = subprocess.run(line, env=environment(), capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "1 hidden\n")
    assert sorted(Path().iterdir()) == before
    assert Path("out.csv").read_text() == "old"


# A command that gets SIGTERM when it is about to write rows, while a thread of its own is busy.
KILLED = """
import os, pathlib, signal, sys, threading, time
import cusubmatch.api.write_matches
from cusubmatch.cli.app import main

def endless(*arguments, **options):
    threading.Thread(target=time.sleep, args=[100]).start()
    print(len(list(pathlib.Path().glob(".out.csv.*"))), "hidden", file=sys.stderr)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(100)
    yield

cusubmatch.api.write_matches.iter_matches = endless
main()
"""


def test_the_library_leaves_signals_alone(files):
    before = [signal.getsignal(number) for number in signal.valid_signals()]
    csm.write_matches(pd.read_csv("edges.csv"), PAIRS, "out.csv")
    run("match", "edges.csv", PAIRS, "-o", "out.csv")
    assert [signal.getsignal(number) for number in signal.valid_signals()] == before
