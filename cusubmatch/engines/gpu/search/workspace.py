"""What a run needs on the device beside the graph: control words, the ring and checkpoints. The next run uses it again.

A run that came to its end leaves an empty ring and empty checkpoints, so the next one sets a few words and starts,
unless its stacks are of another size; the workspace of a run that was stopped is thrown away. The size does not depend
on the graph: a stack a resident warp, and the ring.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.runtime.transfer import copy_device
from cusubmatch.engines.gpu.runtime.warp import whole
from cusubmatch.engines.gpu.walker import task_ring as r
from cusubmatch.engines.gpu.walker.kernel_arguments import ControlArrays

__all__ = ["Workspace", "WorkspacePool"]

SUMS = 4  # words: a count in two 64-bit words


class Workspace:
    """The arrays that every launch of a run is given, as kernels take them: `arrays` and `sums`.

    Parameters
    ----------
    xp : module
    to_device : callable
    ring_slots, task_words : int
        Slots of the ring, and words of each.
    checkpoint_words : int
        Of all warps.
    """

    def __init__(self, xp: Any, to_device: Any, ring_slots: int, task_words: int, checkpoint_words: int):
        self.control = xp.zeros(r.CONTROL_WORDS + SUMS, np.int32)
        self.state = np.zeros(r.CONTROL_WORDS + SUMS, np.int32)  # as it was last read
        self.state[r.FREE] = ring_slots
        turns = xp.asarray(np.arange(ring_slots, dtype=np.int32))
        self.ring = xp.empty(ring_slots * task_words, np.uint32)
        self.checkpoints, self.stack = xp.zeros(checkpoint_words, np.uint32), 0
        self.bytes = sum(array.nbytes for array in (self.control, turns, self.ring, self.checkpoints))
        shared = (self.control[: r.CONTROL_WORDS], turns, self.ring, self.checkpoints)
        self.arrays = to_device(ControlArrays(*shared))
        self.sums = to_device(self.control[r.CONTROL_WORDS :].view(np.uint64))
        self._seen = None if xp is np else mirrored(self.control)

    def start(self, fresh: bool) -> None:
        """Make ready for a launch: the first of a run, or one that goes on."""
        for word, value in ((r.STOP, 0), (r.IDLE, 0), (r.FILLED, 0), (r.VALID, -1)):
            self.state[word] = value
        self.state[r.CONTROL_WORDS :] = 0
        if fresh:
            self.state[r.NEXT_BATCH] = self.state[r.PENDING] = self.state[r.DONATED] = 0
        if isinstance(self.control, np.ndarray):
            self.control[:] = self.state
        else:
            self.control.set(self.state)

    def read(self) -> int:
        """Wait for the launch and read `state`; the count of it."""
        self.state = self.control.copy() if self._seen is None else self._seen()
        return whole(self.state[r.CONTROL_WORDS :].view(np.uint64))

    def event(self) -> Any:
        """An event after what was launched so far; None where launches are calls."""
        if isinstance(self.control, np.ndarray):
            return None
        import cupy

        event = cupy.cuda.Event(disable_timing=True)
        event.record(cupy.cuda.get_current_stream())
        return event

    def stop(self) -> None:
        """End the launch that is running, and wait for it."""
        if isinstance(self.control, np.ndarray):
            return
        import cupy

        aside, flag = cupy.cuda.Stream(non_blocking=True), np.ones(1, np.int32)
        # A copy, since a kernel would wait for room beside the one that runs.
        self.control[r.STOP : r.STOP + 1].set(flag, stream=aside)
        aside.synchronize()
        cupy.cuda.get_current_stream().synchronize()


def mirrored(array: Any) -> Callable[[], np.ndarray]:
    """A function that reads a small array of the device: a kernel writes it to pinned host memory.

    Copies to the host are done one after the other, so a copy of a few words would wait for rows that are on their way.
    """
    import cupy

    buffer = copy_device().pinned.take(array.nbytes)
    if buffer is None:
        return array.get
    host = buffer.view(array.dtype)
    memory = cupy.cuda.UnownedMemory(host.ctypes.data, host.nbytes, host, array.device.id)
    device_view = cupy.ndarray(array.shape, array.dtype, cupy.cuda.MemoryPointer(memory, 0))

    def read():
        cupy.positive(array, out=device_view)
        cupy.cuda.get_current_stream().synchronize()
        return host.copy()

    return read


class WorkspacePool:
    """Workspaces of one kind that no run uses."""

    def __init__(self, make):
        self._make, self._free, self._lock = make, [], threading.Lock()

    def take(self, stack: int) -> Workspace:
        """A workspace for stacks of so many words."""
        with self._lock:
            workspace = self._free.pop() if self._free else None
        workspace = workspace or self._make()
        if workspace.stack not in {0, stack}:
            workspace.checkpoints[:] = 0
        workspace.stack = stack
        return workspace

    def give_back(self, workspace: Workspace) -> None:
        with self._lock:
            if not self._free:
                self._free.append(workspace)
