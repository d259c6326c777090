"""One thread's part of a count by recursive conditioning.

Roots, the candidates of the vertex that is branched on first, are counted one by one. The cache is all that threads
share and change.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.cpu.conditioning import registers as c
from cusubmatch.engines.cpu.conditioning.bits import state as bits
from cusubmatch.engines.cpu.conditioning.component_cache import all_are_used, forget, number_of_slots, with_room
from cusubmatch.engines.cpu.conditioning.count_arithmetic import residues_of
from cusubmatch.engines.cpu.conditioning.lists import state as lists
from cusubmatch.engines.cpu.conditioning.solve import count_roots_of_bits, count_roots_of_lists
from cusubmatch.engines.cpu.primitives.cache_lines import LINE_BYTES, zeros_on_lines
from cusubmatch.engines.cpu.primitives.pointers import table_of

__all__ = ["RootCounter"]

GOLDEN_RATIO = 0.5 * (5**0.5 - 1.0)  # its multiples, modulo 1, are far from each other
CALLS_BEFORE_LONGER = 16  # that leave what they found


class _Layout(NamedTuple):
    """The arrays that a count changes, in a block: their names and numbers, where each begins, and all bytes."""

    names: tuple[str, ...]
    numbers: np.ndarray
    begins: np.ndarray
    size: int


class RootCounter:
    """A sum over roots, modulo 2^128 or some primes, with a bound on it.

    Parameters
    ----------
    arrays : Arrays
        Of `lists.state` or of `bits.state`.
    root : int
        The vertex that is branched on first.
    size : int
        Vertices of the pattern.
    pool : int
        Where its pool begins in the store.
    number : int
        Of the thread that counts.
    places : int64, optional
        The table of the arrays, if it is there.

    Attributes
    ----------
    eliminates : (int, int)
        Components are counted by elimination whose tables have no more combinations of candidates than that, at first
        none, and that have at least so many vertices.
    """

    def __init__(
        self,
        arrays: lists.Arrays | bits.Arrays,
        root: int,
        size: int,
        pool: int,
        number: int = 0,
        places: np.ndarray | None = None,
    ):
        self._root, self._size, self._pool, self.number = root, size, pool, number
        self._on_bits = isinstance(arrays, bits.Arrays)
        self._count_roots = count_roots_of_bits if self._on_bits else count_roots_of_lists
        self._arrays: Any = arrays
        self._places = table_of(arrays) if places is None else places
        self._sums, self._bounds = np.zeros(2, np.uint64), np.zeros(1)
        self._unused, self._no_queue = (np.zeros(2, np.uint64), np.zeros(1)), np.zeros(2, np.int64)
        self._stuck = self._longer = 0
        self._partial_sums = b""
        self.eliminates = 0, 0

    @property
    def part(self) -> str:
        """What is compiled for it (`jit.announced`)."""
        return "conditioning" if self._on_bits else "conditioning on lists"

    def another(self, pool: int, number: int) -> RootCounter:
        """A counter for one more thread, with the same cache and a pool of its own; this one may count meanwhile."""
        layout, places = self._layout, self._places.copy()
        block = zeros_on_lines(layout.size, np.uint8)
        places[layout.numbers] = block.ctypes.data + layout.begins

        def own(name: str) -> np.ndarray:
            begin, like = layout.begins[layout.names.index(name)], getattr(self._arrays, name)
            return block[begin : begin + like.nbytes].view(like.dtype)

        arrays = self._arrays._replace(registers=own("registers"), partial_sums=own("partial_sums"))
        return RootCounter(arrays, self._root, self._size, pool, number, places)

    @property
    def share(self) -> float:
        """When it helps, it goes through domains from this part of them on: the same in each turn, far from others'."""
        return (self.number + 1) * GOLDEN_RATIO % 1.0

    @functools.cached_property
    def _layout(self) -> _Layout:
        names = bits.CHANGED if self._on_bits else lists.CHANGED
        sizes = [-getattr(self._arrays, name).nbytes // LINE_BYTES * -LINE_BYTES for name in names]
        *begins, size = np.cumsum([0, *sizes]).tolist()
        return _Layout(names, np.array([self._arrays._fields.index(name) for name in names]), np.array(begins), size)

    @property
    def cache_is_full(self) -> bool:
        """Whether what is kept from now on replaces what was."""
        return all_are_used(self._arrays.shared)

    @property
    def cache_slots(self) -> int:
        """How much the cache can keep."""
        return number_of_slots(self._arrays.shared)

    def make_room(self, slots: int) -> None:
        """Let the cache have so many slots, at least as many as it has; no other counter shares it yet."""
        self._arrays = self._arrays._replace(table=with_room(self._arrays.table, self._arrays.shared, slots))
        self._places[self._arrays._fields.index("table")] = self._arrays.table.ctypes.data

    def begin(self, primes: tuple[int, ...]) -> None:
        """Begin to count modulo `RESIDUES` primes, or if there are none modulo 2^128."""
        arrays = self._arrays
        arrays.primes[:] = primes or 0
        self._sums[:], self._bounds[:] = 0, 0
        forget(arrays.table, arrays.shared)
        arrays.registers[:] = 0
        self.count((0, 0), 0, self._no_queue)
        self._stuck = self._longer = 0

    def count(self, first: tuple[int, int], budget: int, queue: np.ndarray) -> tuple[int, int]:
        """Count the roots of a range, then of ranges of a queue (`RootQueue.words`), in about so many steps.

        How many roots are counted, and the steps that it took; `left` is what is left of the last range.
        """
        registers, budget = self._arrays.registers, budget << self._longer
        self._call(first, budget, 0.0, queue, self._sums, self._bounds)
        roots, (begin, end) = int(registers[c.ROOTS]), self.left
        before, self._partial_sums = self._partial_sums, self._arrays.partial_sums.tobytes()
        self._stuck = 0 if roots or begin == end or before != self._partial_sums else self._stuck + 1
        if self._stuck == CALLS_BEFORE_LONGER:  # it may take a call of so few steps to come there again
            self._longer, self._stuck = self._longer + 1, 0
        return roots, budget - max(int(registers[c.STEPS]), 0)

    @property
    def left(self) -> tuple[int, int]:
        """What is left of the range that it counts, or has counted."""
        registers = self._arrays.registers
        return int(registers[c.POSITION]), int(registers[c.RANGE_END])

    def help(self, roots: tuple[int, int], budget: int) -> bool:
        """Fill the cache with what another counter needs, which counts the same roots at the same time.

        That counter goes through domains from their begin on, and finds what this one has met before it comes there.
        Whether there is more to do.
        """
        self._call(roots, budget, self.share, self._no_queue, *self._unused)
        begin, end = self.left
        return begin < end

    def _call(self, roots, budget, share, queue, sums, bounds):
        registers, vertices = self._arrays.registers, (1 << self._size) - 1
        registers[c.POSITION], registers[c.RANGE_END] = roots
        registers[c.SHIFT] = int(share * (1 << c.WHOLE_SHIFT))
        registers[c.MOST_COMBINATIONS], registers[c.LEAST_VERTICES] = self.eliminates
        self._count_roots(self._places, self._root, vertices, queue, sums, bounds, budget, self._pool)

    def end_turn(self) -> None:
        """Let the turn that another thread takes with this counter end soon; at the latest after its steps."""
        self._arrays.registers[c.STEPS] = 0

    @property
    def sum(self) -> tuple[list[int], float]:
        """The sum so far, by modulus, and its bound."""
        low, high = self._sums.tolist()
        residues = residues_of(low, high) if self._arrays.primes[0] else [low | high << 64]
        return residues, float(self._bounds[0])
