"""What the tests of the command line share: a small graph in files, and ways to run the command on it."""

from __future__ import annotations

import os
import subprocess
import sys

import pandas as pd
from paths import ROOT
from typer.testing import CliRunner

from cusubmatch.cli.app import app

TRIANGLE = "(a)--(b)--(c)--(a)"
LOOP = "(a)-->(b)-->(c)-->(a)"


def write_graph_files():
    """A small graph in several files of the working directory."""
    # 1-2-3-1 runs round, 3-4-1 closes a second triangle the wrong way; 5 hangs on 4. One repeat, one self loop.
    pairs = [(1, 2), (2, 3), (3, 1), (3, 4), (1, 4), (4, 5), (4, 5), (5, 5)]
    edges = pd.DataFrame(pairs, columns=["src", "dst"])
    edges.to_parquet("edges.parquet")
    edges.to_csv("edges.csv", index=False)
    kinds = ["pays", "pays", "owes", "pays", "pays", "pays", "pays", "pays"]
    edges.rename(columns={"src": "from", "dst": "to"}).assign(kind=kinds).to_csv("named.csv", index=False)
    edges.assign(src=edges["src"].map("n{}".format), dst=edges["dst"].map("n{}".format)).to_csv("text.csv", index=False)
    vertices = pd.DataFrame({"vertex": [1, 2, 3, 4, 5, 6], "label": ["A", "A", "B", "B", None, None]})
    vertices.to_csv("vertices.csv", index=False)
    vertices.rename(columns={"vertex": "id", "label": "type"}).to_parquet("people.parquet")


def run(*arguments, stdin=None):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin, catch_exceptions=False)


def environment():
    """The environment in which a new process finds this checkout, and what its tests share."""
    shared = str(ROOT / "tests" / "support")
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), shared, os.environ.get("PYTHONPATH", "")])}


def command(*arguments, **options):
    """The command in a process of its own, as a shell starts it."""
    line = [sys.executable, "-m", "cusubmatch", *map(str, arguments)]
    return subprocess.run(line, env=environment(), capture_output=True, text=True, timeout=120, check=False, **options)


def messages(result):
    """The lines on stderr, less what the engine says once a version while it compiles."""
    return [line for line in result.stderr.splitlines() if not line.startswith("cusubmatch: compiling")]


def assert_one_line(result, *words, code=2):
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    lines = messages(result)
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("cusubmatch: ")
    for word in words:
        assert word in lines[0]
