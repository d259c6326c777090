"""Running a count by recursive conditioning: its arrays, and calls of bounded length until all roots are counted.

A count is first made modulo 2^64, with a bound. Where the bound shows that more bits are needed, it is made again
modulo as many primes as it takes.
"""

from __future__ import annotations

import time

import numpy as np

from cusubmatch.engines.base import RunOptions, StepsSpent, TaskRange
from cusubmatch.engines.cpu.candidates.lists import candidate_lists
from cusubmatch.engines.cpu.conditioning import state as c
from cusubmatch.engines.cpu.conditioning.component_cache import SLOT_WORDS
from cusubmatch.engines.cpu.conditioning.elimination_order import branching_order
from cusubmatch.engines.cpu.conditioning.solve import EXACT_BELOW, count_roots
from cusubmatch.engines.cpu.primitives.jit import announced, jit
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.errors import DeadlinePassed
from cusubmatch.plan.candidate_graph import CandidateGraph
from cusubmatch.plan.crt import chinese_remainder, primes_beyond

__all__ = ["ConditioningRun", "number_of_roots"]

FIRST_SLOTS = 1 << 10  # of the cache
CALLS_BEFORE_LONGER = 16  # without a root counted


class ConditioningRun:
    """One count of the embeddings on a candidate graph.

    Parameters
    ----------
    local : CandidateGraph
    options : RunOptions
        The deadline and the progress callback.
    tasks : TaskRange, optional
        A range of the roots, the candidates of the vertex that is branched on first.
    tunables : Tunables
    max_steps : int or None
        After so many steps the count stops; it may be asked to go on with more.

    Attributes
    ----------
    matches : None
        Nothing is known before the end.
    steps, max_steps : int
        Candidates tried so far, about, and the most that may be tried.
    """

    matches: int | None = None

    def __init__(
        self,
        local: CandidateGraph,
        options: RunOptions,
        tasks: TaskRange | None,
        tunables: Tunables,
        max_steps: int | None = None,
    ):
        self.local, self.deadline, self.progress, self.tunables = local, options.deadline, options.progress, tunables
        self.steps, self.max_steps = 0, max_steps
        self._prime: int | None = None
        self.size = len(local.constraints.labels)
        self.root, self._arrays, self._pool_begin = _arrays(local, tunables)
        roots = int(self._arrays.list_end[self.root] - self._arrays.list_begin[self.root])
        self.tasks = tasks or TaskRange(0, roots)

    def count(self) -> int:
        """The number of embeddings."""
        return self.total()

    def total(self) -> int:
        """The number of embeddings.

        Raises
        ------
        DeadlinePassed
        StepsSpent
        """
        value, bound = self._count(0)
        if bound < EXACT_BELOW:
            return value
        primes = primes_beyond(int(bound * (1 + 1e-6)) + 1)
        return chinese_remainder([self._count(prime)[0] for prime in primes], primes)

    def _begin(self, prime: int) -> None:
        """Begin to count modulo a prime, or 2^64."""
        self._arrays = arrays = self._arrays._replace(prime=np.uint64(prime))
        self._prime, self._sums, self._bounds = prime, np.zeros(1, np.uint64), np.zeros(1)
        arrays.table[: SLOT_WORDS * (int(arrays.registers[c.TABLE_MASK]) + 1)] = 0
        arrays.registers[:] = 0
        arrays.registers[c.TABLE_MASK] = FIRST_SLOTS - 1
        arrays.registers[c.CAPACITY_MASK] = len(arrays.table) // SLOT_WORDS - 1
        with announced("conditioning"):
            self._go_on(0, 0)
        arrays.registers[c.POSITION] = self.tasks.begin

    def _go_on(self, end: int, budget: int) -> bool:
        vertices = (1 << self.size) - 1
        return count_roots(self._arrays, self.root, vertices, end, self._sums, self._bounds, budget, self._pool_begin)

    def _count(self, prime: int) -> tuple[int, float]:
        """The count modulo a prime, or 2^64, and its bound; goes on where an earlier call has ended."""
        if self._prime != prime:
            self._begin(prime)
        registers, begin, end = self._arrays.registers, self.tasks.begin, self.tasks.end
        budget, stuck = self.tunables.conditioning_steps, 0
        while True:
            position = int(registers[c.POSITION])
            done = self._go_on(end, budget)
            self.steps += budget - max(int(registers[c.STEPS]), 0)
            if done:
                return int(self._sums[0]), float(self._bounds[0])
            stuck = stuck + 1 if int(registers[c.POSITION]) == position else 0
            if stuck == CALLS_BEFORE_LONGER:  # more may be forgotten in a call than is found
                budget, stuck = 2 * budget, 0
            self._check((position - begin) / max(end - begin, 1))

    def _check(self, done: float) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise DeadlinePassed
        if self.max_steps is not None and self.steps > self.max_steps and not self._prime:
            raise StepsSpent
        if self.progress is not None:
            self.progress(done, 0)


