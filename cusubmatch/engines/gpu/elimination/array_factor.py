"""A factor in arrays of a device."""

from __future__ import annotations

from typing import Any

__all__ = ["ArrayFactor", "Scope"]

Scope = tuple[int, ...]


class ArrayFactor:
    """A factor in arrays of a device.

    Parameters
    ----------
    scope : tuple of int
    keys : uint64 (words, space)
        The first n of each row.
    values : uint64 (kinds, space), or float64
    entries : int, optional
        Their number n; as many as there is space for by default.
    is_plain : bool
        Whether all values are known to be 1.
    ascends : bool
        Whether its keys do, as those of all factors but parts of a product.
    """

    def __init__(
        self,
        scope: Scope,
        keys: Any,
        values: Any,
        entries: int | None = None,
        is_plain: bool = False,
        ascends: bool = True,
    ):
        self.scope, self.keys, self.values, self.is_plain, self.ascends = scope, keys, values, is_plain, ascends
        self.entries = keys.shape[1] if entries is None else entries
        self.images: Any = None  # float64 (vertices, size), of the host: entries of each image, once they are counted
        self.table: Any = None  # uint32, of plain ones: by key, a bit that says whether there is an entry

    def __len__(self) -> int:
        return self.entries

    @property
    def space(self) -> int:
        """Entries that the arrays have room for."""
        return self.keys.shape[1]
