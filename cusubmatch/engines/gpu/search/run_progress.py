"""How much of a run is done, by estimated work: candidates of level 2, of those drawn so far less those still to come.

Tickets alone would say too much, since hubs come first and all warps hold work. So first candidates are weighed by
what follows them, the exact lengths of the next lists for evenly spaced ones; and what the parked stacks and the ring
still hold of the two first levels is taken off. What deeper levels hold belongs to a few candidates and is ignored.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.search import program as p
from cusubmatch.engines.gpu.search import task_ring as r
from cusubmatch.engines.gpu.search.device_plan import DevicePlan
from cusubmatch.engines.gpu.search.extend_frontier import extended_frontier
from cusubmatch.engines.gpu.search.warp_walker import CHECKPOINT_HEADER
from cusubmatch.engines.gpu.search.workspace import Workspace

__all__ = ["RunProgress"]

SAMPLE = 1 << 14  # first candidates that are looked at
HEAD = CHECKPOINT_HEADER + 9  # words of a parked stack up to the ranges of level 2
MOST = 0.99  # is said to be done of a run that is not over
REPORT_S = 0.05  # between two looks at what is held


class RunProgress:
    """The fraction of a walk that is done.

    Parameters
    ----------
    gpu, made
        Where the plan runs, and what it runs with.
    xp : module
    mode : str
        How the walker ends.
    """

    def __init__(self, gpu: Device, made: DevicePlan, xp: Any, mode: str):
        self.made, self.xp = made, xp
        self.last = int(made.layout.words[p.LAST])
        self._looked, self._done = -np.inf, 0.0
        total = made.roots.total
        self.places, self.work = np.array([0, total]), np.array([0.0, total])
        if self.last > 1:
            spaced = np.linspace(0, total, min(total, SAMPLE), endpoint=False).astype(np.int64)
            _, lengths = extended_frontier(gpu, made, xp, mode, 2, self._first(xp.asarray(spaced)))
            each = 1.0 + (lengths if xp is np else lengths.get())
            self.places = np.append(spaced, total)
            self.work = np.concatenate([[0.0], np.cumsum(each * np.diff(self.places))])

    def done(self, workspace: Workspace) -> float:
        """The fraction that is done when a launch has ended; never less than before."""
        if time.monotonic() < self._looked + REPORT_S:
            return self._done
        words, tickets = self.made.layout.words, int(workspace.state[r.TICKET])
        place = tickets * int(words[p.CHUNK])
        if words[p.WHOLE]:
            place = int(self.made.roots.ends[min(place, int(words[p.ROOTS])) - 1]) if place else 0
        drawn = float(np.interp(place, self.places, self.work))
        first, second = self._held(workspace)
        left = first * self.work[-1] / max(self.places[-1], 1) + second
        self._done = max(self._done, min(float((drawn - left) / max(self.work[-1], 1.0)), MOST))
        self._looked = time.monotonic()
        return self._done

    def _first(self, places: Any) -> Any:
        """The partial matches of two vertices that some first candidates make: (places, 3) uint32, flat."""
        roots, xp = self.made.roots, self.xp
        parts = xp.searchsorted(roots.ends, places, side="right")
        begins = xp.where(parts > 0, roots.ends[parts - 1], 0)
        words = xp.zeros((len(places), 3), np.uint32)
        words[:, 0] = roots.vertices[parts]
        words[:, 1] = self.made.targets[roots.bases[parts].astype(np.int64) + (places - begins)]
        return words.reshape(-1)

    def _held(self, workspace: Workspace) -> tuple[int, int]:
        """Candidates of level 1 and of level 2 that warps and the ring hold."""
        made, xp = self.made, self.xp
        stride = made.layout.stack + CHECKPOINT_HEADER
        stacks = (
            workspace.checkpoints[: made.blocks * made.warps * stride].reshape(-1, stride)[:, :HEAD].astype(np.int64)
        )
        level, floor = stacks[:, 0], stacks[:, 1]
        entries = int(made.layout.words[p.RING]) + 1
        full = (int(workspace.state[r.TAIL]) - int(workspace.state[r.HEAD])) % (1 << 32)
        index = (int(workspace.state[r.HEAD]) + xp.arange(full)) % entries
        ring = workspace.ring.reshape(entries, -1)
        levels, lengths = ring[index, 0], ring[index, 3].astype(np.int64)
        held = []
        for t in (1, 2):
            if t > self.last:
                held.append(xp.zeros((), np.int64))
                continue
            at = CHECKPOINT_HEADER + 3 * t
            open_ = (floor <= t) & (level >= t)
            held.append(((stacks[:, at + 1] - stacks[:, at]) * open_).sum() + (lengths * (levels == t)).sum())
        first, second = xp.stack(held).tolist()
        return first, second
