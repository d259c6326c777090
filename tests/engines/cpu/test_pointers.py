"""Tables of addresses: compiled code finds in them the arrays and numbers of a named tuple, or the tuple is refused."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numba import TypingError, njit, types

from cusubmatch.engines.cpu.primitives import pointers
from cusubmatch.engines.cpu.primitives.pointers import _write_words, bundled, table_of


class Kept(NamedTuple):
    """Values of each kind of field."""

    words: np.ndarray
    names: np.ndarray
    size: int


on_kept = bundled(Kept, {"names": types.int32, "size": None})


@njit
def _move(table):
    """Write the last name to the words."""
    kept = on_kept(table)
    kept.words[0] = kept.names[kept.size - 1]


@pytest.fixture(autouse=True)
def compiled_here(monkeypatch):
    """What is compiled for `Kept` is not kept on disk, where other processes could not read it."""

    @njit
    def write_table(arrays, table):
        _write_words(arrays, table)

    monkeypatch.setattr(pointers, "_write_table", write_table)


def test_compiled_code_reads_and_writes_the_arrays_of_a_table():
    kept = Kept(np.zeros(2, np.int64), np.array([5, 6, 7], np.int32), 3)
    _move(table_of(kept))
    assert kept.words.tolist() == [7, 0]
    _move(table_of(kept._replace(size=np.int32(2))))  # any kind of integer is a number
    assert kept.words.tolist() == [6, 0]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("words", np.zeros(2, np.int32)),
        ("words", np.zeros(4, np.int64)[::2]),
        ("names", np.zeros(2, np.int64)),
        ("names", 3),
        ("size", np.zeros(1, np.int64)),
        ("size", 3.0),
    ],
)
def test_a_field_of_another_kind_is_refused(field, value):
    kept = Kept(np.zeros(2, np.int64), np.zeros(3, np.int32), 3)
    with pytest.raises(TypingError, match=rf"Kept\.{field}: expected"):
        table_of(kept._replace(**{field: value}))
