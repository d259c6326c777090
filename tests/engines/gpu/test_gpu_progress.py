"""Progress of the GPU engine by estimated work, in the lane emulator: it rises, follows the matches, ends at one."""

from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from test_gpu_walk import SHAPES, Settings, run_of
from tiers import thorough

import cusubmatch as csm
from cusubmatch import Pattern


def reports_of(text, graph, slice_ticks=60, grid=(1, 2)):
    """The fractions reported, and the shares of the matches that were found by then."""
    settings = Settings(steps=1, windows=1, long=0, ring=64, slice_ticks=slice_ticks, grid=grid)
    with patch("cusubmatch.engines.gpu.search.run.specialised_count", lambda *_: None):
        run = run_of(graph, Pattern.parse(text), settings, progress_interval_s=0)
        seen = []
        run.progress = lambda done, found: seen.append((done, found))
        total = run.count()
    done, found = np.array(seen).T
    return done, found / max(total, 1)


@pytest.mark.parametrize("name", ["triangle", *thorough("square", "house", "claw", "path")])
def test_reports_rise_to_one_and_follow_the_matches(name):
    done, found = reports_of(SHAPES[name], csm.Graph.from_edgelist(csm.generators.rmat(6, 5, seed=3)))
    assert len(done) > 3
    assert (np.diff(done) >= 0).all()
    assert done[-1] == 1
    assert (done[:-1] <= 0.99).all()
    assert abs(done - found).mean() < 0.3


@pytest.mark.thorough
def test_what_a_warp_holds_of_a_hub_is_not_done():
    # All tickets are drawn at once; nearly all work hangs on those of the hub.
    leaves, grid = 60, (1, 2)
    rim = np.arange(1, leaves)
    graph = csm.Graph.from_edgelist((np.r_[np.zeros(leaves, int), rim], np.r_[np.arange(1, leaves + 1), rim + 1]))
    done, found = reports_of("(a)--(b)--(c)--(d)", graph, slice_ticks=20, grid=grid)
    assert len(done) > 6
    assert done[0] < 0.5
    assert abs(done - found).max() < 0.5


def test_nothing_is_estimated_where_nobody_asks():
    graph = csm.Graph.from_edgelist(csm.generators.rmat(5, 3, seed=3))
    with patch("cusubmatch.engines.gpu.search.run.RunProgress", side_effect=AssertionError):
        run = run_of(graph, Pattern.parse(SHAPES["square"]), Settings(steps=1, slice_ticks=30))
        assert run.count() == csm.count_matches(graph, SHAPES["square"], engine="cpu")


def test_rows_are_reported_too():
    graph = csm.Graph.from_edgelist(csm.generators.rmat(5, 3, seed=3))
    run, seen = run_of(graph, Pattern.parse(SHAPES["square"]), Settings(block_rows=64), counting=False), []
    run.progress = lambda done, found: seen.append((done, found))
    assert sum(block.shape[1] for block in run.blocks()) == seen[-1][1]
    assert seen[-1][0] == 1
    assert all(one <= other for one, other in pairwise(seen))
