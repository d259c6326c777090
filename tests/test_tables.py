"""Files of dataframes are read as they were written, whole or not at all; and how much memory is left."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest
from frame_cases import HOST_NAMES, NAMES, frame, module, plain
from pyarrow import csv, parquet

from cusubmatch.frames import available_memory, family_named, memory, read_table, write_table


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".CSV"])
def test_frames_are_written_and_read_again(name, suffix, tmp_path):
    path = tmp_path / f"matches{suffix}"
    write_table(frame(name, a=[3, 1], b=["x", "ü"]), path)
    table = read_table(str(path))
    assert table.to_pylist() == [{"a": 3, "b": "x"}, {"a": 1, "b": "ü"}]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", HOST_NAMES)
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_categoricals_are_written(name, suffix, tmp_path):
    words = pa.chunked_array([pa.array(["u", "v", "u"]).dictionary_encode()])
    values = {"pandas": words.to_pandas, "polars": lambda: module("polars").from_arrow(words), "arrow": lambda: words}[
        name
    ]()
    write_table(family_named(name).frame({"a": values}), tmp_path / f"categories{suffix}")
    assert plain(read_table(tmp_path / f"categories{suffix}").column("a")) == ["u", "v", "u"]


@pytest.mark.parametrize(
    ("suffix", "module", "function"), [(".parquet", parquet, "write_table"), (".csv", csv, "write_csv")]
)
@pytest.mark.parametrize("older", [None, b"of an earlier run"])
def test_a_write_that_fails_leaves_what_was_there(suffix, module, function, older, tmp_path, monkeypatch):
    path = tmp_path / f"matches{suffix}"
    if older:
        path.write_bytes(older)

    def full_disk(table, where):
        where.write_bytes(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(module, function, full_disk)
    with pytest.raises(OSError, match="no space left"):
        write_table(frame("arrow", a=[1]), path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == ({path.name: older} if older else {})


def test_a_column_that_the_format_cannot_hold_leaves_no_file(tmp_path):
    with pytest.raises(ValueError, match="cannot mix list and non-list"):
        write_table(pd.DataFrame({"a": pd.Series([(1, "x"), "y"])}), tmp_path / "matches.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", ["edges", "edges.txt", "edges.csv.gz"])
def test_an_unknown_suffix_is_an_error_that_lists_the_known(path, tmp_path):
    with pytest.raises(ValueError, match=r"unknown suffix .*; expected .parquet or .csv"):
        read_table(tmp_path / path)
    with pytest.raises(ValueError, match=r"unknown suffix .*; expected .parquet or .csv"):
        write_table(frame("arrow", a=[1]), tmp_path / path)


def test_files_that_are_not_there_or_not_what_they_say_are_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"edges\.parquet"):
        read_table(tmp_path / "edges.parquet")
    (tmp_path / "edges.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="Parquet"):
        read_table(tmp_path / "edges.parquet")
    with pytest.raises(TypeError, match="frame: expected a dataframe, got list"):
        write_table([1], tmp_path / "edges.csv")


def test_available_memory_keeps_within_the_limit_of_the_container(tmp_path, monkeypatch):
    assert 1 << 20 < available_memory() < 1 << 50
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable: 4000 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CONTAINER", tmp_path)
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
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "nowhere")
    assert available_memory() > 1 << 20
    monkeypatch.delattr(memory.os, "sysconf")
    assert available_memory() == memory.UNKNOWN
