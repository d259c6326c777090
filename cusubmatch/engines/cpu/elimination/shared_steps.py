"""Eliminations that the threads of the host share with a device: the device does the largest, they the smallest ones.

Without a device the threads do the largest ones first.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from cusubmatch.engines.cpu.elimination.costs import DEVICE_STEP_NS

__all__ = ["SharedSteps"]

HOST_SHARE = 0.02  # of what the device takes for all that wait, that a step may take a thread of the host


class SharedSteps:
    """Steps that wait, by number.

    Parameters
    ----------
    costs : sequence of float
        Ascending, nanoseconds of one thread of the host, about.
    device_costs : sequence of float
        Of each, nanoseconds of a device, about; none where there is no device.
    """

    def __init__(self, costs: Sequence[float], device_costs: Sequence[float]):
        self._costs, self._device_costs = costs, device_costs
        self._first, self._end = 0, len(costs)  # of those that wait
        self._lock = threading.Lock()
        self._device_ns = sum(device_costs)  # that the device takes for those that wait

    @property
    def are_all(self) -> bool:
        """Whether none has been taken."""
        return self._first == 0 and self._end == len(self._costs)

    @property
    def suit_device(self) -> bool:
        """Whether the device is sooner done with the largest one that waits than a thread of the host."""
        if not self._device_costs or self._first == self._end:
            return False
        return self._costs[self._end - 1] > DEVICE_STEP_NS

    def for_host(self) -> int | None:
        """A step for a thread of the host; None where none waits, or the device is sooner done with all that wait."""
        with self._lock:
            if self._first == self._end:
                return None
            if not self._device_costs:
                return self._last()
            if self._costs[self._first] > max(HOST_SHARE * self._device_ns, DEVICE_STEP_NS):
                return None
            self._device_ns -= self._device_costs[self._first]
            self._first += 1
            return self._first - 1

    def for_device(self) -> int | None:
        """A step for the device; None where none waits that suits it."""
        with self._lock:
            if not self.suit_device:
                return None
            number = self._last()
            self._device_ns -= self._device_costs[number]
            return number

    def _last(self) -> int:
        self._end -= 1
        return self._end
