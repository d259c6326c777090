"""What the runs of one plan share on the device: its program, its rows and first candidates, and workspaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.device import REGISTERS, SUFFIX_REGISTERS, WIDE_REGISTERS, Device
from cusubmatch.engines.gpu.search.graph_view import Roots, make_roots, make_rows
from cusubmatch.engines.gpu.search.program import Layout, encode
from cusubmatch.engines.gpu.search.workspace import Workspace, WorkspacePool
from cusubmatch.engines.gpu.walker import program_format as p
from cusubmatch.engines.gpu.walker import task_ring as r
from cusubmatch.engines.gpu.walker.checkpoints import CHECKPOINT_HEADER
from cusubmatch.engines.gpu.walker.kernel_arguments import GraphArrays
from cusubmatch.engines.gpu.walker.variant import Variant
from cusubmatch.engines.prepared import Prepared
from cusubmatch.engines.runs import TaskRange
from cusubmatch.plan import Plan

__all__ = ["DevicePlan", "make_device_plan"]

BATCHES_A_WARP = 8  # at least, in a range of tasks
KEPT_ROWS = 4  # sets of relations, at least
KEPT_POOLS = 4  # of workspaces, which plans share that need about the same
TASK_WORDS_STEP, CHECKPOINT_WORDS_STEP = 8, 1 << 20  # words of a task and of all checkpoints are rounded up to these


class DevicePlan(NamedTuple):
    """A plan on the device.

    Attributes
    ----------
    layout : Layout
    program : array
        The words of the layout, as a kernel takes them.
    no_rows : array
        What a kernel that writes no rows takes in place of them.
    offsets64 : bool
    roots : Roots
    targets : array
        The rows' elements, of which the longest row has `longest`.
    graph : GraphArrays
    root_arrays : tuple
        Vertices, bases and ends of the roots, as a kernel takes them.
    batches : int
        How many batches of first candidates there are.
    blocks, warps, shared_words : int
        Of the grid, of a block, and of a block's shared memory.
    pool : WorkspacePool
    longest : int
    """

    layout: Layout
    program: Any
    no_rows: Any
    offsets64: bool
    roots: Roots
    targets: Any
    graph: GraphArrays
    root_arrays: tuple[Any, Any, Any]
    batches: int
    blocks: int
    warps: int
    shared_words: int
    pool: WorkspacePool
    longest: int

    @property
    def tasks(self) -> int:
        """First-level tasks: roots where the walk visits nothing else, else pairs of a root and a first candidate."""
        return _tasks(self.layout.words, self.roots)

    def variant(self, mode: str, by_task: bool = False) -> Variant:
        """The walker for this plan."""
        return Variant(self.layout.slots, self.offsets64, mode, by_task)

    def of(self, tasks: TaskRange, xp: Any, to_device: Callable[[Any], Any]) -> DevicePlan:
        """The same plan on some of its first-level tasks."""
        words = self.layout.words.copy()
        roots = self.roots.part(tasks, whole=bool(words[p.WHOLE]))
        words[p.ROOTS] = len(roots.vertices)
        if not words[p.WHOLE]:  # smaller batches, so that each warp draws several and all end together
            batch, warps = int(words[p.BATCH]), self.blocks * self.warps
            smaller = min(max(roots.total // (BATCHES_A_WARP * warps), 1), batch)
            words[p.BATCH], words[p.BATCH_STEP] = smaller, int(words[p.BATCH_STEP]) // batch * smaller
        return self._replace(
            layout=self.layout._replace(words=words),
            program=to_device(xp.asarray(words)),
            roots=roots,
            root_arrays=_root_arrays(roots, to_device),
            batches=_batches(words, roots),
        )


def make_device_plan(
    gpu: Device, prepared: Prepared, plan: Plan, sample_share: int, extra_task_words: int = 0
) -> DevicePlan:
    """Encode a plan of at least two levels for what it is walked on.

    `sample_share`: one first candidate, or root, of so many is searched; `extra_task_words`: words that a task of the
    ring has beside its own, if the walker keeps counts by task.
    """
    graph, candidates, adjacency = prepared.graph, prepared.candidates, prepared.adjacency
    xp, target, tunables = graph.xp, gpu.target, gpu.tunables
    key = adjacency.key, tunables
    rows = graph.cache.get("device rows", key, lambda: make_rows(gpu, xp, adjacency), graph.keep(KEPT_ROWS))
    layout = encode(plan, candidates.filters, warp=target.WARP, offsets64=rows.offsets64, longest=rows.longest)
    words = layout.words
    words[p.STRIDE], words[p.HUB] = graph.n_vertices + 1, rows.hub
    words[p.HUBS], words[p.HUB_WORDS] = rows.hubs, rows.words
    roots = make_roots(gpu, xp, xp.asarray(words), rows, candidates.of(plan.levels[0].vertex))
    last = int(words[p.LAST])
    words[p.WHOLE] = last == 1
    batch = _batch_candidates(gpu, layout, roots, sample_share)
    words[p.BATCH], words[p.BATCH_STEP] = batch, batch * sample_share
    words[p.ROOTS], words[p.RING_MASK] = len(roots.vertices), tunables.ring_slots - 1
    carried = int(words[p.HEADER + p.RECORD * last + p.CARRIED])
    words[p.TASK_WORDS] = _up(r.TASK_HEADER + carried + extra_task_words, TASK_WORDS_STEP)
    shared_words = int(words[p.SIZE]) + layout.warps * layout.stack
    wide = rows.offsets64 or extra_task_words or (layout.weighed and gpu.generation < 9)
    registers = SUFFIX_REGISTERS if plan.suffix else WIDE_REGISTERS if wide else REGISTERS
    blocks, warps = tunables.grid or (gpu.resident(shared_words, layout.warps, registers), layout.warps)
    masks = candidates.masks if any(mask is not None for mask in candidates.filters) else xp.zeros(1, np.uint32)
    arrays = (rows.offsets, rows.targets, masks, rows.bitmaps)
    checkpoint_words = _up(blocks * warps * (layout.stack + CHECKPOINT_HEADER), CHECKPOINT_WORDS_STEP)
    shape = tunables.ring_slots, int(words[p.TASK_WORDS]), checkpoint_words
    pool = graph.cache.get(
        "workspaces", shape, lambda: WorkspacePool(lambda: Workspace(xp, gpu.to_device, *shape)), KEPT_POOLS
    )
    return DevicePlan(
        layout,
        gpu.to_device(xp.asarray(words)),
        gpu.to_device(xp.zeros(1, np.int32)),
        rows.offsets64,
        roots,
        rows.targets,
        gpu.to_device(GraphArrays(*arrays)),
        _root_arrays(roots, gpu.to_device),
        _batches(words, roots),
        blocks,
        warps,
        shared_words,
        pool,
        rows.longest,
    )


def _batch_candidates(gpu, layout, roots, sample_share):
    """First candidates, or whole roots, of a batch; each begins a slot."""
    if layout.words[p.WHOLE]:
        return layout.slots
    usual = gpu.tunables.batch_candidates
    needed = usual * roots.total // gpu.tunables.max_batched_candidates
    return min(layout.slots, max(usual if sample_share == 1 else 1, needed))


def _tasks(words, roots):
    return len(roots.vertices) if words[p.WHOLE] else roots.total


def _batches(words, roots):
    return -(-_tasks(words, roots) // int(words[p.BATCH_STEP]))


def _root_arrays(roots, to_device):
    return tuple(map(to_device, (roots.vertices, roots.bases, roots.ends)))


def _up(number: int, step: int) -> int:
    return -(-number // step) * step
