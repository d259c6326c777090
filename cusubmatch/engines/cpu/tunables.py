"""The numbers that the CPU engine's speed depends on, and its results do not.

What compiled functions read as globals is frozen when they are compiled and stays beside them:
`sorted_sets.GALLOP_RATIO`, `leaf.GENERAL_UNITS`, `leaf.STEEP_RATIO`, `list_walker.LEAF_WINDOW_UNITS` and
`suffix_program.LENGTH`.
"""

from __future__ import annotations

from dataclasses import dataclass

from cusubmatch.engines.cpu.primitives.jit import threads

__all__ = ["DEFAULT_TUNABLES", "Tunables"]


@dataclass(frozen=True, slots=True)
class Tunables:
    """Numbers that change how fast the CPU engine's searches are; a unit of work is a vertex, or 64 elements of a list.

    Attributes
    ----------
    threads : int or None
        Threads of a run; None: as Numba's setting, NUMBA_NUM_THREADS, says at each call.
    work_units : int
        Work between two returns of a walker to Python.
    block_rows : int
        Rows of an output block, at most.
    first_tasks : int
        Ranges that the first vertex's candidates are cut into.
    alone_s : float
        Seconds after which the other threads are started.
    report_s : float
        Seconds between two reports of progress.
    queue_full_s : float
        Seconds between two looks whether the caller has taken a block.
    task_wait_s : float
        Seconds after which a thread that waits for a task looks whether there can still be one.
    estimate_ns_per_arc : float
        Assumed time of estimating the shares of progress, for each arc of the rows.
    max_estimate_share : float
        Most of a run's estimated time that estimating the shares may take; beyond it all shares are equal.
    hub_bitmap_bytes : int
        Space for bitmaps of hubs, where the rows themselves take less.
    min_hub_degree : int
        Shorter rows are merged as fast as looked up in a bitmap.
    max_universe : int
        Most vertices of a neighbourhood that bitmaps are used in.
    sample_work_units, sample_block_rows : int
        `work_units` and `block_rows` of a sampler, whose ranges are smaller.
    rows_per_rank : int
        A range of so many matches for each of its ranks is written rather than cut.
    cut_parts, cut_parts_per_rank : int
        Parts that a range is cut into: as many, or as many for each of its ranks, whichever are more.
    min_sample_tasks, max_sample_tasks : int
        Tasks of a sampler.
    sample_task_s : float
        Estimated seconds of a sampler's task.
    candidate_graph_vertices : int
        Smaller patterns are searched in as little time as their candidate graph is built in.
    small_candidate_arcs : int
        A candidate graph for which so many arcs are read, about, is built in any case.
    max_kept_share : float
        A larger one is built if it keeps at most this share of the arcs.
    max_candidate_arcs : int
        Of a candidate graph; bounds its memory.
    failing_set_vertices : int
        Rows of smaller patterns on a candidate graph are walked without failing sets.
    descent_population : int
        Partial matches of each level that sampled descents go on with.
    compiled_gather : int
        Positions whose values compiled code is loaded for.
    conditioning_steps : int
        Candidates that a count by conditioning tries between two returns to Python.
    alone_conditioning_s : float
        Seconds that a count by conditioning takes one thread before others begin.
    seconds_worth_a_thread, seconds_before_a_thread : float
        Seconds of one thread, expected to be left and spent so far, for each thread that such a count has besides the
        caller's: a thread takes the interpreter from others while it begins.
    conditioning_slots : int
        Most counts of components that it keeps, a power of two; a slot takes 32 bytes.
    most_set_elements, most_set_row_words : int
        A count by conditioning keeps domains as bits where there are no more local indices, and rows of no more words.
    steps_before_elimination : int
        Candidates that such a count, of four threads or more, tries before it counts components by elimination, too.
    min_eliminated_vertices, most_combinations : int
        Vertices of such a component, at the least, and combinations of candidates in its tables, at the most.
    max_kept_paths : int
        Most paths that a thread of a row walk keeps at a vertex, a power of two; one takes 44 bytes.
    """

    threads: int | None = None
    work_units: int = 1 << 16
    block_rows: int = 1 << 16
    first_tasks: int = 64
    alone_s: float = 0.005
    report_s: float = 0.1
    queue_full_s: float = 0.001
    task_wait_s: float = 0.05
    estimate_ns_per_arc: float = 30.0
    max_estimate_share: float = 0.05
    hub_bitmap_bytes: int = 2 << 20
    min_hub_degree: int = 12
    max_universe: int = 1 << 14
    sample_work_units: int = 1 << 18
    sample_block_rows: int = 1 << 14
    rows_per_rank: int = 1 << 12
    cut_parts: int = 16
    cut_parts_per_rank: int = 8
    min_sample_tasks: int = 1 << 6
    max_sample_tasks: int = 1 << 15
    sample_task_s: float = 3e-5
    candidate_graph_vertices: int = 5
    small_candidate_arcs: int = 1 << 20
    max_kept_share: float = 0.5
    max_candidate_arcs: int = 1 << 26
    failing_set_vertices: int = 5
    descent_population: int = 64
    compiled_gather: int = 1 << 14
    conditioning_steps: int = 1 << 13
    alone_conditioning_s: float = 0.001
    seconds_worth_a_thread: float = 0.001
    seconds_before_a_thread: float = 0.0003
    conditioning_slots: int = 1 << 23
    most_set_elements: int = 1 << 9
    most_set_row_words: int = 1 << 19
    steps_before_elimination: int = 1 << 24
    min_eliminated_vertices: int = 6
    most_combinations: int = 1 << 22
    max_kept_paths: int = 1 << 22

    def threads_for(self, tasks: int) -> int:
        """Threads that so many tasks are worth."""
        return max(1, min(self.threads or threads(), tasks))


DEFAULT_TUNABLES = Tunables()
