"""Where the vertices of a factor have their fields in its keys.

A key holds a local index of each vertex of the scope, one field of bits each, the first vertex in the highest field of
the first word; no field lies in two words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

__all__ = ["Fields"]

WORD_BITS = 63  # of a word of a key, at most: a shift by 64 does nothing
DIGIT_BITS = 11  # of the keys that a pass of sorting goes by, at most


class Fields:
    """Where vertices have their fields in the keys of factors.

    Parameters
    ----------
    size : int
        Local indices are below it.

    Attributes
    ----------
    bits : int
        Of a field.
    of_word : int
        Fields that a word has room for.
    mask : uint64
        Of a field.
    """

    def __init__(self, size: int):
        self.bits = max((size - 1).bit_length(), 1)
        self.of_word = max(WORD_BITS // self.bits, 1)
        self.mask = np.uint64((1 << self.bits) - 1)

    def words(self, vertices: int) -> int:
        """Of a key with so many."""
        return max(-(-vertices // self.of_word), 1)

    def bits_of(self, vertices: int, word: int) -> int:
        """The bits that a word of a key with so many vertices has."""
        return self.bits * min(self.of_word, vertices - word * self.of_word)

    def different_keys(self, vertices: int) -> float:
        """That there may be with so many vertices; inf where they have several words."""
        return math.inf if self.words(vertices) > 1 else 1 << self.bits * vertices

    def place(self, scope: Sequence[int], vertex: int) -> tuple[int, int]:
        """The word that has the field of a vertex, and its lowest bit there."""
        word, before = divmod(scope.index(vertex), self.of_word)
        return word, self.bits_of(len(scope), word) - self.bits * (before + 1)

    def places(self, scope: Sequence[int], vertices: Sequence[int]) -> np.ndarray:
        """uint64 (vertices, 2): the places of the fields of some vertices, word and lowest bit."""
        return np.array([self.place(scope, u) for u in vertices], np.uint64).reshape(-1, 2)

    def moves(self, scope: Sequence[int], result: Sequence[int], column: int = 0) -> np.ndarray:
        """uint64 (fields, 4): the places of what two scopes share, in the first one, and in the other, from a column.

        A place is a word and the lowest bit there.
        """
        both = [(u, u) for u in scope if u in result]
        return self.renaming_moves(scope, result, both, column)

    def renaming_moves(
        self, scope: Sequence[int], result: Sequence[int], pairs: Sequence[tuple[int, int]], column: int = 0
    ) -> np.ndarray:
        """The same for pairs of a vertex of the first scope and one of the other, in whose place its field is put."""
        rows = []
        for u, w in pairs:
            word, bit = self.place(result, w)
            rows.append((*self.place(scope, u), column + word, bit))
        return np.array(rows, np.uint64).reshape(-1, 4)

    def prefix(self, vertices: int, first: int) -> tuple[np.ndarray, np.uint64, int]:
        """The bits that the first few of so many vertices have in the words of a key: of each word that has some.

        Also the lowest of them in the first word, and how many there are.
        """
        bits = [(self.bits_of(vertices, word), self.bits_of(first, word)) for word in range(self.words(first))]
        masks = [((1 << those) - 1) << (here - those) for here, those in bits]
        here, those = bits[0]
        return np.array(masks, np.uint64), np.uint64(here - those), those

    def digits(self, scope: Sequence[int], order: Sequence[int]) -> np.ndarray:
        """uint64 (digits, 3): words, lowest bits and masks of what keys are sorted by, the least first.

        Keys of a scope are sorted by some of its vertices, `order`, which follow each other in it.
        """
        fields: dict[int, list[int]] = {}  # lowest bits, by word
        for u in reversed(order):
            word, bit = self.place(scope, u)
            fields.setdefault(word, []).append(bit)
        digits = []
        for word, places in fields.items():
            bits = self.bits * len(places)
            width = -(-bits // -(-bits // DIGIT_BITS))
            digits += [(word, places[0] + b, (1 << min(width, bits - b)) - 1) for b in range(0, bits, width)]
        return np.array(digits, np.uint64).reshape(-1, 3)
