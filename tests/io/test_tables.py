"""Files of tables are read in the format that their suffix or their first bytes say; and how much memory is left."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from cusubmatch.io.formats import suffix_of
from cusubmatch.io.table_files import format_in, read_table
from cusubmatch.system import host_memory as memory
from cusubmatch.system.host_memory import available_memory

ROWS = [{"a": 3, "b": "x"}, {"a": 1, "b": "ü"}, {"a": None, "b": ""}]


def write(path):
    table = pa.Table.from_pylist(ROWS)
    if path.suffix.lower() == ".parquet":
        parquet.write_table(table, path)
        return
    with (gzip.open if path.suffix == ".gz" else open)(path, "wb") as file:
        csv.write_csv(table, file, csv.WriteOptions(delimiter="\t" if ".tsv" in path.name else ","))


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("edges.parquet", "parquet"),
        ("edges.CSV", "csv"),
        ("v1.2.csv", "csv"),
        ("edges.tsv", "tsv"),
        ("edges.csv.gz", "csv"),
        ("edges.tsv.gz", "tsv"),
    ],
)
def test_a_file_is_read_by_its_suffix_and_its_bytes_by_themselves(name, form, tmp_path):
    path = tmp_path / name
    write(path)
    assert read_table(str(path)).to_pylist() == ROWS
    assert format_in(path.read_bytes()) == form
    assert read_table(path.read_bytes()).to_pylist() == ROWS
    path = path.rename(tmp_path / "edges.txt")
    assert read_table(path, form).to_pylist() == ROWS


def test_columns_of_text_stay_text(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("a,b\n01,1\n,\n")
    assert read_table(path, text=["a", "c"]).to_pylist() == [{"a": "01", "b": 1}, {"a": None, "b": None}]


@pytest.mark.parametrize("name", ["edges", "edges.txt", "edges.gz", "edges.parquet.gz"])
def test_an_unknown_suffix_is_an_error_that_lists_the_known(name, tmp_path):
    with pytest.raises(ValueError, match=r"unknown suffix .*; expected one of .parquet, .csv, .tsv, .csv.gz, .tsv.gz"):
        read_table(tmp_path / name)


def test_the_suffix_of_gzipped_text_has_two_parts():
    names = ["a.csv", "a.CSV.GZ", "a.b.tsv.gz", "a.parquet.gz", "a.csv/b", ".csv"]
    assert [suffix_of(Path(name)) for name in names] == [".csv", ".csv.gz", ".tsv.gz", ".gz", "", ""]


def test_files_that_are_not_there_or_not_what_they_say_are_errors(tmp_path):
    for name in ("edges.parquet", "edges.csv"):
        with pytest.raises(FileNotFoundError, match=name):
            read_table(tmp_path / name)
    (tmp_path / "edges.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="Parquet"):
        read_table(tmp_path / "edges.parquet")


def test_available_memory_keeps_within_the_limit_of_the_container(tmp_path, monkeypatch):
    assert 1 << 20 < available_memory() < 1 << 50
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=4000 << 10))
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert available_memory() == 4000 << 10
    for file, text in {
        "memory.max": "3000000",
        "memory.current": "2000000",
        "memory.stat": "anon 7\ninactive_file 500",
    }.items():
        (tmp_path / file).write_text(text)
    assert available_memory() == 1_000_500
    (tmp_path / "memory.max").write_text("max\n")
    assert available_memory() == 4000 << 10
