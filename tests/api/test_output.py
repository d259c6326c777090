"""Matches on disk: all rows, in the ids' type, under their name when complete and not before, whatever happens."""

from __future__ import annotations

import errno
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from command_line import environment
from frame_cases import HOST_NAMES, frame
from pyarrow import csv, parquet
from refusal import each, refuses

import cusubmatch as csm
from cusubmatch import Graph, GraphError, Pattern, PatternError, TimeLimitExceeded
from cusubmatch.io.publish import table_writer

CHAIN = "(a)--(b)--(c)"
TARGETS = ("out.parquet", "out.csv", "out")  # a file of each kind, and a folder
PAIRS = list(itertools.combinations(range(8), 2))
COMPLETE = Graph.from_edgelist(pd.DataFrame(PAIRS, columns=["src", "dst"]))  # 8 * 7 * 6 = 336 chains
ROWS = 336


def clique_graph(size):
    return Graph.from_edgelist(pd.DataFrame(itertools.combinations(range(size), 2), columns=["src", "dst"]))


def read(path):
    """What was written, as an Arrow table."""
    if path.suffix == ".csv":
        return csv.read_csv(path)
    if path.is_dir():
        return pa.concat_tables(parquet.read_table(part) for part in sorted(path.iterdir()))
    return parquet.read_table(path)


def rows_of(table):
    """The rows of a pandas, Polars or Arrow table, in order."""
    arrow = table if isinstance(table, pa.Table) else pa.table({name: list(table[name]) for name in table.columns})
    return sorted(zip(*(column.to_pylist() for column in arrow.columns), strict=True))


