"""Numbers that set the speed of the GPU engine and not its results, chosen by measurements on an H200.

A `Device` carries them. Kernel factories take the few that are compiled in, as a `Polling`; all else is host code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Polling", "Tunables"]


class Polling(NamedTuple):
    """How often a warp of the walker polls the control words, and what it may donate; see `Tunables`."""

    steps_between_polls: int = 64
    steps_between_polls_idle: int = 2
    leaf_windows: int = 64
    min_donated_candidates: int = 512
    min_donated_cores: int = 64


@dataclass(frozen=True, slots=True)
class Tunables:
    """The tunable numbers of the GPU engine.

    Attributes
    ----------
    grid : (int, int), optional
        Blocks of the walker, and warps a block; default as many as can be resident.
    slice_s : float
        Seconds of a launch of the walker.
    output_bytes : int
        Most bytes of a block of rows.
    steps_between_polls, steps_between_polls_idle : int
        Steps of a warp between two polls, and after a poll that found an idle warp.
    leaf_windows : int
        Windows of last-level candidates in one step, each as wide as a warp.
    min_divided_tasks : int
        From so many tasks on, a walk over rows looks whether some rows take less in another order of steps.
    min_donated_candidates, min_donated_cores : int
        The last level is donated if it has more candidates; the second number if each completes the core of a suffix.
    ring_slots : int
        Tasks that the ring of donated work can hold; a power of two.
    batch_candidates : int
        First candidates that a warp draws at once.
    max_batched_candidates : int
        First candidates beyond which more of them are drawn at once.
    max_hubs, hub_bitmap_bytes, min_hub_degree : int
        Bounds on the vertices that have a bitmap: their number, the bytes of all bitmaps, and their least degree.
    exact_sum_bits : int
        Values of a suffix that may have more bits are summed modulo primes; 57 at most.
    first_frontier_tasks, frontier_tasks : int
        Most tasks of the sampler's first launch, and of one after it.
    max_device_sum : int
        Counts of a frontier whose sum is smaller are summed up on the device; 2**63 at most.
    progress_candidates : int
        First candidates by which the work of a run is estimated.
    progress_interval_s : float
        Seconds between two estimates of what is done.
    filter_block_warps, filter_chunk_vertices, filter_probed_neighbours : int
        Of the filters: warps a block, vertices that are counted together, and neighbours that a lane tests alone.
    conditioning_block_warps : int
        Warps a block of a count by conditioning.
    conditioning_slots, long_conditioning_slots : int
        Components that its cache can hold, and that of a long count; powers of two.
    conditioning_store_bytes : int
        Most bytes of its domains and rows.
    cutset_combinations : float
        In a count by w-cutset conditioning, of candidates, in all tables that an elimination makes, at the most.
    cutset_places : int
        Of a block's tables, 16 bytes each; of all blocks fewer than 2^32.
    cutset_row_words : int
        Of the rows of worlds that are counted together, about.
    cutset_tasks : int
        For which there is room.
    cutset_set_words : int
        Of what is left of sets, which tasks share.
    cutset_slice_s : float
        Seconds of the first launches, after which no task is begun.
    cutset_turns : int
        Blocks that take a place, one after the other, in a launch; between two of them kernels of others may have it.
    full_rows_arcs : int
        From so many arcs on triangles are counted in full rows.
    alternatives : int
        Plans that a trial compares.
    trial_shares : tuple of (int, int)
        The rounds of a trial: one first candidate of so many is looked at, for the best so many plans.
    negligible_cost_ns : float
        Below this estimated cost a wrong estimate does not matter.
    trial_cost_ns : float
        From this estimated cost on a trial is held at once; below it the cheapest plan is measured first.
    trial_plan_s, trial_round_s : float
        Most seconds that a plan is tried, and after which no more plans of a round are tried.
    trial_margin : float
        Two plans whose samples took times within this factor are measured on the whole, unless that takes too long.
    measured_whole_s : float
        A plan that a trial expects to take less is measured on the whole.
    """

    grid: tuple[int, int] | None = None
    slice_s: float = 0.05
    output_bytes: int = 256 << 20
    steps_between_polls: int = Polling().steps_between_polls
    steps_between_polls_idle: int = Polling().steps_between_polls_idle
    leaf_windows: int = Polling().leaf_windows
    min_divided_tasks: int = 1 << 20
    min_donated_candidates: int = Polling().min_donated_candidates
    min_donated_cores: int = Polling().min_donated_cores
    ring_slots: int = 1 << 14
    batch_candidates: int = 8
    max_batched_candidates: int = 1 << 30
    max_hubs: int = 2048
    hub_bitmap_bytes: int = 96 << 20
    min_hub_degree: int = 32
    exact_sum_bits: int = 57
    first_frontier_tasks: int = 1 << 20
    frontier_tasks: int = 1 << 22
    max_device_sum: int = 1 << 63
    progress_candidates: int = 1 << 14
    progress_interval_s: float = 0.05
    filter_block_warps: int = 8
    filter_chunk_vertices: int = 1024
    filter_probed_neighbours: int = 4
    conditioning_block_warps: int = 4
    conditioning_slots: int = 1 << 20
    long_conditioning_slots: int = 1 << 26
    conditioning_store_bytes: int = 1 << 29
    cutset_combinations: float = float(1 << 25)
    cutset_places: int = 1 << 20
    cutset_row_words: int = 1 << 29
    cutset_tasks: int = 1 << 22
    cutset_set_words: int = 1 << 26
    cutset_slice_s: float = 0.25
    cutset_turns: int = 128
    full_rows_arcs: int = 1 << 26
    alternatives: int = 32
    trial_shares: tuple[tuple[int, int], ...] = ((128, 32), (8, 5))
    negligible_cost_ns: float = 1e3
    trial_cost_ns: float = 5e5
    trial_plan_s: float = 0.02
    trial_round_s: float = 0.2
    trial_margin: float = 1.3
    measured_whole_s: float = 0.005

    @property
    def polling(self) -> Polling:
        """The numbers that are compiled into the walker."""
        return Polling(*(getattr(self, name) for name in Polling._fields))
