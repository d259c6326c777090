"""The fraction of a run that is done, by estimated work.

Work is measured in candidates of level 2: those of the batches drawn so far, less those still to come. Batches alone
would say too much, since hubs come first and all warps hold work. So first candidates are weighed by what follows them,
the exact lengths of the next lists for evenly spaced ones; and what the checkpoints and the ring still hold of the two
first levels is taken off. What deeper levels hold belongs to a few candidates and is ignored.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.search.device_plan import DevicePlan
from cusubmatch.engines.gpu.search.extend_frontier import extended_frontier
from cusubmatch.engines.gpu.search.workspace import Workspace
from cusubmatch.engines.gpu.walker import program_format as p
from cusubmatch.engines.gpu.walker import task_ring as r
from cusubmatch.engines.gpu.walker.checkpoints import CHECKPOINT_HEADER

__all__ = ["RunProgress"]

CHECKPOINT_HEAD = CHECKPOINT_HEADER + 9  # words of a checkpoint up to the ranges of level 2
MAX_UNFINISHED = 0.99  # is said to be done of a run that is not over


class RunProgress:
    """The fraction of a walk that is done.

    Parameters
    ----------
    gpu, device_plan
        Where the plan runs, and what it runs with.
    xp : module
    mode : str
        What happens at the last level.
    """

    def __init__(self, gpu: Device, device_plan: DevicePlan, xp: Any, mode: str):
        self.device_plan, self.xp, self.tunables = device_plan, xp, gpu.tunables
        self.last = int(device_plan.layout.words[p.LAST])
        self._estimated_at, self._done = -np.inf, 0.0
        total = device_plan.roots.total
        self.positions, self.work = np.array([0, total]), np.array([0.0, total])
        if self.last > 1:
            candidates = min(total, self.tunables.progress_candidates)
            spaced = np.linspace(0, total, candidates, endpoint=False).astype(np.int64)
            _, lengths = extended_frontier(gpu, device_plan, xp, mode, 2, self._partial_matches(xp.asarray(spaced)))
            each = 1.0 + (lengths if xp is np else lengths.get())
            self.positions = np.append(spaced, total)
            self.work = np.concatenate([[0.0], np.cumsum(each * np.diff(self.positions))])

    def done(self, workspace: Workspace) -> float:
        """The fraction that is done when a launch has ended; never less than before."""
        if time.monotonic() < self._estimated_at + self.tunables.progress_interval_s:
            return self._done
        words, batches = self.device_plan.layout.words, int(workspace.state[r.NEXT_BATCH])
        position = batches * int(words[p.BATCH])
        if words[p.WHOLE]:
            root = min(position, int(words[p.ROOTS])) - 1
            position = int(self.device_plan.roots.ends[root]) if position else 0
        drawn = float(np.interp(position, self.positions, self.work))
        first, second = self._open_candidates(workspace)
        left = first * self.work[-1] / max(self.positions[-1], 1) + second
        self._done = max(self._done, min(float((drawn - left) / max(self.work[-1], 1.0)), MAX_UNFINISHED))
        self._estimated_at = time.monotonic()
        return self._done

    def _partial_matches(self, positions: Any) -> Any:
        """The partial matches of two vertices that some first candidates make: (positions, 3) uint32, flat."""
        roots, xp = self.device_plan.roots, self.xp
        parts = xp.searchsorted(roots.ends, positions, side="right")
        begins = xp.where(parts > 0, roots.ends[parts - 1], 0)
        words = xp.zeros((len(positions), 3), np.uint32)
        words[:, 0] = roots.vertices[parts]
        words[:, 1] = self.device_plan.targets[roots.bases[parts].astype(np.int64) + (positions - begins)]
        return words.reshape(-1)

    def _open_candidates(self, workspace: Workspace) -> tuple[int, int]:
        """Candidates of level 1 and of level 2 that warps and the ring hold."""
        plan, xp = self.device_plan, self.xp
        stride = plan.layout.stack + CHECKPOINT_HEADER
        used = workspace.checkpoints[: plan.blocks * plan.warps * stride]
        stacks = used.reshape(-1, stride)[:, :CHECKPOINT_HEAD].astype(np.int64)
        level, floor = stacks[:, 0], stacks[:, 1]
        slots = int(plan.layout.words[p.RING_MASK]) + 1
        full = (int(workspace.state[r.TAIL]) - int(workspace.state[r.HEAD])) % (1 << 32)
        index = (int(workspace.state[r.HEAD]) + xp.arange(full)) % slots
        ring = workspace.ring.reshape(slots, -1)
        levels, lengths = ring[index, 0], ring[index, 3].astype(np.int64)
        candidates = []
        for t in (1, 2):
            if t > self.last:
                candidates.append(xp.zeros((), np.int64))
                continue
            at = CHECKPOINT_HEADER + 3 * t
            is_open = (floor <= t) & (level >= t)
            candidates.append(((stacks[:, at + 1] - stacks[:, at]) * is_open).sum() + (lengths * (levels == t)).sum())
        first, second = xp.stack(candidates).tolist()
        return first, second