def everything(folder):
    """All names below a folder, with what the files hold."""
    return {path.relative_to(folder): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def write(path, graph=COMPLETE, pattern=CHAIN, **options):
    return csm.write_matches(graph, pattern, path, **({"unique": False} | options))


@pytest.fixture
def ending(monkeypatch):
    """Let the search end with an error after two batches of 100 rows."""

    def install(error):
        def iter_matches(graph, *arguments, **options):
            frame = csm.subgraph_match(graph, CHAIN, unique=False)
            yield frame[:100]
            yield frame[100:200]
            raise error

        monkeypatch.setattr("cusubmatch.api.write_matches.iter_matches", iter_matches)

    return install


# what is written


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("kind", [*HOST_NAMES, "networkx"])
def test_the_rows_are_those_of_subgraph_match(tmp_path, kind, name):
    source, destination = np.array(PAIRS).T
    graph = nx.Graph(PAIRS) if kind == "networkx" else frame(kind, src=source, dst=destination)
    found = csm.subgraph_match(graph, CHAIN, unique=False)
    assert write(tmp_path / name, graph, batch_rows=100) == ROWS
    written = read(tmp_path / name)
    assert written.column_names == ["a", "b", "c"]
    assert rows_of(written) == rows_of(found)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("kind", [*HOST_NAMES, "networkx"])
def test_text_ids_are_written_as_they_came(tmp_path, kind, name):
    source, destination = [f"n{pair[0]}" for pair in PAIRS], [f"n{pair[1]}" for pair in PAIRS]
    pairs = list(zip(source, destination, strict=True))
    graph = nx.Graph(pairs) if kind == "networkx" else frame(kind, src=source, dst=destination)
    assert write(str(tmp_path / name), graph) == ROWS
    assert rows_of(read(tmp_path / name)) == rows_of(csm.subgraph_match(graph, CHAIN, unique=False))


@pytest.mark.parametrize(
    "dtype", ["int8", "int32", "uint64", "Int64", "str", "category", "bool", "datetime64[ns]", "int64[pyarrow]"]
)
@pytest.mark.parametrize("name", ["out.parquet", "out"])
def test_ids_keep_their_type_in_parquet(tmp_path, dtype, name):
    values = {"uint64": [2**63 + 5, 1], "category": ["x", "y"]}.get(dtype, [0, 1])
    edges = pd.DataFrame({"src": values, "dst": values[::-1]}).astype(dtype)
    assert write(tmp_path / name, edges, "(a)--(b)") == 2
    found = csm.subgraph_match(edges, "(a)--(b)", unique=False)
    written = pd.read_parquet(tmp_path / name)
    assert written.dtypes.to_list() == found.dtypes.to_list()
    assert sorted(written["a"]) == sorted(found["a"])


@pytest.mark.parametrize("kind", ["pandas", "arrow", "polars"])
def test_categories_are_written_to_csv_as_their_values(tmp_path, kind):
    text = pd.DataFrame({"src": ["x", "y"], "dst": ["y", "z"]})
    edges = text.astype(pd.CategoricalDtype(["z", "y", "x", "w"]))
    if kind != "pandas":
        edges = pa.Table.from_pandas(edges)
    if kind == "polars":
        edges = pytest.importorskip("polars").from_arrow(edges)
    assert write(tmp_path / "out.csv", edges, "(a)-->(b)") == 2
    assert (tmp_path / "out.csv").read_text().replace('"', "").split() in (["a,b", "x,y", "y,z"], ["a,b", "y,z", "x,y"])


def test_text_with_commas_quotes_and_line_ends_survives_csv(tmp_path):
    names = ["a,b", 'say "x"', "two\nlines", "ü"]
    edges = pd.DataFrame({"src": names, "dst": names[1:] + names[:1]})
    write(tmp_path / "out.csv", edges, "(a)-->(b)")
    assert sorted(pd.read_csv(tmp_path / "out.csv")["a"]) == sorted(names)


@pytest.mark.one_each
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("limit", [0, 1, 7, 1000, 2**40])
def test_a_limit_is_a_number_of_rows(tmp_path, name, limit):
    assert write(tmp_path / name, limit=limit, batch_rows=5) == min(limit, ROWS)
    written = read(tmp_path / name)
    assert written.column_names == ["a", "b", "c"]
    assert written.num_rows == len(set(rows_of(written))) == min(limit, ROWS)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("ids", [[0, 1], ["x", "y"], [(0, 1), (2, 3)]], ids=["int", "str", "tuple"])
def test_no_match_is_columns_without_rows(tmp_path, name, ids):
    if name == "out.csv" and isinstance(ids[0], tuple):
        pytest.skip("CSV has no pairs")
    assert write(tmp_path / name, nx.Graph([ids]), Pattern.clique(3)) == 0
    written = read(tmp_path / name)
    assert (written.column_names, written.num_rows) == (["v0", "v1", "v2"], 0)
    if name == "out.parquet":
        assert not any(map(pa.types.is_null, written.schema.types))


@pytest.mark.one_each
@pytest.mark.parametrize("batch_rows", [7, 100, 336, 1 << 20])
@pytest.mark.parametrize("rows_per_file", [1, 50, 100, 335, 336, 337])
def test_parts_are_full_but_the_last(tmp_path, batch_rows, rows_per_file):
    write(tmp_path / "out", batch_rows=batch_rows, rows_per_file=rows_per_file)
    parts = sorted((tmp_path / "out").iterdir())
    sizes = [parquet.read_metadata(part).num_rows for part in parts]
    assert [part.name for part in parts] == [f"part-{number:05d}.parquet" for number in range(len(parts))]
    assert sizes[:-1] == [rows_per_file] * (len(sizes) - 1)
    assert 0 < sizes[-1] <= rows_per_file
    assert sum(sizes) == ROWS
    if rows_per_file == 100:
        assert len(pd.read_parquet(tmp_path / "out").drop_duplicates()) == ROWS


def test_numbers_of_numpy_are_numbers(tmp_path):
    options = {"rows_per_file": np.uint8(200), "batch_rows": np.int64(300), "limit": np.int32(250)}
    assert write(tmp_path / "out", time_limit=np.float32(60), **options) == 250
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_all_options_of_the_search_reach_it(tmp_path):
    for options, rows in [({"unique": True}, 168), ({"semantics": "induced"}, 0), ({"semantics": "homomorphism"}, 392)]:
        assert write(tmp_path / "out.csv", engine="cpu", **options) == rows
    seen = []
    write(tmp_path / "out.csv", progress=lambda *now: seen.append(now))
    assert seen[-1] == (1.0, ROWS)


def test_an_older_file_is_replaced_and_an_empty_folder_filled(tmp_path):
    (tmp_path / "out").mkdir()
    for name in ("out.csv", "out.parquet"):
        (tmp_path / name).write_text("old")
    for name in TARGETS:
        assert write(tmp_path / name) == read(tmp_path / name).num_rows == ROWS


def test_a_link_is_followed(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "data.v1").write_text("old")
    (tmp_path / "out.csv").symlink_to(tmp_path / "far" / "data.v1")
    write(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").is_symlink()
    assert read(tmp_path / "out.csv").num_rows == ROWS
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["data.v1"]


def test_a_name_is_taken_as_it_was_when_the_work_began(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    write("out.csv", progress=lambda *now: os.chdir("/"))
    assert read(tmp_path / "out.csv").num_rows == ROWS


@pytest.mark.slow
def test_more_rows_than_32_bits_number_come_out(tmp_path, monkeypatch):
    rows = 2**31 + 12_345
    batch = pa.table({name: np.zeros(1 << 24, np.int64) for name in "ab"})

    def iter_matches(*arguments, **options):
        yield from itertools.repeat(batch, rows >> 24)
        yield batch[: rows % (1 << 24)]

    monkeypatch.setattr("cusubmatch.api.write_matches.iter_matches", iter_matches)
    edges = frame("arrow", src=[0, 1], dst=[1, 2])
    assert write(tmp_path / "out.parquet", edges, "(a)--(b)") == rows
    assert parquet.read_metadata(tmp_path / "out.parquet").num_rows == rows
    (tmp_path / "out.parquet").unlink()
    assert write(tmp_path / "out", edges, "(a)--(b)") == rows
    assert [parquet.read_metadata(part).num_rows for part in sorted((tmp_path / "out").iterdir())] == [
        *[2**26] * 32,
        12_345,
    ]


# what ends the work


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("error", [RuntimeError("odd"), OSError("of the caller"), KeyboardInterrupt(), MemoryError()])
def test_an_error_of_the_search_leaves_all_as_it_was(tmp_path, ending, name, error):
    for older in TARGETS[:2]:
        (tmp_path / older).write_text("old")
    before = everything(tmp_path)
    ending(error)
    with pytest.raises(type(error)) as caught:
        write(tmp_path / name)
    assert caught.value is error
    assert everything(tmp_path) == before


@pytest.mark.parametrize("name", TARGETS)
def test_a_time_limit_tells_how_many_rows_had_been_written(tmp_path, ending, name):
    ending(TimeLimitExceeded("late", pd.DataFrame({"a": [1]})))
    with refuses(TimeLimitExceeded, "time_limit 5 nothing kept"):
        write(tmp_path / name, time_limit=5)
    assert not list(tmp_path.iterdir())


def test_partial_is_the_number_of_rows(tmp_path, ending):
    ending(TimeLimitExceeded("late", None))
    with pytest.raises(TimeLimitExceeded) as caught:
        write(tmp_path / "out", time_limit=5)
    assert caught.value.partial == 200


@pytest.mark.timed
@pytest.mark.parametrize("name", TARGETS)
def test_a_search_that_is_late_ends_soon(tmp_path, name):
    begin = time.monotonic()
    with pytest.raises(TimeLimitExceeded) as caught:
        write(tmp_path / name, clique_graph(100), Pattern.path(8), time_limit=0.3, batch_rows=1000)
    assert isinstance(caught.value.partial, int)
    assert caught.value.partial % 1000 == 0
    assert time.monotonic() - begin < 10
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, PermissionError])
def test_an_error_of_the_progress_function_reaches_the_caller_and_leaves_nothing(tmp_path, name, error):
    def progress(done, matches):
        seen.append([path.name for path in tmp_path.iterdir()])
        raise error

    seen = []
    with pytest.raises(error):
        write(tmp_path / name, clique_graph(100), Pattern.path(8), batch_rows=1000, progress=progress)
    assert len(seen) == len(seen[0]) == 1
    assert seen[0][0].startswith(f".{name}.{os.getpid()}.")
    assert not list(tmp_path.iterdir())
    assert write(tmp_path / name) == ROWS


# the disk


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 128 KB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(disk)]
    try:
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("mounting is not permitted")
    except FileNotFoundError:
        pytest.skip("there is no mount")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.parametrize("name", TARGETS)
