"""Rows of the edge table under a mask: what a pattern edge with a condition of its own is walked on."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["masked_rows"]


def masked_rows(rows: Any, mask: np.ndarray) -> Any:
    """The `EdgeRows` of the rows where a mask, bool by position in the edge table, is set.

    Arcs without such a row are left out.
    """
    by_arc, kept_rows = rows.by_arc, _kept(rows.by_arc, mask)
    arcs = np.diff(kept_rows.offsets) > 0
    kept_before = np.concatenate([[0], np.cumsum(arcs)])
    offsets = np.concatenate([[0], kept_rows.offsets[1:][arcs]])
    return rows._replace(
        by_source=_kept(rows.by_source, mask),
        by_target=_kept(rows.by_target, mask),
        by_arc=kept_rows._replace(offsets=offsets.astype(by_arc.offsets.dtype)),
        arc_offsets=kept_before[rows.arc_offsets],
        arc_targets=rows.arc_targets[arcs],
    )


def _kept(index, mask):
    """The rows of one index that a mask keeps."""
    kept = mask[index.rows]
    before = np.concatenate([[0], np.cumsum(kept)])
    fields = {name: getattr(index, name) for name in ("neighbours", "times", "rows")}
    chosen = {name: None if array is None else array[kept] for name, array in fields.items()}
    return index._replace(offsets=before[index.offsets], **chosen)
