"""Items dealt out to equal parts, so that several GPUs can share a count.

Items are kept by falling work. The first part gets the first item, the next part the next one, and so on in rounds:
each part has about the same work, in falling order too, and enough items to fill a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from cusubmatch.engines.runs import TaskRange
from cusubmatch.graph.cache import finished

__all__ = ["PARTS", "Interleaved", "dealt", "interleaved", "stretch"]

PARTS = 64


class Interleaved(NamedTuple):
    """Arrays of items part by part, and where the parts end."""

    arrays: tuple[Any, ...]
    items: int
    work_s: float

    def pieces(self, parts: TaskRange, piece_s: float) -> Iterator[tuple[int, int, float]]:
        """Ranges of the arrays that make some parts, of about so much work each: (start, stop, work)."""
        step = max(1, int(min(piece_s / max(self.work_s, 1e-12), 1.0) * PARTS))
        for part in range(parts.begin, parts.end, step):
            start, stop = self._begin(part), self._begin(min(part + step, parts.end))
            if start < stop:
                yield start, stop, self.work_s * (stop - start) / self.items

    def _begin(self, part: int) -> int:
        each, more = divmod(self.items, PARTS)
        return part * each + min(part, more)


def interleaved(xp: Any, arrays: tuple[Any, ...], work_s: float) -> Interleaved:
    """Items, given as arrays of one length, dealt out; finished, since they are kept, for threads on other streams."""
    items = len(arrays[0])
    order = xp.concatenate([xp.arange(part, items, PARTS) for part in range(PARTS)]) if items else xp.arange(0)
    return finished(xp, Interleaved(tuple(array[order] for array in arrays), items, work_s))


def stretch(length: int, parts: TaskRange) -> tuple[int, int]:
    """The range of so many things alike that some parts have."""
    return length * parts.begin // PARTS, length * parts.end // PARTS


def dealt(xp: Any, items: int, parts: TaskRange) -> Any:
    """The items of some parts, where there may be fewer items than parts: int64, ascending."""
    numbers = xp.arange(items)
    of = numbers % PARTS if items >= PARTS else numbers * PARTS // max(items, 1)
    return numbers[(of >= parts.begin) & (of < parts.end)]
