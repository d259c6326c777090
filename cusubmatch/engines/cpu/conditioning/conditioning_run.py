"""Running a count by recursive conditioning: turns of bounded length, in threads, until all roots are counted.

The caller's thread works alone at first, which tells about how long the rest takes. Others join it as that is worth
more threads, and the roots are divided among them (`root_queue`). Threads that find no root any more go through one
that another thread counts, in another order: each finds in the cache what the other has met.

Between its turns the caller's thread tells how far the count is. Whoever hears of it may do something else meanwhile,
while the other threads count, or end the count by an exception; asked again, it goes on where it was.

A count is first made modulo 2^128, with a bound. Where the bound shows that more bits are needed, it is right modulo
2^64, and is made again modulo as many primes as these take, four at the same time.
"""

from __future__ import annotations

import functools
import math
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from cusubmatch.engines.cpu.conditioning.count_arithmetic import EXACT_BELOW, RESIDUES
from cusubmatch.engines.cpu.conditioning.initial_arrays import initial_arrays
from cusubmatch.engines.cpu.conditioning.root_counter import RootCounter
from cusubmatch.engines.cpu.conditioning.root_order import put_longest_first
from cusubmatch.engines.cpu.conditioning.root_queue import RootQueue
from cusubmatch.engines.cpu.conditioning.two_ways import TwoWays
from cusubmatch.engines.cpu.primitives.jit import announced
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.engines.runs import ConditionedCount, RunOptions, TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.plan.candidate_graph import CandidateGraph
from cusubmatch.plan.crt import PRIMES, WORD, chinese_remainder, primes_beside_word
from cusubmatch.system.deadlines import flag_of_thread
from cusubmatch.system.prompt_threads import prompt_threads
from cusubmatch.system.workers import Workers

__all__ = ["ConditioningRun"]

RANGES_OF_A_THREAD = 8, 32  # that the roots are divided into, about: at the least, and at the most
MANY_STEPS = 1 << 20  # that are expected where nothing is known
TURNS_SO_FAR = 512  # at the most, as if all had been as long as the next: the interpreter is asked for less often
FIRST_TURN, LONGEST_TURN = 1 << 11, 1 << 17  # steps
TURNS_BESIDE = 4  # of the caller's in one of another thread, which need not look around
YIELDING_PART = 4  # of the threads that count, where it yields
LEAST_LEFT = 0.25  # of the time spent, as long as roots are left
HELP_PART = 4  # of a turn that a helper takes, at the most
HELP_AFTER_S = 0.001  # that a turn has lasted; a short one ends sooner than another thread is of use
STEPS_OF_A_RANGE = 256  # or more where that are enough ranges: what is counted next to each other shares what is met


