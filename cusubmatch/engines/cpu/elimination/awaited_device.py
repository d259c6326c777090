"""A device that a long count uses for its large factors, once what counts there at first has had its time.

It is claimed by turns: what walks there meanwhile, and may do in a minute what takes this count hours, has a third of
the time. Turns become longer, so that a count which has one soon is not hindered by many.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from cusubmatch.engines.factors.device_factors import DeviceFactors, MakeDeviceFactors
from cusubmatch.engines.factors.fields import Fields

__all__ = ["AwaitedDevice"]

LOADING_S = 5.0  # that others leave it alone while it is loaded, at the most: to compile takes longer
TURN_S = 10.0  # the first one
OTHERS_SHARE = 0.5  # of a turn, that others have after it
TURN_FACTOR = 2.0  # from one to the next


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
        Set in its turns, in which others are not to use the device, and for a while when it is loaded.
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
        self._loaded_by_s: float | None = None  # until when others leave it alone for that, once it is wanted
        self._lock = threading.Lock()
        self._turn_s, self._turn_ends_s = TURN_S, 0.0

    def __call__(self, fields: Fields) -> DeviceFactors | None:
        """The operations there; None where there are none yet."""
        if self._make is None or time.monotonic() < self._free_at_s:
            return None
        with self._lock:
            if self._made is None:
                self._begin(self._make, fields)
            else:
                self._take_turns()
            return self._made

    def _begin(self, make: MakeDeviceFactors, fields: Fields) -> None:
        """Begin to use the device, or to load what that takes, which waits for whatever others run there."""
        now = time.monotonic()
        self._loaded_by_s = self._loaded_by_s or now + LOADING_S
        self._turn_ends_s = now + self._turn_s
        self._made = make(fields, self._kinds, self._check)
        if self._made is not None or now < self._loaded_by_s:
            self._claim.set()
        else:
            self._claim.clear()

    def _take_turns(self) -> None:
        """Let others have the device for a while after each turn."""
        now = time.monotonic()
        if now < self._turn_ends_s:
            return
        if self._claim.is_set():
            self._claim.clear()
            self._turn_ends_s = now + OTHERS_SHARE * self._turn_s
        else:
            self._claim.set()
            self._turn_s *= TURN_FACTOR
            self._turn_ends_s = now + self._turn_s

    def end(self) -> None:
        """Let others use the device."""
        self._claim.clear()
        if self._made is not None:
            self._made.end()