def test_a_full_disk_is_one_clear_error_and_keeps_nothing(small_disk, name):
    (small_disk / "out.csv").write_text("old")
    (small_disk / "out.parquet").write_text("old")
    before = everything(small_disk)
    with pytest.raises(OSError, match=r"^\[Errno 28\] path: .*No space left.*nothing was kept; [\d,]+ rows") as caught:
        write(small_disk / name, clique_graph(110), batch_rows=4096, rows_per_file=None if "." in name else 10_000)
    assert caught.value.errno == errno.ENOSPC
    assert repr(str(small_disk / name)) in str(caught.value)
    rows = int(str(caught.value).partition("kept; ")[2].split()[0].replace(",", ""))
    assert 0 < rows < 110 * 109 * 108
    assert everything(small_disk) == before


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (OSError("No space left on device"), errno.ENOSPC, "No space left"),
        (OSError("[Errno 28] Error writing bytes to file. Detail: No space left on device"), errno.ENOSPC, "No space"),
        (OSError(errno.EIO, "Input/output error"), errno.EIO, "Input/output error"),
        (OSError("the cable is out"), None, "the cable is out"),
    ],
)
@pytest.mark.parametrize("name", TARGETS)
def test_an_error_of_the_disk_tells_the_rows_until_then(tmp_path, monkeypatch, name, error, code, words):
    monkeypatch.setattr("cusubmatch.io.publish.table_writer", failing_writer(error, after=2))
    with pytest.raises(OSError, match="nothing was kept; 200 rows had been written") as caught:
        write(tmp_path / name, batch_rows=100)
    assert caught.value.errno == code
    assert words in str(caught.value)
    assert not list(tmp_path.iterdir())


