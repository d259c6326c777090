"""A device that a long count uses for its large factors, once what counts there at first has had its time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from cusubmatch.engines.factors.device_factors import DeviceFactors, MakeDeviceFactors
from cusubmatch.engines.factors.fields import Fields

__all__ = ["AwaitedDevice"]


class AwaitedDevice:
    """Operations on a device for one sum; end it.

    Parameters
    ----------
    make : callable, optional
        make(fields, kinds, check) begins to use the device; None: there is none.
    kinds : uint64 (kinds,)
    check : callable
        Called between operations; may raise.
    free_at_s : float
        Since when the device is free (`time.monotonic`).
    claim : Event
        Set while it is used.
    """

    def __init__(
        self,
        make: MakeDeviceFactors | None,
        kinds: np.ndarray,
        check: Callable[[], None],
        free_at_s: float,
        claim: threading.Event,
    ):
        self._make, self._kinds, self._check, self._free_at_s, self._claim = make, kinds, check, free_at_s, claim
        self._made: DeviceFactors | None = None
        self._lock = threading.Lock()

    def __call__(self, fields: Fields) -> DeviceFactors | None:
        """The operations there; None where there are none yet."""
        if self._make is None or time.monotonic() < self._free_at_s:
            return None
        with self._lock:
            if self._made is None:
                self._made = self._make(fields, self._kinds, self._check)
                if self._made is not None:
                    self._claim.set()
            return self._made

    def end(self) -> None:
        """Let others use the device."""
        self._claim.clear()
        if self._made is not None:
            self._made.end()
