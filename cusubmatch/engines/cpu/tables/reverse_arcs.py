"""The reverse arc of every arc (x, y) of symmetric rows: the position of (y, x)."""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import announced, jit

__all__ = ["reverse_arcs"]


def reverse_arcs(offsets: Any, targets: Any) -> Any:
    """Find the reverse arc of every arc, int64."""
    with announced("tables"):
        return _reverse_arcs(offsets, targets)


@jit
def _reverse_arcs(offsets, targets):
    """Go over the rows in order: so every row of reverse arcs is met in order too."""
    following, reverse = offsets[:-1].copy(), np.empty(len(targets), np.int64)
    for x in range(len(offsets) - 1):
        for e in range(offsets[x], offsets[x + 1]):
            y = targets[e]
            reverse[e] = following[y]
            following[y] += 1
    return reverse
