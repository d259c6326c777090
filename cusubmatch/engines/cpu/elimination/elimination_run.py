"""Running a count by variable elimination: as floats for a bound, then modulo as many numbers as that needs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np

from cusubmatch.engines.cpu.elimination.awaited_device import AwaitedDevice
from cusubmatch.engines.cpu.elimination.factor_store import MANY_WORDS, FactorStore
from cusubmatch.engines.cpu.elimination.quotient_sum import Conflicts, Costs, Quotients, sum_of_quotients
from cusubmatch.engines.cpu.primitives.jit import announced, is_compiled, preparation
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.engines.factors.arithmetic import FLOATS, WORDS, kinds_of
from cusubmatch.engines.factors.device_factors import MakeDeviceFactors
from cusubmatch.engines.factors.factor import WORD_BYTES
from cusubmatch.engines.runs import COPIED_S, RunOptions, StepsSpent
from cusubmatch.errors import DeadlinePassed
from cusubmatch.plan.candidate_graph import CandidateGraph
from cusubmatch.plan.crt import WORD, chinese_remainder, primes_beside_word
from cusubmatch.system.deadlines import flag_of_thread
from cusubmatch.system.device_claim import claim_of_thread
from cusubmatch.system.host_memory import available_memory

__all__ = ["EliminationRun", "compile_elimination"]

MEMORY_SHARE = 4  # of the memory that is left, factors may take one part of so many
MANY_STEPS = 1 << 10  # that threads do at the same time


class EliminationRun:
    """One count of the embeddings on a candidate graph.

    Parameters
    ----------
    local : CandidateGraph
    options : RunOptions
        The deadline; the count also ends when the flag of this thread says so (`system.deadlines`).
    tunables : Tunables

    Attributes
    ----------
    matches : None
        Nothing is known before the end.
    has_bound : bool
        Whether it knows the number of homomorphisms, about, which comes first.
    beside : bool
        Whether a core is free for it while the caller counts in another way.
    cost, max_cost : float
        Nanoseconds spent so far, about, and the most that may be spent.
    when_spent : callable
        Called when these are spent, until `max_cost` is higher; by default it raises `StepsSpent`.
    preparation : float
        Nanoseconds that it waits for a compiler before it begins, about.
    yields : bool
        Whether all cores but one are left to what else counts; it may be set at any time.
    device : callable, optional
        device(fields, kinds, check) begins to use a device for large factors. After the bound the claim of the thread
        that made this (`system.device_claim`) is set as long as it is used.
    """

    matches: int | None = None
    has_bound = yields = False
    device: MakeDeviceFactors | None = None

    def __init__(self, local: CandidateGraph, options: RunOptions, tunables: Tunables):
        self.local, self.deadline, self.threads = local, options.deadline, tunables.threads_for(MANY_STEPS)
        self.beside = self.threads > 1
        self.cost, self.max_cost = 0.0, float("inf")
        self.when_spent: Callable[[], None] = _stop
        self.preparation = preparation("elimination")
        required = local.constraints.required
        self._conflicts: Conflicts = frozenset(pair for pair in local.constraints.distinct if pair not in required)
        self._ended, self._claim = flag_of_thread(), claim_of_thread()
        self._device_at_s = time.monotonic() + COPIED_S  # until then it counts in another way

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
        compile_elimination()
        most_words = max(MANY_WORDS, available_memory() // (MEMORY_SHARE * WORD_BYTES))  # that factors take
        (bits,), costs = self._sum(np.array([FLOATS]), frozenset(), most_words)
        self.has_bound = True
        moduli = [WORD, *primes_beside_word(float(np.uint64(bits).view(np.float64)))]
        return chinese_remainder(self._sum(kinds_of(moduli), self._conflicts, most_words, costs).totals, moduli)

    def _sum(self, kinds: np.ndarray, conflicts: Conflicts, most_words: int, costs: Costs = ()) -> Quotients:
        """The sum over all maps that have the conflicts apart, in some kinds of arithmetic."""
        claim = self._claim if conflicts else threading.Event()  # what walks there goes on beside the bound
        device = AwaitedDevice(self.device, kinds, self._check, self._device_at_s, claim)
        how = self._spend, self._threads_now, self._ended, most_words, device
        store = FactorStore(len(self.local.candidates.masks), kinds, *how)
        try:
            return self._sum_of(store, conflicts, costs)
        finally:
            store.keep_only(())  # then the device has its memory back
            device.end()

    def _sum_of(self, store: FactorStore, conflicts: Conflicts, costs: Costs) -> Quotients:
        offsets, targets, _ = self.local.adjacency
        edges = [(u, w, relation) for (u, w), (relation,) in self.local.constraints.required.items() if u < w]
        arcs = [store.add_arcs(u, w, offsets[relation], targets) for u, w, relation in edges]
        return sum_of_quotients(store, arcs, len(self.local.constraints.labels), conflicts, costs)

    def _threads_now(self) -> int:
        by_turns = self.max_cost < float("inf")  # who waits for the next turn is one thread
        return 1 if by_turns or self.yields else self.threads

    def _spend(self, cost: float) -> None:
        self._check()
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
    """Have all that a count calls compiled, unless it has been: by small counts that do everything once."""
    if is_compiled("elimination"):
        return
    with announced("elimination"):
        for size in (2, 1 << 12):  # with a place for each key, and without
            offsets, targets = np.minimum(np.arange(size + 1) * 2, 4), np.array([0, 1, 0, 1], np.int32)
            store = FactorStore(size, np.array([WORDS]), lambda _: None)
            edges = [*combinations(range(4), 2), (0, 4), (1, 4), (0, 5), (0, 6), (2, 7), (3, 7)]
            arcs = [store.add_arcs(*edge, offsets, targets) for edge in edges]
            merged = store.merge(arcs[0], 0, 2)
            store.multiply(merged, store.keep_apart(merged, 1, 2))
            store.combine(merged, 1, merged, -1)
            store.look_at([store.costs.step(0, arcs)])
            sum_of_quotients(store, arcs, 8, frozenset({(4, 7), (5, 6)}))
