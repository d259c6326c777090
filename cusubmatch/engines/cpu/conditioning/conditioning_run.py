"""Running a count by recursive conditioning: turns of bounded length, in threads, until all roots are counted.

The caller's thread works alone at first, which tells about how long the rest takes. Where that is worth more threads,
the roots are divided among them (`root_counter`). Threads that find no root any more go through one that another thread
counts, in another order: each finds in the cache what the other has met.

A count is first made modulo 2^64, with a bound. Where the bound shows that more bits are needed, it is made again
modulo as many primes as these take.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.base import RunOptions, StepsSpent, TaskRange
from cusubmatch.engines.cpu.conditioning.component_cache import SLOT_WORDS, empty_table
from cusubmatch.engines.cpu.conditioning.initial_arrays import initial_arrays
from cusubmatch.engines.cpu.conditioning.root_counter import RootCounter
from cusubmatch.engines.cpu.conditioning.solve import EXACT_BELOW
from cusubmatch.engines.cpu.primitives.jit import announced
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.errors import DeadlinePassed
from cusubmatch.plan.candidate_graph import CandidateGraph
from cusubmatch.plan.crt import WORD, chinese_remainder, primes_beside_word
from cusubmatch.system.deadlines import flag_of_thread
from cusubmatch.system.workers import Workers

__all__ = ["ConditioningRun"]

RANGES_OF_A_THREAD = 8  # that the roots are divided into, about
SHARED_SLOTS = 1 << 14, 1 << 17  # of the cache that threads share at first; later it has
SLOTS_OF_AN_ENTRY = 2  # when it is enlarged
MANY_STEPS = 1 << 20  # that are expected where one root takes more than a turn
HELP_PART = 4  # of a turn that a helper takes, at the most
HELP_AFTER_S = 0.001  # that a turn has lasted; a short one ends sooner than another thread is of use
GOLDEN_RATIO = 0.5 * (5**0.5 - 1.0)  # its multiples, modulo 1, are far from each other
STEPS_OF_A_START = 1 << 13  # that are taken in the time that threads are started in, about
STEPS_OF_A_RANGE = 1024  # at the least, about: less is done sooner than it is handed out
NO_SLOTS = np.empty((0, SLOT_WORDS), np.uint64)


class _Turn(NamedTuple):
    """The range of roots that a thread counts, since when, and the counters that fill the cache for it."""

    begin: int
    end: int
    begun_s: float
    helpers: list[RootCounter]


class ConditioningRun:
    """One count of the embeddings on a candidate graph.

    Parameters
    ----------
    local : CandidateGraph
    options : RunOptions
        The deadline and the progress callback; the count also ends when the flag of this thread says so
        (`system.deadlines`).
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
    successive_steps : float
        Steps that were taken one after the other: those of threads at the same time count once, about.
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
        self.steps, self.max_steps, self.successive_steps = 0, max_steps, 0.0
        self._prime: int | None = None
        self._ended = flag_of_thread()
        root, arrays, self._pools = initial_arrays(local, tunables, self._ended, tunables.threads_for(MANY_STEPS))
        roots = len(arrays.roots)
        self.tasks = tasks or TaskRange(0, roots)
        self._counters = [RootCounter(arrays, root, len(local.constraints.labels), self._pools[0])]
        self._pending: list[tuple[int, int]] = []  # ranges of roots, the next one last
        self._roots_of_turn, self._steps_of_turn = 1, 0  # of the last turn
        self._slots = 0  # of the cache that the threads share, if there is one
        self._former = NO_SLOTS  # of the cache before it, whose entries are to be put into it
        self._turns: dict[RootCounter, _Turn] = {}  # of the counters that count just now
        self._lock = threading.Lock()

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
        primes = primes_beside_word(bound)
        return chinese_remainder([value, *(self._count(prime)[0] for prime in primes)], [WORD, *primes])

    def _count(self, prime: int) -> tuple[int, float]:
        """The count modulo a prime, or 2^64, and its bound; goes on where an earlier call has ended."""
        if self._prime != prime:
            del self._counters[1:]
            with announced(self._counters[0].part):
                self._counters[0].begin(prime)
            self._prime, self._pending = prime, [(self.tasks.begin, self.tasks.end)]
            self._roots_of_turn, self._steps_of_turn, self._slots, self._former = 1, 0, 0, NO_SLOTS
        while self._pending:
            left, most = self._steps_left(), len(self._pools)
            threads, before = min(most, left // self.tunables.steps_worth_a_thread + 1), self.steps
            if before < self.tunables.alone_conditioning_steps:
                threads = 1
            if self._cache_is_small and (threads > 1 or self._slots):
                self._enlarge_cache(left)
            if threads > 1:
                self._count_in_threads(threads, left)
            else:
                self._counters[0].refill(self._taken_from_former())
                self._take_turn(self._counters[0], self.tunables.conditioning_steps)
            self.successive_steps += (self.steps - before) / threads + (STEPS_OF_A_START if threads > 1 else 0)
            self._check()
        sums, bounds = zip(*(counter.sum for counter in self._counters), strict=True)
        return sum(sums) % (prime or 1 << 64), sum(bounds)

    @property
    def _roots_left(self) -> int:
        return sum(end - begin for begin, end in list(self._pending))

    def _steps_left(self) -> int:
        """About how many steps are to be taken, from those of the last turn; 0 if there was none."""
        left = MANY_STEPS  # if one of the roots takes long
        if self._roots_of_turn:
            left = self._steps_of_turn * self._roots_left // self._roots_of_turn
        return left if self.max_steps is None or self._prime else min(left, max(self.max_steps - self.steps, 0))

    def _count_in_threads(self, threads: int, left: int) -> None:
        """Count all that is pending, about so many steps, or until it has to end."""
        parts = min(max(left // STEPS_OF_A_RANGE, threads), threads * RANGES_OF_A_THREAD)
        self._pending = list(_divided(self._pending, parts))
        workers, steps = Workers(), self.tunables.conditioning_steps

        shares = np.array_split(self._taken_from_former(), threads)

        def work(counter: RootCounter) -> None:
            counter.refill(shares.pop())
            while not workers.stopped and not self._is_interrupted and self._count_or_help(counter, steps):
                pass

        for number in range(len(self._counters), threads):
            self._counters.append(self._counters[0].another(self._pools[number]))
        try:
            workers.start(*(functools.partial(work, counter) for counter in self._counters[1:threads]))
            self._counters[0].refill(shares.pop())
            while not self._is_interrupted and self._count_or_help(self._counters[0], steps):
                self._report()
            while not workers.wait():
                self._report()
        finally:
            workers.end()
        if workers.error is not None:
            raise workers.error

    @property
    def _cache_is_small(self) -> bool:
        """Whether the cache that threads share is half full or not there, and may be larger."""
        slots = self._slots
        return slots < self.tunables.conditioning_slots and 2 * self._entries >= slots

    @property
    def _entries(self) -> int:
        return sum(counter.entries for counter in list(self._counters))

    def _enlarge_cache(self, left: int) -> None:
        """Give all threads a larger cache: for about so many steps to come, or a multiple of what is known.

        It is empty: the threads put what was known into it before they go on.
        """
        least, most = SHARED_SLOTS
        wanted = max(min(left, most), SLOTS_OF_AN_ENTRY * self._entries, least)
        self._slots = min(1 << wanted.bit_length(), self.tunables.conditioning_slots)
        self._former, table = self._counters[0].cached, empty_table(self._slots)
        for counter in self._counters:
            counter.use(table)

    def _taken_from_former(self) -> np.ndarray:
        """The slots of the cache before, to be put into that of now, once."""
        slots, self._former = self._former, NO_SLOTS
        return slots

    def _count_or_help(self, counter: RootCounter, budget: int) -> bool:
        """Count from a pending range, or help one that does; False if all is counted."""
        return self._take_turn(counter, budget) or self._help(counter, budget // HELP_PART)

    def _take_turn(self, counter: RootCounter, budget: int) -> bool:
        """Count from a pending range, if there is one, for so many steps; what is left of it is pending again."""
        with self._lock:
            if not self._pending:
                return False
            begin, end = self._pending.pop()
            turn = self._turns[counter] = _Turn(begin, end, time.monotonic(), [])
        position, steps = counter.count(begin, end, budget)
        with self._lock:
            del self._turns[counter]
            self.steps += steps
            self._roots_of_turn, self._steps_of_turn = position - begin, steps
            if position < end:
                self._pending.append((position, end))
            for helper in turn.helpers:
                helper.end_turn()
        return True

    def _help(self, counter: RootCounter, budget: int) -> bool:
        """Fill the cache for the turn that has the fewest helpers, or wait; False if no counter has one."""
        with self._lock:
            turn = min(self._turns.values(), key=lambda turn: len(turn.helpers), default=None)
            if turn is None:
                return False
            too_soon_s = turn.begun_s + HELP_AFTER_S - time.monotonic()
            if too_soon_s <= 0:
                turn.helpers.append(counter)
            share = len(turn.helpers) * GOLDEN_RATIO % 1.0
        if too_soon_s > 0:
            time.sleep(too_soon_s)
            return True
        counter.help(turn.begin, turn.end, budget, share)
        with self._lock:
            turn.helpers.remove(counter)
        return True

    @property
    def _is_interrupted(self) -> bool:
        """Whether threads are to return before all is counted: to end, or for a larger cache."""
        return self._is_due or self._cache_is_small

    @property
    def _is_late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    @property
    def _is_spent(self) -> bool:
        return self.max_steps is not None and self.steps > self.max_steps and not self._prime

    @property
    def _is_due(self) -> bool:
        """Whether the count has to end."""
        return self._is_late or self._is_spent or bool(self._ended[0])

    def _check(self) -> None:
        if self._pending and (self._is_late or self._ended[0]):
            raise DeadlinePassed
        if self._pending and self._is_spent:
            raise StepsSpent
        self._report()

    def _report(self) -> None:
        if self.progress is not None:
            self.progress(1.0 - self._roots_left / max(self.tasks.end - self.tasks.begin, 1), 0)


def _divided(ranges: Sequence[tuple[int, int]], parts: int) -> Iterator[tuple[int, int]]:
    """The same numbers in about so many ranges, or one more for each."""
    step = max(sum(end - begin for begin, end in ranges) // parts, 1)
    for begin, end in ranges:
        for first in range(begin, end, step):
            yield first, min(first + step, end)
