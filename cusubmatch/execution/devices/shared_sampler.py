"""A sampler on several devices: each counts ranges of the first-level tasks and keeps what finding their ranks needs.

Ranks go on from one range to the next, so the sample is that of one device.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from cusubmatch.engines.device_engine import RangeSampler
from cusubmatch.engines.prepared import Prepared
from cusubmatch.execution.devices.device_group import DeviceGroup
from cusubmatch.execution.devices.shared_run import StoppedError
from cusubmatch.execution.work_ranges import WorkRange, cell_edges, cut_at
from cusubmatch.plan import Plan
from cusubmatch.system.deadlines import checking, until
from cusubmatch.system.workers import Workers

__all__ = ["SharedSampler"]


class SharedSampler:
    """A sampler that several devices share; as `Sampler` of the engine contract.

    Parameters
    ----------
    devices : DeviceGroup
    plan, prepared
        A plan that counts, and what it is walked on on the first device.
    deadline : float or None
    """

    def __init__(self, devices: DeviceGroup, plan: Plan, prepared: Prepared, deadline: float | None):
        self._devices, self._plan, self._prepared, self._deadline = devices, plan, prepared, deadline
        self._samplers: dict[int, tuple[int, RangeSampler]] = {}  # by range: whose it is, and the sampler

    def counts(self) -> list[int]:
        """The number of matches of each range; raises `DeadlinePassed`."""
        ranges = self._ranges()
        counts, following = [0] * len(ranges), itertools.count()

        def count_on(number: int, taken: Iterator[int]) -> None:
            prepared = self._devices.prepared_on(number, self._plan, self._prepared)
            for index in taken:
                sampler = self._sampler(number, prepared, ranges[index])
                counts[index] = sum(sampler.counts())
                self._samplers[index] = number, sampler

        self._on_devices(lambda number, going: count_on(number, _below(len(ranges), following, going)))
        return counts

    def rows(self, ranks: Mapping[int, Sequence[int]]) -> np.ndarray:
        """The matches at ranks of ranges: int32 (pattern vertices, ranks), internal vertices, in host memory."""
        found: dict[int, np.ndarray] = {}

        def find_on(number: int, going: Callable[[], bool]) -> None:
            for index in ranks:
                owner, sampler = self._samplers[index]
                if owner == number and going():
                    found[index] = sampler.rows({0: ranks[index]})

        self._on_devices(find_on)
        none = np.empty((len(self._plan.levels), 0), np.int32)
        return np.concatenate([none, *(found[index] for index in ranks)], axis=1)

    def _ranges(self) -> list[WorkRange]:
        """Consecutive ranges of about equal work."""
        home, parts = self._devices.home, len(self._devices.engines) * self._devices.cutting.sampler_ranges
        tasks = home.range_sampler(self._plan, self._prepared, self._deadline).number_of_tasks
        edges, work = self._devices.cells(self._plan, self._prepared)
        if edges[-1] != tasks:  # cliques are counted in parts, and sampled by walking
            edges = cell_edges(tasks, self._devices.cutting.cells)
            work = [float(size) for size in np.diff(edges)]
        return cut_at(edges, work, [1 / parts] * parts)

    def _sampler(self, number: int, prepared: Prepared, part: WorkRange) -> RangeSampler:
        return self._devices.engines[number].range_sampler(self._plan, prepared, self._deadline, part.tasks)

    def _on_devices(self, work: Callable[[int, Callable[[], bool]], Any]) -> None:
        """Do work on each device, in a thread of its own."""
        workers, landing = Workers(), self._devices.home.landing()

        def check() -> None:
            if workers.stopped:
                raise StoppedError

        def one(number: int) -> None:
            where = landing.current() if number == 0 else self._devices.engines[number].current()
            with where, checking(check), until(self._deadline):
                work(number, lambda: not workers.stopped)

        try:
            workers.start(*(functools.partial(one, number) for number in range(len(self._devices.engines))))
            while not workers.wait():
                pass
        finally:
            workers.end()
        if workers.error is not None:
            raise workers.error


def _below(end: int, following: Iterator[int], going: Callable[[], bool]) -> Iterator[int]:
    """The numbers below an end that a thread takes from a shared counter."""
    while going() and (number := next(following)) < end:
        yield number
