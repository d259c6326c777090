"""The arrays that the walker's kernels take, in named groups, and the Numba types of all their arguments."""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types as nb

from cusubmatch.engines.gpu.runtime.kernel_factory import block_of

__all__ = ["ControlArrays", "GraphArrays", "extend_frontier_signature", "walk_signature"]


class GraphArrays(NamedTuple):
    """What is read of the data graph.

    Attributes
    ----------
    offsets : (relations * (vertices + 1),) uint32, or int64 if 32 bits are too few
    targets : uint32
        The rows of all relations.
    masks : uint32
        Of each vertex the pattern vertices that it is a candidate of, one bit each.
    bitmaps : uint32
        The rows of the hubs, one bit a vertex.
    """

    offsets: Any
    targets: Any
    masks: Any
    bitmaps: Any


class ControlArrays(NamedTuple):
    """What the warps of a run share, and what is left for its next launch.

    Attributes
    ----------
    words : int32
        Counters and flags; `task_ring` numbers them.
    turns : (ring slots,) int32
        Whose turn it is at each slot of the ring.
    ring : (ring slots * words of a task,) uint32
        Donated tasks.
    checkpoints : uint32
        The stacks of all warps between launches.
    """

    words: Any
    turns: Any
    ring: Any
    checkpoints: Any


_WORDS, _SIGNED, _LONG = (nb.Array(dtype, 1, "C") for dtype in (nb.uint32, nb.int32, nb.int64))


def _offsets(offsets64):
    return _LONG if offsets64 else _WORDS


def _graph(offsets64):
    return block_of(GraphArrays, _offsets(offsets64), _WORDS, _WORDS, _WORDS)


def walk_signature(offsets64: bool) -> Any:
    """The signature of `warp_walker.make_walk`'s kernel."""
    control = block_of(ControlArrays, _SIGNED, _SIGNED, _WORDS, _WORDS)
    roots = _WORDS, _offsets(offsets64), _LONG
    return nb.void(_WORDS, _graph(offsets64), *roots, control, _SIGNED, nb.Array(nb.uint64, 1, "C"), nb.int64)


def extend_frontier_signature(offsets64: bool) -> Any:
    """The signature of `extend_frontier.make_extend_frontier`'s kernel."""
    return nb.void(_WORDS, _graph(offsets64), nb.int64, _WORDS, _offsets(offsets64), _LONG)
