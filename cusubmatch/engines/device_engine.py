"""The contract of an engine that is bound to one of several devices, beside that of every engine.

Graphs and blocks of rows come to a device as copies. All else that it keeps is made where it is the current device.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from cusubmatch.engines.base import Engine
from cusubmatch.engines.prepared import Prepared
from cusubmatch.engines.runs import Sampler, TaskRange
from cusubmatch.plan import Plan

__all__ = ["Brought", "DeviceEngine", "Landing"]


class Brought(Protocol):
    """A block of rows on its way to another device."""

    def settled(self) -> Any:
        """Wait until it is there; the block there."""
        ...


class Landing(Protocol):
    """Where blocks of rows from other devices come to; made by the thread that uses them there."""

    def current(self) -> AbstractContextManager[Any]:
        """Let a thread work on this device, in the order of the thread that made the landing."""
        ...

    def bring(self, block: Any) -> Brought:
        """Begin to copy a block, int32 (columns, rows), that the calling thread's device has made."""
        ...


class RangeSampler(Sampler, Protocol):
    """A sampler of some of the matches."""

    @property
    def number_of_tasks(self) -> int:
        """Of which it may take a range."""
        ...


class DeviceEngine(Engine, Protocol):
    """An engine on one of several devices."""

    @property
    def number(self) -> int:
        """The number of the device."""
        ...

    def landing(self) -> Landing:
        """Where blocks of rows from other devices come to."""
        ...

    def range_sampler(
        self, plan: Plan, prepared: Prepared, deadline: float | None, tasks: TaskRange | None = None
    ) -> RangeSampler:
        """A sampler of the matches of a range of tasks, which it numbers itself, in the order of their ranks."""
        ...
