"""Host memory that rows from a device are copied to, and which column of which row goes where in it."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from cusubmatch.engines.host_copies import Arrival

__all__ = ["HostTarget", "ImageCopy", "image_copies"]

ImageCopy: TypeAlias = tuple[list[np.ndarray], Any]  # places in host memory, and the column that is copied to each


class HostTarget:
    """An array (columns, capacity) that is being filled."""

    def __init__(self, array: np.ndarray, pinned: bool):
        self.array, self.pinned = array, pinned
        self.rows = 0
        self.arrivals: list[Arrival] = []

    @property
    def free_rows(self) -> int:
        """Rows that it can still take."""
        return self.array.shape[1] - self.rows

    def filled(self) -> np.ndarray:
        """The rows that it holds, once all of them have arrived."""
        while self.arrivals:
            self.arrivals[-1].wait()
            self.arrivals.pop()
        return self.array[:, : self.rows]


def image_copies(host: np.ndarray, source: Any, image_columns: np.ndarray, rows: int, begin: int) -> list[ImageCopy]:
    """The copies that give `host` the rows from number `begin` on of all images.

    Parameters
    ----------
    host : array (columns, rows to fill)
    source : array (columns, rows)
    image_columns : array (columns, images)
        Which column of `source` each column is; row i of image k has the number k * rows + i.
    rows : int
        Rows of `source`.
    begin : int
        The first number.
    """
    end = begin + host.shape[1]
    if begin == 0 and end == rows * image_columns.shape[1]:
        places: list[list[np.ndarray]] = [[] for _ in source]
        for (column, image), source_column in np.ndenumerate(image_columns):
            places[source_column].append(host[column, image * rows : (image + 1) * rows])
        return list(zip(places, source, strict=True))
    copies: list[ImageCopy] = []
    for image in range(begin // rows, -(-end // rows)):
        first, last = max(begin - image * rows, 0), min(end - image * rows, rows)
        at = image * rows + first - begin
        for column, source_column in enumerate(image_columns[:, image].tolist()):
            copies.append(([host[column, at : at + last - first]], source[source_column, first:last]))
    return copies
