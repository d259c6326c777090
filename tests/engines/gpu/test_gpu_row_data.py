"""What the device keeps of rows: lists one after the other, and filters of arcs."""

from __future__ import annotations

import numpy as np
import pytest

from cusubmatch.engines.gpu.row_walk import device_rows
from cusubmatch.engines.gpu.row_walk.device_rows import arc_hash, filter_bits, make_device_rows
from cusubmatch.errors import EngineUnavailable
from cusubmatch.graph.edge_rows import edge_rows


def relation(n=300, rows=4000, seed=3):
    random = np.random.default_rng(seed)
    ends = random.integers(0, n, (2, rows)).astype(np.int32)
    return edge_rows(n, *ends, random.integers(0, 1000, rows), directed=True)


def passes(made, number, x, y):
    """Whether the filter of a relation lets an arc pass, as the kernel asks it."""
    word, shift = made.filter_at[number]
    with np.errstate(over="ignore"):
        h = arc_hash(x, y)
        bits = filter_bits(h)
    return made.filters[word + int(h >> np.uint32(shift))] & bits == bits


def test_filters_let_every_arc_pass_and_few_others():
    first, second = relation(), relation(seed=4)
    made, n = make_device_rows(np, [first, second], incoming=False), 300
    for number, rows in enumerate((first, second)):
        sources = np.repeat(np.arange(n), np.diff(rows.arc_offsets))
        arcs = set(zip(sources.tolist(), rows.arc_targets.tolist(), strict=True))
        assert all(passes(made, number, x, y) for x, y in arcs)
        others = [(x, y) for x in range(100) for y in range(100) if (x, y) not in arcs]
        assert sum(passes(made, number, x, y) for x, y in others) < 0.02 * len(others)


def test_lists_have_the_rows_of_their_relations():
    rows = relation()
    made = make_device_rows(np, [rows], incoming=True)
    for kind, index in (("source", rows.by_source), ("target", rows.by_target), ("arc", rows.by_arc)):
        place = made.lists[0, kind]
        part = slice(place.first, place.first + len(index.rows))
        offsets = made.offsets[place.offsets : place.offsets + len(index.offsets)].astype(np.int64) - place.first
        np.testing.assert_array_equal(offsets, index.offsets)
        np.testing.assert_array_equal(made.rows[part], index.rows)
        np.testing.assert_array_equal(np.diff(made.times[part].astype(np.int64)), np.diff(index.times))
    np.testing.assert_array_equal(np.bincount(made.owners[0, "source"], minlength=300), np.diff(rows.by_source.offsets))


def test_more_rows_than_32_bits_can_number_are_refused(monkeypatch):
    monkeypatch.setattr(device_rows, "MAX_POSITIONS", 1000)
    with pytest.raises(EngineUnavailable, match=r"engine='gpu': .* are more than it walks .*; use engine='cpu'"):
        make_device_rows(np, [relation()], incoming=False)