def failing_writer(error, after):
    """Writers whose tables together are at most `after` until they fail."""
    count = itertools.count()

    def make(*arguments):
        writer = table_writer(*arguments)
        write_table = writer.write_table

        class Failing:
            def __enter__(self):
                return self

            def __exit__(self, *exception):
                writer.close()

            def write_table(self, table):
                if next(count) == after:
                    raise error
                write_table(table)

            def close(self):
                writer.close()

        return Failing()

    return make


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace", "cusubmatch.io.publish.locked"])
def test_a_step_that_fails_leaves_all_as_it_was(tmp_path, monkeypatch, name, step):
    def fail(*arguments):
        raise OSError(errno.EIO, "Input/output error")

    for older in TARGETS[:2]:
        (tmp_path / older).write_text("old")
    before = everything(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(step, fail)
        with pytest.raises(OSError, match=r"path: .*nothing was kept"):
            write(tmp_path / name)
    assert everything(tmp_path) == before


def test_a_folder_that_others_filled_meanwhile_stays_theirs(tmp_path):
    def progress(done, matches):
        (tmp_path / "out").mkdir(exist_ok=True)
        (tmp_path / "out" / "theirs").write_text("x")

    with pytest.raises(OSError, match=r"not empty.*nothing was kept; 336 rows"):
        write(tmp_path / "out", progress=progress)
    assert everything(tmp_path) == {Path("out"): None, Path("out/theirs"): b"x"}


# what a killed process leaves


def test_leftovers_of_the_dead_are_removed_and_those_of_the_living_stay(tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    dead = [f".out.csv.{gone.pid}.0.partial", f".out.csv.{2**40}.3.partial", f".out.csv.{os.getpid()}.999999.partial"]
    others = [
        f".out.csv.{os.getppid()}.0.partial",
        f".other.csv.{gone.pid}.0.partial",
        f".out.csv.{gone.pid}.bak",
        f".outXcsv.{gone.pid}.0.partial",
    ]
    for name in dead + others:
        (tmp_path / name).write_text("half")
    write(tmp_path / "out.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*others, "out.csv"])


def test_folders_of_the_dead_are_removed(tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    (tmp_path / f".out.{gone.pid}.0.partial").mkdir()
    (tmp_path / f".out.{gone.pid}.0.partial" / "part-00000.parquet").write_text("half")
    write(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_two_writers_of_one_name_do_not_meet(tmp_path):
    inner = []

    def progress(done, matches):
        if not inner:
            inner.append(write(tmp_path / "out.csv", limit=10))

    assert write(tmp_path / "out.csv", progress=progress) == ROWS
    assert inner == [10]
    assert read(tmp_path / "out.csv").num_rows == ROWS
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


KILLED_ANYWHERE = 11  # and 9 at the last steps: 3 of a file, 6 of a folder of three parts
KILLED_ROWS = 40 * 39 * 38


@pytest.mark.thorough
def test_a_killed_writer_leaves_what_was_there_or_the_whole_result(tmp_path):
    line = [sys.executable, __file__, str(tmp_path)]
    alone = environment() | {"NUMBA_NUM_THREADS": "1"}  # a fork of a process with threads would not be sound
    done = subprocess.run(line, env=alone, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found["anywhere"]) == KILLED_ANYWHERE
    assert set(found["anywhere"]) <= {"before", "complete"}
    assert "before" in found["anywhere"]
    assert found["file"] == ["complete", "before", "before"]  # it dies before it flushes around it, renames, flushes
    assert found["folder"] == ["before"] * 5 + ["complete"]  # before it flushes parts and folder, renames, flushes
    assert any(path.name.endswith(".partial") for path in tmp_path.iterdir())
    for name in TARGETS:
        assert write(tmp_path / name) == ROWS
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(TARGETS)


def kill_writers(folder):
    """Kill forks of this process while they write: at any moment, and before each of the last steps."""
    graph, older = clique_graph(40), folder / "out.parquet"

    def write_all(name):
        return write(folder / name, graph, batch_rows=2000, rows_per_file=None if "." in name else 20_000)

    def killed(name, delay=None, step=None):
        older.write_text("old")
        child = os.fork()
        if child == 0:
            try:
                if step is not None:
                    die_before(step)
                write_all(name)
            finally:
                os._exit(0)
        if delay is not None:
            time.sleep(delay)
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return state(folder / name)

    for _ in range(2):  # the first time things are imported and compiled
        begin = time.perf_counter()
        for name in TARGETS:
            write_all(name)
            state(folder / name)
    seconds = (time.perf_counter() - begin) / len(TARGETS)
    random_moment = random.Random(7).uniform
    moments = [(TARGETS[i % len(TARGETS)], random_moment(0, 2 * seconds)) for i in range(KILLED_ANYWHERE)]
    return {
        "anywhere": [killed(name, delay=delay) for name, delay in moments],
        "file": [killed("out.parquet", step=step) for step in (2, 1, 0)],
        "folder": [killed("out", step=step) for step in range(6)],
    }


def die_before(step):
    """Kill this process when it is about to flush or rename for the time after so many."""
    steps = itertools.count()

    def mortal(function):
        def call(*arguments):
            if next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments)

        return call

    os.fsync, Path.replace = mortal(os.fsync), mortal(Path.replace)


def state(path):
    """Whether the name is as "before" or the result "complete", which is removed then, or it is "broken"."""
    if not path.exists() or (path.is_file() and path.read_bytes() == b"old"):
        return "before"
    try:
        rows = read(path).num_rows
    except (OSError, ValueError) as error:
        return f"broken: {error}"
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    return "complete" if rows == KILLED_ROWS else f"broken: {rows} rows"


# arguments

BAD = {
    "path": [
        *((value, TypeError, f"path str {type(value).__name__}") for value in (None, 5, b"out.csv", ["out.csv"])),
        ("", ValueError, "path name ''"),
        ("out\0.csv", ValueError, "path name"),
        ("out.json", ValueError, "path 'out.json' .parquet .csv folder"),
        ("out.parquet.gz", ValueError, "path 'out.parquet.gz' .parquet .csv folder"),
        ("nowhere/out.csv", ValueError, "path 'nowhere/out.csv' existing writable folder"),
        ("nowhere/out", ValueError, "path 'nowhere/out' existing writable folder"),
        ("file.csv/out.csv", ValueError, "path 'file.csv/out.csv' existing writable folder"),
        ("full", ValueError, "path 'full' not empty"),
        (".", ValueError, "path '.' not empty"),
        ("/", ValueError, "path '/' disk"),
        ("folder.csv", ValueError, "path 'folder.csv' no file another"),
        ("file", ValueError, "path 'file' no folder another"),
        ("/dev/null", ValueError, "path '/dev/null' no folder another"),
    ],
    "rows_per_file": [
        *((value, ValueError, f"rows_per_file 1 {value}") for value in (0, -1)),
        *((value, TypeError, "rows_per_file int") for value in (True, 1.5, "1")),
    ],
    "batch_rows": [
        *((value, ValueError, f"batch_rows 1 {value}") for value in (0, -1)),
        *((value, TypeError, "batch_rows int") for value in (True, 1.5, None, "1")),
    ],
    "limit": [(-1, ValueError, "limit -1"), (1.5, TypeError, "limit int"), (True, TypeError, "limit int")],
    "time_limit": [(-1, ValueError, "time_limit seconds"), ("1", TypeError, "time_limit seconds")],
    "semantics": [("iso", ValueError, "semantics induced")],
    "unique": [(1, TypeError, "unique True")],
    "engine": [("tpu", ValueError, "engine cpu 'tpu'")],
    "progress": [(5, TypeError, "progress callable")],
    "graph": [(5, TypeError, "G"), (None, TypeError, "G")],
    "pattern": [
        (5, TypeError, "pattern int"),
        ("(a)--(b", PatternError, "pattern character 8"),
        ("()--()", PatternError, "pattern anonymous name"),
        ("(a)-->(b)", PatternError, "pattern directed"),
        ("(a:X)", GraphError, "pattern labels vertex_label="),
        (Pattern([(1, "1")]), PatternError, "pattern names text"),
    ],
}


@pytest.mark.parametrize(
    ("argument", "value", "kinds", "words"),
    each({argument: [(argument, *case) for case in cases] for argument, cases in BAD.items()}),
)
def test_an_argument_that_makes_no_sense_is_refused_before_the_work(
    tmp_path, monkeypatch, argument, value, kinds, words
):
    monkeypatch.chdir(tmp_path)
    for name in ("file", "file.csv"):
        Path(name).write_text("old")
    for name in ("full", "folder.csv"):
        Path(name).mkdir()
    Path("full/theirs").write_text("x")
    before = everything(tmp_path)
    with refuses(kinds, words):
        write(**({"path": "out"} | {argument: value}))
    assert everything(tmp_path) == before


def test_a_path_is_looked_at_before_the_graph_is_made(tmp_path):
    with refuses(ValueError, "path"):
        write(tmp_path / "out.json", pd.DataFrame({"src": [1.5], "dst": [2.5]}))


@pytest.mark.parametrize("name", TARGETS[:2])
def test_parts_of_a_file_are_refused(tmp_path, name):
    with refuses(ValueError, ["rows_per_file", name, "folder"]):
        write(tmp_path / name, rows_per_file=10)
    assert not list(tmp_path.iterdir())


def test_ids_that_the_format_cannot_hold_are_refused_before_the_search(tmp_path):
    pairs = nx.Graph([((0, 0), (0, 1))])
    with refuses(ValueError, "path CSV ids numbers text"):
        write(tmp_path / "out.csv", pairs, "(a)--(b)")
    assert write(tmp_path / "out.parquet", pairs, "(a)--(b)") == 2
    for name, edge in itertools.product(TARGETS, [(1, "a"), (2**80, 1), (object(), object())]):
        with refuses(ValueError, "path ids numbers text"):
            write(tmp_path / f"odd-{name}", nx.Graph([edge]), "(a)--(b)")
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_vertices_named_by_numbers_become_columns(tmp_path):
    assert write(tmp_path / "out.parquet", pattern=Pattern([(1, 2)])) == 56
    assert read(tmp_path / "out.parquet").column_names == ["1", "2"]


if __name__ == "__main__":
    print(json.dumps(kill_writers(Path(sys.argv[1]))))
