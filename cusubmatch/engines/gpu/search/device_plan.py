"""What the runs of one plan share on the device: its program, its rows and first candidates, and workspaces."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.base import Prepared, TaskRange
from cusubmatch.engines.gpu.runtime.device import REGISTERS, SUFFIX_REGISTERS, WIDE_REGISTERS, Device
from cusubmatch.engines.gpu.search import program as p
from cusubmatch.engines.gpu.search import task_ring as r
from cusubmatch.engines.gpu.search.graph_view import Roots, make_roots, make_rows
from cusubmatch.engines.gpu.search.warp_walker import CHECKPOINT_HEADER
from cusubmatch.engines.gpu.search.workspace import Pool, Workspace
from cusubmatch.plan import Plan

__all__ = ["DevicePlan", "make_device_plan"]

RING = 1 << 14  # entries
CHUNK = 8  # first candidates a ticket
KEPT_ROWS = 4  # sets of relations, at least
KEPT_POOLS = 4  # of workspaces that plans share if they need about the same
ENTRY_STEP, PARKED_STEP = 8, 1 << 20  # words: what is about the same
MANY = 1 << 30  # first candidates, beyond which a ticket has more than CHUNK of them


class DevicePlan(NamedTuple):
    """`tickets` is how many there are; `graph` is what a kernel takes of the program's data, after the program.

    `roots` and `targets`, the entries of the rows, are the graph's own arrays; the longest of these has `longest`.
    """

    layout: p.Layout
    program: Any
    no_rows: Any
    wide: bool
    roots: Roots
    targets: Any
    graph: list
    tickets: int
    blocks: int
    warps: int
    shared: int  # words a block
    pool: Pool
    longest: int

    @property
    def tasks(self) -> int:
        """First-level tasks: roots where the walk visits nothing else, else pairs of a root and a first candidate."""
        return len(self.roots.vertices) if self.layout.words[p.WHOLE] else self.roots.total

    def of(self, tasks: TaskRange, xp: Any, to_device: Any) -> DevicePlan:
        """The same plan on some of its first-level tasks."""
        words = self.layout.words.copy()
        roots = self.roots.part(tasks, whole=bool(words[p.WHOLE]))
        words[p.ROOTS] = len(roots.vertices)
        step, number = int(words[p.STEP]), len(roots.vertices) if words[p.WHOLE] else roots.total
        return self._replace(
            layout=self.layout._replace(words=words),
            program=to_device(xp.asarray(words)),
            roots=roots,
            graph=[*self.graph[:4], *(to_device(array) for array in (roots.vertices, roots.bases, roots.ends))],
            tickets=-(-number // step),
        )


def make_device_plan(gpu: Device, prepared: Prepared, plan: Plan, grid, every: int, extra: int = 0) -> DevicePlan:
    """Encode a plan of at least two levels for what it is walked on.

    `grid`: blocks and warps, None for as many as fit; `every`: one first candidate, or root, of so many is looked at;
    `extra`: words that a task of the ring has beside its own, if the walker keeps counts by task.
    """
    graph, candidates, adjacency = prepared
    xp, target = graph.xp, gpu.target
    rows = graph.cache.get(
        "device rows",
        adjacency.key,
        lambda: make_rows(target, xp, adjacency, 4 * gpu.processors),
        graph.keep(KEPT_ROWS),
    )
    layout = p.encode(plan, candidates.filters, warp=target.WARP, wide=rows.wide, longest=rows.longest)
    words = layout.words
    words[p.STRIDE], words[p.HUB] = graph.n_vertices + 1, rows.hub
    words[p.HUBS], words[p.HUB_WORDS] = rows.hubs, rows.words
    first = candidates.of(plan.levels[0].vertex)
    roots = make_roots(target, xp, xp.asarray(words), rows, first, 4 * gpu.processors)
    last = int(words[p.LAST])
    words[p.WHOLE] = last == 1
    chunk = CHUNK if every == 1 else 1
    chunk = layout.slots if last == 1 else min(layout.slots, max(chunk, CHUNK * roots.total // MANY))
    words[p.CHUNK], words[p.STEP] = chunk, chunk * every
    words[p.ROOTS], words[p.RING] = len(roots.vertices), RING - 1
    words[p.ENTRY] = _up(r.TASK + int(words[p.HEADER + p.RECORD * last + p.CARRIED]) + extra, ENTRY_STEP)
    shared = int(words[p.SIZE]) + layout.warps * layout.stack
    registers = SUFFIX_REGISTERS if plan.suffix else WIDE_REGISTERS if rows.wide or extra else REGISTERS
    blocks, warps = grid or (gpu.resident(shared, layout.warps, registers), layout.warps)
    masks = candidates.masks if any(mask is not None for mask in candidates.filters) else xp.zeros(1, np.uint32)
    program = xp.asarray(words)
    data = (rows.offsets, rows.targets, masks, rows.bits, roots.vertices, roots.bases, roots.ends)

    shape = RING, int(words[p.ENTRY]), _up(blocks * warps * (layout.stack + CHECKPOINT_HEADER), PARKED_STEP)
    pool = graph.cache.get("workspaces", shape, lambda: Pool(lambda: Workspace(xp, gpu.to_device, *shape)), KEPT_POOLS)
    return DevicePlan(
        layout,
        gpu.to_device(program),
        gpu.to_device(xp.zeros(1, np.int32)),
        rows.wide,
        roots,
        rows.targets,
        [gpu.to_device(array) for array in data],
        -(-(len(roots.vertices) if words[p.WHOLE] else roots.total) // int(words[p.STEP])),
        blocks,
        warps,
        shared,
        pool,
        rows.longest,
    )


def _up(number: int, step: int) -> int:
    return -(-number // step) * step
