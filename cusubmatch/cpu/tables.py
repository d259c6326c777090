"""The kernels of a decomposition on all cores: ranges of rows for threads, with a look at the clock now and then.

Each thread has rows of one number a vertex of its own, and where a kernel writes to entries of other rows than its own,
a table of its own, added up in the end; there are no more threads than such tables may take memory.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from cusubmatch.cpu import loop_kernels, table_kernels
from cusubmatch.cpu.compiled import announced, threads
from cusubmatch.plan import Rates
from cusubmatch.skeleton import Skeleton

__all__ = ["RATES", "Kernels", "mates"]

BUDGET = 1 << 23  # steps between two looks at the clock
RANGES = 64  # of rows
ALONE = 1 << 17  # entries of a skeleton that one thread is left to work on
TABLES_BYTES = 4 << 30  # that the threads' tables may take
WAIT_SECONDS = 0.02
ONE = np.ones(1, np.uint64)
RATES = Rates(
    worth=5e6,
    start=60_000.0,
    call=12_000.0,
    prepared=6.0,
    vertex=1.5,
    entry=2.0,
    gathered=3.0,
    triangle=1.6,
    weighted_triangle=3.0,
    wedge=1.6,
    weighted_wedge=3.0,
    loop=1.1,
    weighted_loop=2.5,
    clique=1.5,
    weighted_clique=15.0,
    pair=1.6,
)  # of one core


class Kernels:
    """Kernels on a skeleton in host memory.

    Parameters
    ----------
    skeleton : Skeleton
    pulse : callable
        Called as pulse(share of the kernel that is done) now and then; what it raises ends the kernel.

    Values are uint64 arrays over the entries, or None for all ones; with a `prime`, residues, else modulo 2^64.
    """

    def __init__(self, skeleton: Skeleton, pulse: Callable[[float], None]):
        self.skeleton, self.pulse = skeleton, pulse
        self._rows = skeleton.offsets, skeleton.targets, skeleton.upper
        edges = np.searchsorted(skeleton.offsets, np.linspace(0, len(skeleton.targets), RANGES + 1)[1:-1])
        self.ranges = list(pairwise(sorted({0, *edges.tolist(), skeleton.vertices})))
        self.most = threads() if len(skeleton.targets) > ALONE else 1

    def rows(self, values, weights, prime: int):
        """Over vertices: the sums of the rows of an array over entries, times weights of the targets."""
        offsets, targets, _ = self._rows
        if values is None and weights is None:
            return np.diff(offsets).astype(np.uint64)
        out = np.zeros(self.skeleton.vertices, np.uint64)
        fixed = (offsets, targets, *masked(values), *masked(weights))
        self._run(lambda: lambda *rows: table_kernels.row_sums(*fixed, *rows, np.uint64(prime), out))
        return out

    def chain(self, values: Sequence, same: bool, prime: int):
        """Over entries (x, y): sums over paths of two or three steps from x to y; `same`: turned round they are alike.

        Their vertices all differ.
        """
        mate = self.skeleton.mate
        if all(value is None for value in values):
            out = self._plain(len(values))
            out += out[mate]
            return out % np.uint64(prime) if prime else out
        out = self._triangles(values, prime) if len(values) == 2 else self._squares(values, same, prime)
        return out % np.uint64(prime) if prime else out

    def _plain(self, steps):
        offsets, targets, upper = self._rows
        if steps == 2:
            return self._summed(
                lambda out, place: lambda *rows: table_kernels.triangles(offsets, targets, upper, *rows, place, out),
                self._places,
            )
        return self._summed(
            lambda out, row: lambda *rows: table_kernels.wedges_below(offsets, targets, upper, *rows, row, out),
            self._row,
        )

    def _triangles(self, values, prime):
        offsets, targets, upper = self._rows
        fixed, (a, b), prime = (offsets, targets, self.skeleton.mate, upper), values, np.uint64(prime)
        return self._summed(
            lambda out, place: (
                lambda *rows: table_kernels.weighted_triangles(*fixed, *masked(a), *masked(b), *rows, prime, place, out)
            ),
            self._places,
        )

    def _squares(self, values, same, prime):
        """Each of the four vertices in turn is the highest one."""
        (offsets, targets, upper), mate = self._rows, self.skeleton.mate
        first, second, third = values
        first_back, second_back, third_back = map(self.turned, values)
        prime = np.uint64(prime)

        def from_top(near, *weights):
            arrays = [part for weight in weights for part in masked(weight)]
            return self._summed(
                lambda out, row: (
                    lambda *rows: table_kernels.paths_below(
                        offsets, targets, upper, *arrays, near, *rows, prime, row, out
                    )
                ),
                self._row,
            )

        if same:
            out = from_top(True, first, second, None, third_back)
            out += from_top(False, second, third, first_back, None)
            return out + out[mate]
        out = from_top(True, third_back, second_back, None, first)
        out += from_top(False, second_back, first_back, third, None)
        out = out[mate]
        out += from_top(True, first, second, None, third_back)
        out += from_top(False, second, third, first_back, None)
        return out

    def cliques(self, values: Sequence, prime: int):
        """Over entries (x, y): sums over ordered pairs w, z that make a clique with x and y.

        The values are those of (x, w), (x, z), (w, z), (w, y) and (z, y).
        """
        (offsets, targets, upper), mate = self._rows, self.skeleton.mate
        plain = all(value is None for value in values)
        arrays = [part for value in values for part in masked(value)]
        out = self._summed(
            lambda out, *own: (
                lambda *rows: table_kernels.cliques(
                    offsets, targets, mate, upper, plain, *arrays, *rows, np.uint64(prime), *own, out
                )
            ),
            lambda: (*self._places(), *self._places(), np.empty(int(np.diff(offsets).max(initial=0)), np.int64)),
        )
        if plain:
            out += out[mate]
        return out % np.uint64(prime) if prime else out

    def loop(self, values: list, prime: int) -> int:
        """The sum over cycles of five steps, from each start, in this direction; their vertices all differ."""
        offsets, targets, upper = self._rows
        modulus = prime or 1 << 64
        if all(value is None for value in values) and not prime:
            walks = self._total(
                lambda out, *own: lambda *rows: loop_kernels.plain_loops(offsets, targets, upper, *rows, *own, out),
                lambda: (*self._row(), np.zeros(self.skeleton.vertices, np.bool_), *self._seen()),
            )
            pinched = self._total(
                lambda out, place: lambda *rows: loop_kernels.plain_pinched(offsets, targets, upper, *rows, place, out),
                self._places,
            )
            return 5 * (walks - pinched) % modulus
        kinds = [-1 if value is None else id(value) for value in values]
        tops = Counter(tuple(kinds[top:] + kinds[:top]) for top in range(5))
        first = {tuple(kinds[top:] + kinds[:top]): top for top in range(5)}
        backs, total = [self.turned(value) for value in values], 0
        for name, many in tops.items():
            top = first[name]
            total += many * self._loop_from(values[top:] + values[:top], backs[top:] + backs[:top], prime)
        return total % modulus

    def _loop_from(self, values, backs, prime):
        """Cycles whose highest vertex is where the first step starts."""
        (offsets, targets, upper), mate = self._rows, self.skeleton.mate
        modulus, n, width = prime or 1 << 64, self.skeleton.vertices, np.uint64(prime)
        one, two, three, four, _ = map(masked, values)
        sides = (*one, *two, masked(backs[1])[0], *three, masked(backs[2])[0], *four, masked(backs[3])[0])
        walks = self._total(
            lambda out, *own: (
                lambda *rows: loop_kernels.loops(
                    offsets, targets, upper, *sides, *masked(backs[4]), *rows, width, *own, out
                )
            ),
            lambda: tuple(np.zeros(n, np.uint64) for _ in range(4)),
        )
        there_and_back = np.ones(len(targets), np.uint64)
        for value in (backs[0], values[4]):
            if value is not None:
                there_and_back *= value
        if prime:
            there_and_back %= width
        sums = np.zeros(len(targets) + 1, np.uint64)
        np.cumsum(there_and_back, out=sums[1:])
        pinched = self._total(
            lambda out, place: (
                lambda *rows: loop_kernels.weighted_pinched(
                    offsets, targets, mate, upper, *two, *three, *four, sums, *rows, width, place, out
                )
            ),
            self._places,
        )
        return (walks - pinched) % modulus

    def pairs(self, ends, paths, below: bool, apart: bool, prime: int) -> int:
        """The sum over pairs of vertices of the product of their weights and of powers of their paths of two.

        `paths` has one or two (values, values, power); with `below`, each pair is looked at from one end.
        """
        offsets, targets, _ = self._rows
        (a, b, power), (c, d, other) = paths if len(paths) == 2 else (*paths, (None, None, 0))
        arrays = [part for weight in (a, b, c, d) for part in masked(weight)]
        weights = [part for weight in ends for part in masked(weight)]
        powers, width = np.array([power, other]), np.uint64(prime)
        n = self.skeleton.vertices
        return self._total(
            lambda out, rows_of, seen: (
                lambda *rows: table_kernels.pairs(
                    offsets, targets, *arrays, powers, *weights, below, apart, *rows, width, rows_of, seen, out
                )
            ),
            lambda: (np.zeros((2, n), np.uint64), *self._seen()),
        )

    def turned(self, values):
        """An array over entries, read at the mates."""
        return None if values is None else values[self.skeleton.mate]

    def _places(self):
        return (np.full(self.skeleton.vertices, -1, np.int64),)

    def _row(self):
        return (np.zeros(self.skeleton.vertices, np.uint64),)

    def _seen(self):
        return (np.empty(self.skeleton.vertices, np.int32),)

    def _total(self, kernel, scratch):
        """The sum of what the threads add up in a number each, modulo 2^64."""
        numbers: list[np.ndarray] = []

        def worker():
            numbers.append(np.zeros(1, np.uint64))
            return kernel(numbers[-1], *scratch())

        self._run(worker)
        return sum(int(number[0]) for number in numbers)

    def _summed(self, kernel, scratch):
        """The sum of the tables that the threads write."""
        tables: list[np.ndarray] = []
        size = len(self.skeleton.targets)

        def worker():
            tables.append(np.zeros(size, np.uint64))
            return kernel(tables[-1], *scratch())

        self._run(worker, most=max(1, TABLES_BYTES // (8 * size + 1)))
        out = tables[0]
        for table in tables[1:]:
            out += table
        return out

    def _run(self, worker: Callable, most: int | None = None):
        """Let threads go over all rows, each with what `worker` returns: a kernel of (begin, end, budget)."""
        waiting, lock, stop = list(self.ranges), threading.Lock(), threading.Event()
        behind = [0]

        def work(pulse):
            kernel = worker()
            while not stop.is_set():
                with lock:
                    if not waiting:
                        return
                    begin, end = waiting.pop()
                while begin < end and not stop.is_set():
                    begin = kernel(begin, end, BUDGET)
                    pulse(behind[0] / len(self.ranges))
                behind[0] += 1

        with announced("tables"):
            worker()(0, 0, BUDGET)
        count = min(self.most, most or self.most, len(waiting))
        if count <= 1:
            work(self.pulse)
            return
        errors: list[BaseException] = []

        def guarded():
            try:
                work(lambda _: None)
            except BaseException as error:  # noqa: BLE001 - handed to the caller's thread
                errors.append(error)
                stop.set()

        team = [threading.Thread(target=guarded, daemon=True, name="cusubmatch") for _ in range(count)]
        try:
            for member in team:
                member.start()
            for member in team:
                while member.is_alive():
                    member.join(WAIT_SECONDS)
                    self.pulse(behind[0] / len(self.ranges))
        finally:
            stop.set()
            for member in team:
                member.join()
        if errors:
            raise errors[0]


def mates(offsets, targets):
    """Of each entry (x, y) of symmetric rows the place of (y, x)."""
    with announced("tables"):
        return table_kernels.mates(offsets, targets)


def masked(values):
    """An array and the mask of its indices: ones are a single number."""
    return (ONE, 0) if values is None else (values, -1)