def number_of_roots(local: CandidateGraph) -> int:
    """The number of candidates of the vertex that is branched on first."""
    return len(local.candidates.of(_order(local)[0]))


def _order(local: CandidateGraph) -> list[int]:
    return branching_order(_neighbours(local), local.candidates.cardinalities.sizes)


def _neighbours(local: CandidateGraph) -> list[int]:
    size, required = len(local.constraints.labels), local.constraints.required
    neighbours = [0] * size
    for u, w in required:
        neighbours[u] |= 1 << w
    return neighbours


def _arrays(local: CandidateGraph, tunables: Tunables) -> tuple[int, c.Arrays, int]:
    """The vertex that is branched on first, the arrays, and where the pool begins in the store."""
    size, n = len(local.constraints.labels), c.MAX_VERTICES
    offsets, rows, _ = local.adjacency
    masks = local.candidates.masks
    neighbours = np.zeros(n, np.int64)
    neighbours[:size] = _neighbours(local)
    conflicts = np.zeros(n, np.int64)
    for u, w in local.constraints.distinct:
        if not int(neighbours[u]) >> w & 1:
            conflicts[u] |= 1 << w
            conflicts[w] |= 1 << u
    relations = np.zeros(n * n, np.int32)
    for (u, w), (relation,) in local.constraints.required.items():
        relations[n * u + w] = relation
    order = branching_order(neighbours[:size].tolist(), local.candidates.cardinalities.sizes)
    priority = np.zeros(n, np.int64)
    priority[order] = np.arange(size)
    lists, begins = candidate_lists(masks, size)
    list_begin, list_end = np.zeros((2, n), np.int64)
    list_begin[:size], list_end[:size] = begins[:-1] + len(rows), begins[1:] + len(rows)
    longest = int(np.diff(offsets, axis=1).max(initial=0))
    pool = len(rows) + len(lists)
    store = np.empty(pool + size * size * longest + size * (len(masks) + 1) + 1, np.int32)
    store[: len(rows)], store[len(rows) : pool] = rows, lists
    random = np.random.default_rng(20)
    words = random.integers(0, 1 << 64, (2, len(masks) + 1), np.uint64)
    prefix = np.zeros((2, len(rows) + 1), np.uint64)
    _add_words(rows, words, prefix)
    table = np.zeros(SLOT_WORDS * tunables.conditioning_slots, np.uint64)
    registers = np.zeros(c.REGISTERS, np.int64)
    arrays = c.Arrays(
        neighbours,
        conflicts,
        conflicts.copy(),
        relations,
        offsets.ravel(),
        store,
        prefix[0],
        prefix[1],
        masks,
        words[0],
        words[1],
        list_begin,
        list_end,
        priority,
        random.integers(0, 1 << 64, 6 * n, np.uint64) | np.uint64(1),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.uint64),
        np.zeros(n, np.uint64),
        np.zeros(n, np.int64),
        np.zeros(4 * 2 * n * n, np.int64),
        np.zeros(2 * 2 * n * n, np.uint64),
        np.zeros((len(masks) >> 5) + 1, np.uint32),
        registers,
        table,
        table.view(np.float64),
        offsets.shape[1],
        np.uint64(0),
    )
    return order[0], arrays, pool


@jit
def _add_words(rows, words, prefix):
    """Sum the two words of each element up to each place."""
    first, second = np.uint64(0), np.uint64(0)
    for i in range(len(rows)):
        first += words[0, rows[i]]
        second += words[1, rows[i]]
        prefix[0, i + 1], prefix[1, i + 1] = first, second
