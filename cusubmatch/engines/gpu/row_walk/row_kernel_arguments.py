"""The arrays that the row walker's kernels take, in named groups, and the Numba types of all their arguments."""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types as nb

from cusubmatch.engines.gpu.runtime.kernel_factory import block_of

__all__ = ["RowData", "RowOutput", "RowTasks", "Scratch", "open_tasks_signature", "walk_rows_signature"]


class RowData(NamedTuple):
    """What is read.

    Attributes
    ----------
    offsets, ends, times, rows, filters
        As `DeviceRows` has them.
    owners : uint32
        The vertex whose row each one of the first step's list is.
    roots : uint32
        The vertices that a first step of vertices visits.
    masks : uint32
        Of each vertex the pattern vertices that it may be the image of, one bit each.
    bounds : int64
        Bounds of windows.
    ints, floats, valid : int64, float64, uint8
        Constants and columns of conditions.
    """

    offsets: Any
    ends: Any
    times: Any
    rows: Any
    filters: Any
    owners: Any
    roots: Any
    masks: Any
    bounds: Any
    ints: Any
    floats: Any
    valid: Any


class RowTasks(NamedTuple):
    """What a walk starts from: rows of the first step with the ranges of the second, if candidates of that are tasks.

    Attributes
    ----------
    positions, begins : uint32
        Of each row of the first step its position, or vertex, and where its range begins.
    ends : int64
        Sums of the lengths of the ranges up to and including each one.
    begin, end : int64
        The tasks of the run.
    """

    positions: Any
    begins: Any
    ends: Any
    begin: Any
    end: Any


class Scratch(NamedTuple):
    """Room of each thread for stacks of conditions and for searches: one word of all threads after the other."""

    ints: Any
    floats: Any


class RowOutput(NamedTuple):
    """Room for matches: int32 (vertices * capacity,) and int64 (rows * capacity,)."""

    vertices: Any
    rows: Any
    capacity: Any


_U, _S, _L, _F = (nb.Array(dtype, 1, "C") for dtype in (nb.uint32, nb.int32, nb.int64, nb.float64))
_W, _B = nb.Array(nb.uint64, 1, "C"), nb.Array(nb.uint8, 1, "C")


def _data(times64):
    return block_of(RowData, _U, _U, _L if times64 else _S, _U, _U, _U, _U, _U, _L, _L, _F, _B)


def walk_rows_signature(times64: bool) -> Any:
    """The signature of `row_walker.make_walk_rows`'s kernel."""
    tasks = block_of(RowTasks, _U, _U, _L, nb.int64, nb.int64)
    scratch, output = block_of(Scratch, _L, _F), block_of(RowOutput, _S, _L, nb.int64)
    return nb.void(_U, _data(times64), tasks, _W, _U, scratch, output, nb.int64)


def open_tasks_signature(times64: bool) -> Any:
    """The signature of `open_tasks.make_open_tasks`'s kernel."""
    scratch = block_of(Scratch, _L, _F)
    return nb.void(_U, _data(times64), scratch, nb.int64, nb.int64, _U, _U)
