"""Two ways of a long count: by conditioning alone, and with components that are eliminated.

Which one suits a root is not known beforehand, so each thread takes turns of both. What one way has found of a root is
in the cache, for the other one as well, and no root takes more than about twice the time of the better way.
"""

from __future__ import annotations

from collections import Counter

from cusubmatch.engines.cpu.tunables import Tunables

__all__ = ["TwoWays"]

MANY = 4  # threads; where there are fewer each takes as many steps before it tries the second way


class TwoWays:
    """Which way each thread goes.

    Parameters
    ----------
    settings : Tunables
    threads : int
        That there may be.
    """

    def __init__(self, settings: Tunables, threads: int):
        self._settings = settings
        self._steps_before = settings.steps_before_elimination * max(MANY // threads, 1)
        self._turns: Counter[int] = Counter()  # of each thread

    def next_turn(self, steps: int, number: int) -> tuple[int, int]:
        """As `RootCounter.eliminates`, after so many steps, for the next turn of a thread, by its number."""
        if steps >= self._steps_before:
            self._turns[number] += 1
        goes_second = (self._turns[number] + number) % 2 == 1 and self._turns[number] > 0
        return self._settings.most_combinations if goes_second else 0, self._settings.min_eliminated_vertices
