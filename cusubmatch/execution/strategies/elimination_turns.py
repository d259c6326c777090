"""Variable elimination in a thread of its own: by turns with the caller's thread, or beside it where a core is free.

A count that is stopped between two operations by waiting goes on without doing anything again. The caller gives it so
many nanoseconds and waits until they are spent; beside the caller it may spend any number, and the caller looks now and
then whether it is done.
"""

from __future__ import annotations

import math
import queue
import time

import numpy as np

from cusubmatch.engines.runs import EliminatedCount, StepsSpent
from cusubmatch.errors import DeadlinePassed
from cusubmatch.system.deadlines import SECONDS_BETWEEN_CHECKS, check_deadline, checking
from cusubmatch.system.prompt_threads import prompt_threads
from cusubmatch.system.workers import Workers

__all__ = ["EliminationIsDoneError", "EliminationTurns"]


class EliminationIsDoneError(Exception):
    """The count beside the caller's is done."""


class EliminationTurns:
    """One count by elimination; end it.

    Parameters
    ----------
    count : EliminatedCount
    flag : int64 (1)
        What ends the count when it is not 0.

    Attributes
    ----------
    total : int or None
        The number of embeddings, once it is known.
    """

    def __init__(self, count: EliminatedCount, flag: np.ndarray):
        self.count, self.flag, self.total = count, flag, None  # type: EliminatedCount, np.ndarray, int | None
        self._workers, self._error = Workers(), None  # type: Workers, BaseException | None
        self._turn, self._back = queue.SimpleQueue(), queue.SimpleQueue()  # type: queue.SimpleQueue, queue.SimpleQueue
        self._begun = self._over = False
        self._begun_s: float | None = None
        count.when_spent = self._wait_for_turn

    @property
    def goes_beside(self) -> bool:
        """Whether a core is free for it, and it need not be compiled."""
        return self.count.beside and self.count.preparation == 0.0

    @property
    def seconds_beside(self) -> float:
        """Since when it goes on beside the caller; 0 if it does not, or has ended."""
        return 0.0 if self._over or self._begun_s is None else time.monotonic() - self._begun_s

    @property
    def has_bound(self) -> bool:
        """Whether it goes on, and knows its bound."""
        return not self._over and self.count.has_bound

    def take(self, nanoseconds: float) -> int | None:
        """Let it spend so many nanoseconds in all, and wait; the total if it is known then."""
        if nanoseconds >= self.count.preparation and not self._over:
            self._go_on(nanoseconds)
            self._wait()
            self._raise_error()
        return self.total

    def begin(self) -> None:
        """Let it go on beside the caller for as long as it takes."""
        if not self._begun:
            self._begun_s = time.monotonic()
            self._go_on(math.inf)

    def check(self) -> None:
        """Raise if the total is known, or if the count has failed."""
        self._raise_error()
        if self.total is not None:
            raise EliminationIsDoneError

    def end(self) -> None:
        """Let the thread return, and wait for it."""
        self.flag[0] = 1
        self._turn.put(None)
        self._workers.end()

    def _go_on(self, nanoseconds: float) -> None:
        self.count.max_cost = nanoseconds
        if self._begun:
            self._turn.put(None)
        else:
            self._begun = True
            self._workers.start(self._work)

    def _work(self) -> None:
        try:
            with prompt_threads(), checking(self._check_flag):
                self.total = self.count.total()
        except (StepsSpent, DeadlinePassed, MemoryError):  # another way may still do
            pass
        except BaseException as error:  # noqa: BLE001 - raised by the caller's thread
            self._error = error
        finally:
            self._over = True
            self._back.put(None)

    def _check_flag(self) -> None:
        """What the thread of the count checks while it waits for a compiler."""
        if self.flag[0]:
            raise DeadlinePassed

    def _wait_for_turn(self) -> None:
        """Wait, in the thread of the count, until more may be spent."""
        self._back.put(None)
        self._turn.get()

    def _wait(self) -> None:
        """Wait, in the caller's thread, until the turn is over."""
        while True:
            try:
                self._back.get(timeout=SECONDS_BETWEEN_CHECKS)
            except queue.Empty:
                check_deadline()
            else:
                return

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error
