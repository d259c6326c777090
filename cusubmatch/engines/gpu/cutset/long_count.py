"""A long count of a candidate graph: by conditioning on one part of the device, and on cutsets on another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cusubmatch.engines.gpu.conditioning.conditioning_run import LONG_PART, conditioning_run
from cusubmatch.engines.gpu.cutset.cutset_run import cutset_run
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.runs import CopiedCount
from cusubmatch.plan.candidate_graph import CandidateGraph

__all__ = ["FirstOf", "long_count"]

PREPARED_S = 1.0  # in which a count on cutsets is under way, or not at all


def long_count(local: CandidateGraph, order: Sequence[int], gpu: Device, xp: Any, seconds: float) -> CopiedCount | None:
    """A count, which begins; None where kernels are still to be compiled for both ways, or none is offered."""
    on_cutsets = cutset_run(local, order, gpu, xp, seconds, LONG_PART)
    if on_cutsets is not None:
        on_cutsets.is_under_way.wait(PREPARED_S)  # what it loads would wait for the other one's launch
    conditioned = conditioning_run(local, order, gpu, xp, seconds, is_long=True)
    counts = [count for count in (on_cutsets, conditioned) if count is not None]
    return FirstOf(counts) if counts else None


class FirstOf:
    """Counts of the same number, of which the first is taken."""

    def __init__(self, counts: Sequence[CopiedCount]):
        self._counts = counts

    @property
    def ended(self) -> bool:
        """Whether nothing goes on any more."""
        return all(count.ended for count in self._counts)

    def poll(self) -> int | None:
        """The number of embeddings, once one of them knows it."""
        return next((total for count in self._counts if (total := count.poll()) is not None), None)

    def stop(self) -> None:
        """Let all end soon."""
        for count in self._counts:
            count.stop()
