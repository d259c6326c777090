"""What the benchmarks say of their measurements."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = Path("tests", "benchmarks")


@pytest.fixture
def notes(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / BENCHMARKS)
    import notes

    return notes


@pytest.mark.parametrize("begin", [0, 5000, (1 << 14) - 990])
def test_warps_that_look_for_work_in_the_tail_are_not_busy_there(notes, begin):
    length, warps = 1000, 8000
    looks, idle = np.zeros((2, notes.SLOTS), np.int64)
    for after, times, away in [
        (0, 9, 8000),
        (300, 50, 100),
        (949, 0, 0),
        (950, 3, 1000),
        (975, 7, 5000),
        (999, 1, 8000),
    ]:
        slots = (begin + np.arange(after, 1000 if after in {950, 975} else after + 1)) % notes.SLOTS
        looks[slots], idle[slots] = times, times * away
    share = notes.busy_at_the_end(looks, idle, length * (1 << notes.SHIFT) * 1e-6, 0.1, warps)
    assert share == pytest.approx(1 - (25 * 1000 + 24 * 5000 + 8000) / 100 / warps)


def test_warps_are_busy_until_they_leave(notes):
    gone = np.zeros(notes.SLOTS, np.int64)
    gone[[notes.SLOTS - 1, 0, 2]] = 1, 2, 1
    share = notes.busy_until_they_left(gone, 6 * (1 << notes.SHIFT) * 1e-6)
    assert share.tolist() == [1, 1, 1, 0.75, 0.25, 0.25]
