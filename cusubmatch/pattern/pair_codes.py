"""What ordered pairs of vertices of a coloured graph must share with their images, as numbers."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

__all__ = ["PairCodes"]


class PairCodes:
    """The codes of all ordered pairs.

    Parameters
    ----------
    codes : mapping of (int, int) to hashable
        Of pairs; those that are left out have the code None.
    size : int
        Vertices of the graph.

    Attributes
    ----------
    kinds : tuple of str
        The text of each number.
    near : list of lists of (number, vertex)
        Of each vertex, the pairs whose code is not the commonest one (of no edge): that says nothing beside the others.
    """

    def __init__(self, codes: Mapping[tuple[int, int], Hashable], size: int):
        uses = Counter(codes.values())
        uses[None] = size**2 - sum(uses[code] for code in uses if code is not None)
        texts = {code: repr(code) for code in uses}
        self.kinds = tuple(sorted(texts.values()))
        number = {code: self.kinds.index(text) for code, text in texts.items()}
        self._commonest = number[min(uses, key=lambda code: (-uses[code], texts[code]))]
        self.near: list[list[tuple[int, int]]] = [[] for _ in range(size)]
        pairs: Iterable[tuple[tuple[int, int], Hashable]] = codes.items()
        if self._commonest != number[None]:
            pairs = [((v, w), codes.get((v, w))) for v in range(size) for w in range(size)]
        for (v, w), code in pairs:
            if number[code] != self._commonest:
                self.near[v].append((number[code], w))

    @functools.cached_property
    def rows(self) -> list[list[int]]:
        """The code of each ordered pair, by number."""
        codes = [[self._commonest] * len(self.near) for _ in self.near]
        for row, near in zip(codes, self.near, strict=True):
            for code, w in near:
                row[w] = code
        return codes

    @functools.cached_property
    def columns(self) -> list[list[int]]:
        """The same by the second vertex."""
        return list(map(list, zip(*self.rows, strict=True)))