class _Turn(NamedTuple):
    """A turn of a counter: since when it goes on, and the counters that fill the cache for it."""

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

    Attributes
    ----------
    matches : None
        Nothing is known before the end.
    steps : int
        Candidates tried so far, about.
    threads : int
        That count, about.
    yields : bool
        Whether most of the cores are left to what else counts; it may be set at any time.
    between_turns : callable or None
        Called with this count by the thread that counts, after each of its turns, until all is counted modulo 2^128.
    """

    matches: int | None = None
    yields = False
    between_turns: Callable[[ConditionedCount], None] | None = None

    def __init__(self, local: CandidateGraph, options: RunOptions, tasks: TaskRange | None, tunables: Tunables):
        self.local, self.deadline, self.progress, self.tunables = local, options.deadline, options.progress, tunables
        self.steps, self.threads = 0, 1
        self._steps_before = 0  # of counts modulo other numbers
        self._primes: tuple[int, ...] | None = None
        self._ended = flag_of_thread()
        threads = tunables.threads_for(MANY_STEPS)
        root, arrays, self._pools, self._multiple = initial_arrays(local, tunables, self._ended, threads)
        roots = len(arrays.roots)
        self.tasks = tasks or TaskRange(0, roots)
        put_longest_first(local, root, arrays.roots[self.tasks.begin : self.tasks.end])
        first = RootCounter(arrays, root, len(local.constraints.labels), self._pools[0])
        self._counters = {0: first}  # of each thread that has counted
        self._ways = TwoWays(tunables, len(self._pools))
        self._queue = RootQueue(0, 0)
        self._last_turn, self._turns_s = (1, 0.0), 0.0  # its roots and seconds; seconds of all turns
        self._turns: dict[RootCounter, _Turn] = {}  # of the counters that count just now
        self._lock = threading.Lock()
        self._counting, self._all_counted = threading.Lock(), True  # the lock is held until all is counted

    def count(self) -> int:
        """The number of embeddings."""
        return self.total()

    def total(self) -> int:
        """The number of embeddings.

        Raises
        ------
        DeadlinePassed
        """
        (value,), bound = self._count(())
        if bound < EXACT_BELOW:
            return self._multiple * value
        residues, moduli = [value % WORD], [WORD]
        for first in range(0, len(primes_beside_word(bound)), RESIDUES):
            primes = PRIMES[first : first + RESIDUES]
            residues += self._count(primes)[0]
            moduli += primes
        return self._multiple * chinese_remainder(residues, moduli)

    def _count(self, primes: tuple[int, ...]) -> tuple[list[int], float]:
        """The count modulo primes (none: modulo 2^128) and its bound; goes on where an earlier call has ended."""
        if self._primes != primes:
            self._counters = {0: self._counters[0]}
            with announced(self._counters[0].part):
                self._counters[0].begin(primes)
            self._primes, self._queue = primes, RootQueue(self.tasks.begin, self.tasks.end)
            self._last_turn = max(self._queue.roots, 1), self._turns_s
            self._steps_before = self.steps
            self._take_turn(self._counters[0], self._steps_of_turn)  # alone: most counts end here
            self._report()
        while self._queue.roots:
            self._take_turns()
            self._check()
        sums, bounds = zip(*(counter.sum for counter in self._counters.values()), strict=True)
        moduli = primes or (1 << 128,)
        return [sum(some) % modulus for modulus, *some in zip(moduli, *sums, strict=True)], sum(bounds)

    @property
    def steps_left(self) -> int:
        """About how many steps are to be taken, from those of the roots so far."""
        left = self._queue.roots
        begun, steps = self.tasks.end - self.tasks.begin - left, self.steps - self._steps_before
        return steps * left // begun if begun else max(MANY_STEPS, steps)

    def _seconds_left(self) -> float:
        """About how many seconds the rest takes one thread; at the least a part of those spent: few may take long."""
        (roots, seconds), left = self._last_turn, self._queue.roots
        if not roots:
            return math.inf  # one of the roots takes long
        return max(seconds * left / roots, LEAST_LEFT * self._turns_s) if left else 0.0

    def _take_turns(self) -> None:
        """Count, in threads, until all is counted, or the count has to end."""
        workers, self._counting, self._all_counted = Workers(), threading.Lock(), False
        self._counting.acquire()
        working: set[int] = set()  # numbers of threads; one that is to yield goes on for a while

        def work(number: int) -> None:
            with prompt_threads():
                counter = self._counter(number)
                while (
                    number < self._most_threads
                    and not workers.stopped
                    and not self._is_due
                    and self._count_or_help(counter, TURNS_BESIDE)
                ):
                    pass
            working.discard(number)

        def let_work(first: int, end: int) -> None:
            self._divide(end)
            new = [number for number in range(first, end) if number not in working]
            working.update(new)
            workers.start(*(functools.partial(work, number) for number in new))

        try:
            let_work(1, self.threads)
            while not workers.stopped and not self._is_due and self._count_or_help(self._counters[0]):
                self._report()
                before = min(self.threads, self._most_threads)
                self.threads = max(before, self._threads_worth())
                self._make_room()
                if before < self.threads:
                    let_work(before, self.threads)
            self._end_turns()
            while not workers.wait():
                self._report()
        finally:
            workers.stopped = True  # before a step in which an interrupt may arrive
            self._end_turns()
            workers.end()
        if workers.error is not None:
            raise workers.error

    def _make_room(self) -> None:
        """Let the cache be large where it needs to be, before threads share it."""
        first, slots = self._counters[0], self.tunables.conditioning_slots
        if first.cache_slots < slots and (self.threads > 1 or (first.cache_is_full and self._queue.roots)):
            first.make_room(slots)

    def _counter(self, number: int) -> RootCounter:
        """The counter of a thread, made if it is not there."""
        counter = self._counters.get(number)
        if counter is None:
            counter = self._counters[number] = self._counters[0].another(self._pools[number], number)
        return counter

    def _threads_worth(self) -> int:
        """How many threads what is left is worth; they become more as time is spent."""
        settings = self.tunables
        if self._turns_s < settings.alone_conditioning_s:
            return 1
        more = min(
            self._seconds_left() / settings.seconds_worth_a_thread, self._turns_s / settings.seconds_before_a_thread
        )
        return int(min(self._most_threads, more + 1.0))

    @property
    def _most_threads(self) -> int:
        return -(-len(self._pools) // YIELDING_PART) if self.yields else len(self._pools)

    def _divide(self, threads: int) -> None:
        """Divide what is pending into ranges for so many threads."""
        if threads > 1:
            least, most = (threads * ranges for ranges in RANGES_OF_A_THREAD)
            self._queue.divide(min(max(self.steps_left // STEPS_OF_A_RANGE, least), most))

    @property
    def _steps_of_turn(self) -> int:
        least = min(self.tunables.conditioning_steps, max(self.steps, FIRST_TURN))
        return max(least, min(self.steps // TURNS_SO_FAR, LONGEST_TURN))

    def _count_or_help(self, counter: RootCounter, turns: int = 1) -> bool:
        """Count what no thread counts, or help one that does, for a turn or several; False if all is counted."""
        budget = turns * self._steps_of_turn
        return self._take_turn(counter, budget) or self._help(counter, budget // HELP_PART)

    def _take_turn(self, counter: RootCounter, budget: int) -> bool:
        """Count from the queue, if it has roots, for so many steps; what is left of a range is put back."""
        if not self._queue.roots:
            return False
        counter.eliminates = self._ways.next_turn(self.steps, counter.number)
        with self._lock:
            turn = self._turns[counter] = _Turn(time.monotonic(), [])
        roots, steps = counter.count(self._queue.take_back(), budget, self._queue.words)
        seconds = time.monotonic() - turn.begun_s
        self._queue.put_back(*counter.left)
        with self._lock:
            del self._turns[counter]
            self.steps += steps
            if steps:  # other threads may have been the first
                self._last_turn = roots, seconds
                self._turns_s += seconds
            for helper in turn.helpers:
                helper.end_turn()
            if not (self._turns or self._queue.roots or self._all_counted):
                self._all_counted = True
                self._counting.release()
        return True

    def _end_turns(self) -> None:
        """Let the turns of all threads end soon."""
        for counter in list(self._turns):
            counter.end_turn()

    def _help(self, counter: RootCounter, budget: int) -> bool:
        """Fill the cache for the turn that has the fewest helpers, or wait; False if no counter has one."""
        with self._lock:
            if not self._turns:
                return False
            counting, turn = min(self._turns.items(), key=lambda item: len(item[1].helpers))
            roots = counting.left
            helps = time.monotonic() - turn.begun_s > HELP_AFTER_S and roots[0] < roots[1]
            if helps:
                turn.helpers.append(counter)
        if helps:
            counter.eliminates = self._ways.next_turn(self.steps, counter.number)
            helps = counter.help(roots, budget)
            with self._lock:
                turn.helpers.remove(counter)
        # Who looks again at once takes the interpreter from those that count.
        if not helps and self._counting.acquire(timeout=HELP_AFTER_S):
            self._counting.release()
        return True

    @property
    def _is_due(self) -> bool:
        """Whether the count has to end."""
        return bool(self._ended[0]) or (self.deadline is not None and time.monotonic() > self.deadline)

    def _check(self) -> None:
        if self._is_due and self._queue.roots:
            raise DeadlinePassed

    def _report(self) -> None:
        """Tell how far the count is, unless it is at its end."""
        left = self._queue.roots
        if not left and not self._turns:
            return
        if self.progress is not None:
            self.progress(1.0 - left / max(self.tasks.end - self.tasks.begin, 1), 0)
        if self.between_turns is not None and not self._primes:
            self.between_turns(self)
