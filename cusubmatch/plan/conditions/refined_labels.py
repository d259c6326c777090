"""Labels refined by masks: a mask over vertices or arcs splits each label into what is under the mask and what is not.

So a condition on one vertex or one edge becomes a set of labels, and everything that knows labels knows conditions:
filters, planning, walks, decomposition, supergraphs and both engines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["RefinedLabels"]


class RefinedLabels:
    """Codes that tell the label of each vertex or arc, and the masks that it is under.

    Parameters
    ----------
    xp : module
    size : int
        The number of vertices or arcs.
    codes : int32 array or None
        Label codes, -1 for none; None: there are no labels.
    labels : int
        The number of labels.
    masks : sequence of bool arrays

    Attributes
    ----------
    codes : int32 array
    members : list of (label code or -1, bits)
        What each code means; bit i is set under mask i.
    """

    def __init__(self, xp: Any, size: int, codes: Any, labels: int, masks: Sequence[Any]):
        self.codes = xp.zeros(size, np.int32) if codes is None else codes + np.int32(1)
        self.members = [(-1, 0), *((label, 0) for label in range(labels))]
        for number, mask in enumerate(masks):
            self.codes = 2 * self.codes + mask
            members = [(label, bits | under << number) for label, bits in self.members for under in (0, 1)]
            occurs = xp.bincount(self.codes, minlength=len(members)) > 0
            place = xp.cumsum(occurs, dtype=np.int32) - np.int32(1)
            self.codes = place[self.codes]
            self.members = [member for member, kept in zip(members, occurs.tolist(), strict=True) if kept]
        self.codes = self.codes.astype(np.int32, copy=False)

    def under(self, mask: int | None, labels: frozenset[int] | None) -> frozenset[int]:
        """The codes under a mask, by its number (None: under any), of one of some labels (None: of any or none)."""
        return frozenset(
            code
            for code, (label, bits) in enumerate(self.members)
            if (mask is None or bits >> mask & 1) and (labels is None or label in labels)
        )
