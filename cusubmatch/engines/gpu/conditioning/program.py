"""A candidate graph as the kernel sees it: the program, and how much memory a count takes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.gpu.conditioning import state_format as f
from cusubmatch.engines.gpu.conditioning.component_cache import BUCKET_SLOTS
from cusubmatch.engines.gpu.conditioning.kernel_signatures import FEW_WORDS, LANE_WORDS
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.plan.candidate_graph import CandidateGraph

__all__ = ["Program", "factors", "make_program", "pattern_words"]

LOCALS_OF_A_WORD = 32
REGISTERS = 96, 120  # of a thread; the second number is for long sets. A fifth is left to kernels of other calls.
ROUNDED_TO = 8  # vertices and narrowed domains, so that there are few shapes of launches: a new one takes a millisecond
SEED = 22  # of the factors


class Program(NamedTuple):
    """What a launch needs to know.

    Attributes
    ----------
    words : uint32
        The program (`state_format`).
    lane_words, set_words : int
        Words of a set, for each lane and in all.
    sizes : uint32
        Of each pattern vertex, how many candidates it has.
    blocks : int
        Of the launch.
    shared_words : int
        Of a block.
    store_words : int
        Whole domains, rows, and a pool for each warp.
    """

    words: np.ndarray
    lane_words: int
    set_words: int
    sizes: np.ndarray
    blocks: int
    shared_words: int
    store_words: int


def _lane_words(locals_: int, width: int) -> int | None:
    """Words for each of so many lanes that sets of local indices have; None if that is too many."""
    needed = -(-locals_ // (LOCALS_OF_A_WORD * width))
    return next((words for words in LANE_WORDS if words >= needed), None if width > 1 else needed)


def make_program(local: CandidateGraph, order: Sequence[int], gpu: Device, parts: int = 1) -> Program | None:
    """The program of a candidate graph; None if its sets are too long.

    Parameters
    ----------
    local : CandidateGraph
        In host memory.
    order : sequence of int
        The vertices, the one to branch on first first.
    gpu : Device
    parts : int
        Of the device, one of which is used.
    """
    n, width, settings = len(order), gpu.target.WARP, gpu.tunables
    locals_ = len(local.candidates.masks)
    words = _lane_words(locals_, width)
    if words is None:
        return None
    program, narrowings = pattern_words(local, order)
    room = -(-n // ROUNDED_TO) * ROUNDED_TO
    narrowings = -(-narrowings // ROUNDED_TO) * ROUNDED_TO
    set_words = words * width
    warps = settings.conditioning_block_warps if width > 1 else 1
    rows = n * set_words
    pools = rows + len(local.adjacency.offsets) * locals_ * set_words
    given = f.AFTER_DOMAINS + f.TRAIL_FIELDS * narrowings
    frames = given + 2 * room
    warp_words = frames + f.FRAME_WORDS * room
    shared_words = f.BLOCK_WORDS + warps * warp_words
    registers = REGISTERS[words > FEW_WORDS]
    blocks = settings.grid[0] if settings.grid else gpu.resident(shared_words, warps, registers)
    for at, value in {
        f.VERTICES: n,
        f.ROOT: order[0],
        f.LOCALS: locals_,
        f.ROWS: rows,
        f.POOLS: pools,
        f.POOL_WORDS: narrowings * set_words,
        f.WARP_WORDS: warp_words,
        f.TRAIL: f.AFTER_DOMAINS,
        f.GIVEN: given,
        f.FRAMES: frames,
        f.RING_MASK: settings.ring_slots - 1,
        f.BUCKET_MASK: settings.conditioning_slots // BUCKET_SLOTS - 1,
    }.items():
        program[at] = value
    blocks = -(-blocks // parts)
    sizes = np.array(local.candidates.cardinalities.sizes, np.uint32)
    store_words = pools + blocks * warps * narrowings * set_words
    return Program(np.array(program, np.uint32), words, set_words, sizes, blocks, shared_words, store_words)


def pattern_words(local: CandidateGraph, order: Sequence[int]) -> tuple[list[int], int]:
    """The program's words about the pattern, and how many domains are narrowed at once at the most."""
    words, required = [0] * f.PROGRAM_WORDS, local.constraints.required
    conflicts = [pair for pair in local.constraints.distinct if pair not in required]
    for (u, w), (relation,) in required.items():
        words[f.NEIGHBOURS + u] |= 1 << w
        words[f.RELATIONS + u * f.MAX_VERTICES + w] = relation
    for u, w in conflicts:
        words[f.CONFLICTS + u] |= 1 << w
        words[f.CONFLICTS + w] |= 1 << u
    for rank, v in enumerate(order):
        words[f.PRIORITY + v] = rank
    return words, len(required) // 2 + len(conflicts)


@functools.cache
def factors(set_words: int) -> np.ndarray:
    """Odd random words for the keys of components: two for each word of each domain, and two more."""
    random = np.random.default_rng(SEED)
    return random.integers(0, 1 << 64, 2 * f.MAX_VERTICES * set_words + 2, np.uint64) | np.uint64(1)
