"""Running a count by variable elimination: as floats for a bound, then modulo as many numbers as that needs."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import combinations

import numpy as np

from cusubmatch.engines.base import RunOptions, StepsSpent
from cusubmatch.engines.cpu.elimination.arithmetic import FLOATS, WORDS
from cusubmatch.engines.cpu.elimination.factor_store import FactorStore
from cusubmatch.engines.cpu.elimination.quotient_sum import Conflicts, sum_of_quotients
from cusubmatch.engines.cpu.primitives.jit import announced, is_compiled, preparation
from cusubmatch.errors import DeadlinePassed
from cusubmatch.plan.candidate_graph import CandidateGraph
from cusubmatch.plan.crt import WORD, chinese_remainder, primes_beside_word
from cusubmatch.system.deadlines import flag_of_thread

__all__ = ["EliminationRun", "compile_elimination"]


class EliminationRun:
    """One count of the embeddings on a candidate graph.

    Parameters
    ----------
    local : CandidateGraph
    options : RunOptions
        The deadline; the count also ends when the flag of this thread says so (`system.deadlines`).
    beside : bool
        Whether a core is free for it.

    Attributes
    ----------
    matches : None
        Nothing is known before the end.
    cost, max_cost : float
        Nanoseconds spent so far, about, and the most that may be spent.
    when_spent : callable
        Called when these are spent, until `max_cost` is higher; by default it raises `StepsSpent`.
    preparation : float
        Nanoseconds that it waits for a compiler before it begins, about.
    """

    matches: int | None = None

    def __init__(self, local: CandidateGraph, options: RunOptions, beside: bool = False):
        self.local, self.deadline, self.beside = local, options.deadline, beside
        self.cost, self.max_cost = 0.0, float("inf")
        self.when_spent: Callable[[], None] = _stop
        self.preparation = preparation("elimination")
        required = local.constraints.required
        self._conflicts: Conflicts = frozenset(pair for pair in local.constraints.distinct if pair not in required)
        self._ended = flag_of_thread()
        self._stores: dict[int, tuple[FactorStore, list[int]]] = {}

    def count(self) -> int:
        """The number of embeddings."""
        return self.total()

    def total(self) -> int:
        """The number of embeddings; asked again after `StepsSpent`, it knows what was done.

        Raises
        ------
        DeadlinePassed
        StepsSpent
        """
        compile_elimination()
        bits = self._sum(FLOATS, WORD, frozenset())
        moduli = [WORD, *primes_beside_word(float(np.uint64(bits).view(np.float64)))]
        residues = [self._sum(WORDS if m == WORD else np.uint64(m), m, self._conflicts) for m in moduli]
        return chinese_remainder(residues, moduli)

    def _sum(self, arithmetic: np.uint64, modulus: int, conflicts: Conflicts) -> int:
        """The sum over all maps that have the conflicts apart, by one of the kinds of arithmetic."""
        if int(arithmetic) not in self._stores:
            self._stores[int(arithmetic)] = self._new_store(arithmetic)
        store, arcs = self._stores[int(arithmetic)]
        return sum_of_quotients(store, arcs, len(self.local.constraints.labels), conflicts, modulus)

    def _new_store(self, arithmetic: np.uint64) -> tuple[FactorStore, list[int]]:
        """A store with the factors of the pattern's edges, and their numbers."""
        store = FactorStore(len(self.local.candidates.masks), arithmetic, self._spend)
        offsets, targets, _ = self.local.adjacency
        edges = [(u, w, relation) for (u, w), (relation,) in self.local.constraints.required.items() if u < w]
        return store, [store.add_arcs(u, w, offsets[relation], targets) for u, w, relation in edges]

    def _spend(self, cost: float) -> None:
        self._check()
        if cost == float("inf"):  # the factors have become too large to go on
            raise StepsSpent
        while self.cost + cost > self.max_cost:
            self.when_spent()
            self._check()
        self.cost += cost

    def _check(self) -> None:
        if self._ended[0] or (self.deadline is not None and time.monotonic() > self.deadline):
            raise DeadlinePassed


def _stop() -> None:
    raise StepsSpent


def compile_elimination() -> None:
    """Have all that a count calls compiled, unless it has been: by a small count that does everything once."""
    if is_compiled("elimination"):
        return
    with announced("elimination"):
        store = FactorStore(2, WORDS, lambda _: None)
        offsets, targets = np.array([0, 2, 4]), np.array([0, 1, 0, 1], np.int32)
        edges = [*combinations(range(4), 2), (0, 4), (1, 4), (0, 5), (0, 6)]
        arcs = [store.add_arcs(*edge, offsets, targets) for edge in edges]
        sum_of_quotients(store, arcs, 7, frozenset({(5, 6)}), WORD)
