"""Which walker is compiled: one serves all plans of a kind, so that nothing is compiled per pattern."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["COUNT", "PAIRS", "ROWS", "SUFFIX", "WEIGHTS", "Variant"]

# What happens to the candidates of the last level: they are counted; counted in pairs; each adds the weight of its
# partial match; they are written as rows; or each completes the core of a suffix.
COUNT, PAIRS, WEIGHTS, ROWS, SUFFIX = "count", "pairs", "weights", "rows", "suffix"


class Variant(NamedTuple):
    """What a walker is specialised for.

    Attributes
    ----------
    slots : int
        Partial matches a level of a warp's stack.
    offsets64 : bool
        Whether rows may begin at 2**32 or later.
    mode : str
        What happens at the last level.
    by_task : bool
        Whether counts are kept by tasks of a frontier, for the sampler.
    """

    slots: int
    offsets64: bool
    mode: str
    by_task: bool = False

    @property
    def counts_sets(self) -> bool:
        """Whether sets are only counted, so that a set of hubs may be counted by words of bitmaps."""
        return self.mode in {COUNT, WEIGHTS, SUFFIX}

    @property
    def list_words(self) -> int:
        """Shared-memory words from one list of a slot to the next: base and length of each slot."""
        return (3 if self.offsets64 else 2) * self.slots
