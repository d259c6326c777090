"""Columns of edges on matches: how many rows they make is known before, and they come in batches."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from frame_cases import HOST_NAMES, frame, rows
from refusal import refuses

import cusubmatch as csm
from cusubmatch import PatternError, ResultTooLarge

PAYMENTS = {"src": [1, 1, 2, 2, 2, 3], "dst": [2, 2, 3, 3, 3, 1], "cents": [5, 6, 7, 8, 9, 10]}
RING = "(a)-[p]->(b)-[q]->(c)"
MATCHES = {"a": [1, 2, 3], "b": [2, 3, 1], "c": [3, 1, 2]}  # of 2 * 3, 3 * 1 and 1 * 2 combinations


@pytest.mark.parametrize("family", HOST_NAMES)
@pytest.mark.parametrize(("batch_rows", "sizes"), [(1, [6, 3, 2]), (6, [6, 5]), (9, [9, 2]), (100, [11])])
def test_batches_have_the_rows_of_the_whole_in_order(family, batch_rows, sizes):
    matches, payments = frame(family, **MATCHES), frame(family, **PAYMENTS)
    whole = csm.attach_edges(matches, RING, payments)
    batches = list(csm.iter_attached_edges(matches, RING, payments, batch_rows=batch_rows))
    assert [len(rows(batch)) for batch in batches] == sizes
    assert [row for batch in batches for row in rows(batch)] == rows(whole)
    assert all(type(batch) is type(whole) for batch in batches)


def test_rows_that_do_not_fit_are_refused_with_their_number_before_they_are_made():
    src = np.repeat([0, 1, 2], 20_000)
    edges = pd.DataFrame({"src": src, "dst": src + 1, "cents": 1})
    matches = pd.DataFrame({"a": [0] * 10, "b": 1, "c": 2, "d": 3})
    with refuses(ResultTooLarge, "80,000,000,000,000 rows iter_attached_edges edges='each'"):
        csm.attach_edges(matches, "(a)-[p]->(b)-[q]->(c)-[r]->(d)", edges)
    with refuses(ResultTooLarge, "11 rows"):
        csm.attach_edges(pd.DataFrame(MATCHES), RING, pd.DataFrame(PAYMENTS), memory_limit=100)
    assert len(csm.attach_edges(pd.DataFrame(MATCHES), RING, pd.DataFrame(PAYMENTS), memory_limit=10_000)) == 11


def test_wrong_arguments_are_refused_before_the_first_batch():
    matches, payments = pd.DataFrame(MATCHES), pd.DataFrame(PAYMENTS)
    with refuses(PatternError, "matches 'z'"):
        csm.iter_attached_edges(matches, "(a)-->(z)", payments)
    with refuses(ValueError, "batch_rows 0"):
        csm.iter_attached_edges(matches, RING, payments, batch_rows=0)
    with refuses(TypeError, "memory_limit int"):
        csm.attach_edges(matches, RING, payments, memory_limit="1")
