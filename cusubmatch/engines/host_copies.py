"""The contract of copies from a device to host memory, which run beside kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

__all__ = ["Arrival", "Pinned", "Transfer"]


class Arrival(Protocol):
    """Data on its way to host memory."""

    def wait(self) -> None:
        """Wait until all of it is there."""
        ...


class Pinned(Protocol):
    """Page-locked host memory, of which a device has at most `most` bytes."""

    most: int

    def take(self, size: int) -> Any:
        """A buffer, uint8, that comes back by itself when its last view is gone; None if there is no room."""
        ...


class Transfer(Protocol):
    """Copies to host memory that run beside the engine's work.

    Attributes
    ----------
    block_bytes : int
        Bytes that are best copied in one go.
    pinned : Pinned
    """

    block_bytes: int

    @property
    def pinned(self) -> Pinned:
        """Page-locked memory for copies from the engine's device."""
        ...

    def send(self, spreads: Sequence[tuple[Sequence[Any], Any]], direct: bool) -> Arrival:
        """Begin to copy each source, a contiguous array, to one or more places; `direct`: the places are pinned."""
        ...

    def fetch(self, block: Any) -> Any:
        """Begin to copy a block; the host array is complete after `finish`."""
        ...

    def finish(self) -> None:
        """Wait for all copies."""
        ...

    def close(self) -> None:
        """Begin no copy any more and let go of buffers."""
        ...
