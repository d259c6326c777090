"""A uniform sample of the rows of matches, each of which has many, while the matches are walked and no row is made.

Each row has a random number, and those with the least are the sample (bottom-k sampling, as in `random_choice.py`). A
match with w rows has w exponential variables; their least, next and so on are made one after the other (Renyi, "On the
theory of order statistics", 1953: the gaps are exponential variables divided by w, w - 1, ...), and no further than the
sample goes. Which of its rows a number belongs to is drawn in the end. All is a function of a key and of the match, so
the sample does not depend on the order in which threads find matches.
"""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np

from cusubmatch.execution.row_walks.random_choice import hashed, mixed

__all__ = ["ChosenRow", "RowChoice"]

VALUES_AT_ONCE = 1 << 16  # random numbers that are made in one step
EXACT_MODULO = 1 << 32  # below it a 64-bit hash modulo a number is as good as uniform
LARGEST_RANGE = 1 << 62


class ChosenRow(NamedTuple):
    """Rows of the sample that belong to matches of one of several patterns.

    Attributes
    ----------
    places : int array (rows,)
        Where they stand in the sample.
    matches : array (pattern vertices and more, matches)
        Each once.
    of : int array (rows,)
        The match of each row, ascending.
    numbers : int64 or object array (rows,)
        Which of its match's rows each of them is.
    """

    places: np.ndarray
    matches: np.ndarray
    of: np.ndarray
    numbers: np.ndarray


class RowChoice:
    """A sample of at most `n` rows.

    Parameters
    ----------
    n, key : int
        The same key chooses the same of some rows.

    Attributes
    ----------
    count : int
        Rows so far.
    """

    def __init__(self, n: int, key: int):
        self.count = 0
        self._n, self._key, self._most = n, key, np.inf
        self._matches: list[list[np.ndarray]] = []  # of each expansion
        self._rows: list[list[np.ndarray]] = []  # how many each of these matches has
        self._sizes: list[int] = []
        self._values = np.empty(0)
        self._of = np.empty((2, 0), np.int64)  # expansion and match

    @property
    def kept(self) -> int:
        """Rows that are kept so far."""
        return len(self._values)

    def add(self, matches: np.ndarray, rows: np.ndarray, expansion: int = 0) -> None:
        """Take some matches, of which each has so many rows, int64 or Python's integers.

        `expansion` says which of several patterns they are of, whose matches may have the same vertices.
        """
        self.count += int(rows.sum())
        if not self._n or not len(rows):
            return
        while len(self._sizes) <= expansion:
            self._matches.append([])
            self._rows.append([])
            self._sizes.append(0)
        hashes, weights = self._hashes(matches, expansion), rows.astype(np.float64)
        going, reached, done = np.arange(len(rows)), np.zeros(len(rows)), 0
        taken = np.full(len(rows), -1)  # the place of a match among those that are kept
        while len(going):
            ahead = max(1, min(VALUES_AT_ONCE // len(going), self._n - done))
            steps = done + np.arange(ahead)
            left = weights[going][:, None] - steps
            values = np.full((len(going), ahead), np.inf)
            there = left > 0
            values[there] = (_exponentials(hashes[going], steps) / np.where(there, left, 1))[there]
            values = reached[going][:, None] + np.cumsum(values, axis=1)
            match, _ = chosen = np.nonzero(values <= self._most) if self._most < np.inf else np.nonzero(there)
            new = np.unique(going[match])
            new = new[taken[new] < 0]
            taken[new] = self._sizes[expansion] + np.arange(len(new))
            self._matches[expansion].append(matches[:, new])
            self._rows[expansion].append(rows[new])
            self._sizes[expansion] += len(new)
            self._values = np.concatenate([self._values, values[chosen]])
            of = np.stack([np.full(len(match), expansion), taken[going[match]]])
            self._of = np.concatenate([self._of, of], axis=1)
            if self.kept > self._n:
                self._choose()
            reached[going], done = values[:, -1], done + ahead
            going = going[(values[:, -1] <= self._most) & (weights[going] > done)] if done < self._n else going[:0]
        self._compact(expansion)

    def _choose(self) -> None:
        """Keep the rows with the least numbers, in their order."""
        order = np.argsort(self._values, kind="stable")[: self._n]
        self._values, self._of = self._values[order], self._of[:, order]
        if self._n and len(order) == self._n:
            self._most = self._values[-1]

    def _compact(self, expansion: int) -> None:
        """Forget matches without a row in the sample, once they are many."""
        if self._sizes[expansion] < 2 * max(self._n, VALUES_AT_ONCE):
            return
        mine = self._of[0] == expansion
        used, self._of[1, mine] = np.unique(self._of[1, mine], return_inverse=True)
        self._matches[expansion] = [np.concatenate(self._matches[expansion], axis=1)[:, used]]
        self._rows[expansion] = [np.concatenate(self._rows[expansion])[used]]
        self._sizes[expansion] = len(used)

    def chosen(self) -> list[ChosenRow]:
        """The rows of the sample, in random order, by expansion."""
        self._choose()
        choices = []
        for expansion, parts in enumerate(self._matches):
            places = np.flatnonzero(self._of[0] == expansion)
            match = self._of[1, places]
            order = np.argsort(match, kind="stable")
            places, match = places[order], match[order]
            used, of, wanted = np.unique(match, return_inverse=True, return_counts=True)
            matches, rows = np.concatenate(parts, axis=1)[:, used], np.concatenate(self._rows[expansion])[used]
            numbers = _numbers(self._hashes(matches, expansion), rows, wanted)
            choices.append(ChosenRow(places, matches, of, numbers))
        return choices

    def _hashes(self, matches: np.ndarray, expansion: int) -> np.ndarray:
        return mixed(hashed(matches, matches.shape[1], self._key), expansion)


def _exponentials(hashes: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Exponential variables, (matches, steps), that the hashes of matches make."""
    words = mixed(np.broadcast_to(hashes[:, None], (len(hashes), len(steps))), steps[None])
    return -np.log1p(-np.minimum((words + 0.5) / 2.0**64, 1 - 2.0**-53))


def _numbers(hashes: np.ndarray, rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """For each match so many different numbers below that of its rows, in random order; one match after the other."""
    ends, last = np.cumsum(wanted), int(rows.max()) if len(rows) else 0
    numbers = np.zeros(int(wanted.sum()), np.int64 if last < LARGEST_RANGE else object)
    words = mixed(hashes, -1)
    single = (wanted == 1) & (rows < EXACT_MODULO)
    numbers[ends[single] - 1] = (words[single] % rows[single].astype(np.uint64)).astype(np.int64)
    for match in np.flatnonzero(~single):
        generator = random.Random(int(words[match]))  # noqa: S311 - a sample is no secret
        end, size, total = ends[match], int(wanted[match]), int(rows[match])
        if total < LARGEST_RANGE:
            numbers[end - size : end] = generator.sample(range(total), size)
        else:
            different: dict[int, None] = {}
            while len(different) < size:
                different.setdefault(generator.randrange(total))
            numbers[end - size : end] = list(different)
    return numbers
